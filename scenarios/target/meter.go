package target

import (
	"context"
	"errors"
	"fmt"

	"github.com/rlbench/rlbench/limiter/backend"
)

// Cost is what decisions cost the Redis server. A nil field could not be
// measured: the embedded server has no statistics of its own, and on a shared
// one the commands of others cannot be told apart.
type Cost struct {
	Keys                int
	BytesPerIdentity    *float64
	CommandsPerDecision *float64
	ScriptMicros        *float64 // per decision
}

// Meter measures the cost of the decisions between Start and Stop.
type Meter struct {
	server *backend.Server
	before backend.CommandStats
}

// Start reads the server's statistics before a run.
func Start(ctx context.Context, s *backend.Server) (*Meter, error) {
	before, err := s.CommandStats(ctx)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("measure cost: %w", err)
	}
	return &Meter{server: s, before: before}, nil
}

// Stop reads them again and sizes the keys of the identities.
func (m *Meter) Stop(ctx context.Context, keys []string, identities int, decisions int64) (Cost, error) {
	usage, err := m.server.MemoryUsage(ctx, keys)
	c := Cost{Keys: usage.Keys}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		return c, fmt.Errorf("measure cost: %w", err)
	case usage.Keys > 0:
		c.BytesPerIdentity = share(usage.Bytes, int64(identities))
	}
	if m.before == nil || decisions == 0 {
		return c, nil
	}
	after, err := m.server.CommandStats(ctx)
	if err != nil {
		return c, fmt.Errorf("measure cost: %w", err)
	}
	m.commands(&c, after, decisions)
	return c, nil
}

// commands attributes what happened in between. Scripts count themselves and
// the commands inside them; ours is the only traffic if the server ran exactly
// as many scripts as there were decisions, give or take a reload.
func (m *Meter) commands(c *Cost, after backend.CommandStats, decisions int64) {
	var scripts, inside, micros, clock int64
	for name, stat := range after {
		calls := stat.Calls - m.before[name].Calls
		switch {
		case name == "evalsha" || name == "eval":
			scripts += calls
			micros += stat.Micros - m.before[name].Micros
		case name == "time":
			clock = calls
		case !administrative[name]:
			inside += calls
		}
	}
	if scripts < decisions || scripts > decisions+1 {
		return
	}
	// Scripts read the clock at most once each; other readings looked for an edge.
	inside += min(clock, scripts)
	c.CommandsPerDecision = share(inside, decisions)
	c.ScriptMicros = share(micros, decisions)
}

// administrative commands are ours, but not part of deciding.
var administrative = map[string]bool{
	"auth": true, "client|list": true, "config|get": true, "exists": true, "hello": true, "info": true,
	"memory|usage": true, "ping": true, "select": true, "unlink": true,
}

func share(total, parts int64) *float64 {
	if parts == 0 {
		return nil
	}
	f := float64(total) / float64(parts)
	return &f
}
