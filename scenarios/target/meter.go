package target

import (
	"context"
	"errors"
	"fmt"

	"github.com/rlbench/rlbench/limiter/backend"
)

// Cost is what decisions cost the Redis server. Memory is of the keys that exist,
// estimated from a sample if there are more than 10000. A nil field could not be
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
	reads  int64
}

// Start reads the server's statistics before a run.
func Start(ctx context.Context, s *backend.Server) (*Meter, error) {
	before, err := s.CommandStats(ctx)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("measure cost: %w", err)
	}
	reads, err := s.Reads(ctx)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("measure cost: %w", err)
	}
	return &Meter{server: s, before: before, reads: reads}, nil
}

// Stop reads them again and sizes the keys of the identities.
func (m *Meter) Stop(ctx context.Context, keys []string, identities int, decisions int64) (Cost, error) {
	var c Cost
	if m.before != nil && decisions > 0 {
		after, err := m.server.CommandStats(ctx)
		if err != nil {
			return c, fmt.Errorf("measure cost: %w", err)
		}
		reads, err := m.server.Reads(ctx)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return c, fmt.Errorf("measure cost: %w", err)
		}
		m.commands(&c, after, reads-m.reads, decisions)
	}
	sample := sampled(keys)
	usage, err := m.server.MemoryUsage(ctx, sample)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return c, fmt.Errorf("measure cost: %w", err)
	}
	if usage.Keys == 0 {
		return c, nil
	}
	c.Keys = int(int64(usage.Keys) * int64(len(keys)) / int64(len(sample)))
	if err == nil && identities > 0 {
		perIdentity := float64(len(keys)) / float64(identities)
		bytes := float64(usage.Bytes) / float64(usage.Keys) * perIdentity
		c.BytesPerIdentity = &bytes
	}
	return c, nil
}

// sampled are at most 10000 of the keys, evenly: sizing a million takes Redis
// longer than the run did.
func sampled(keys []string) []string {
	const most = 10_000
	if len(keys) <= most {
		return keys
	}
	sample := make([]string, most)
	for i := range sample {
		sample[i] = keys[i*len(keys)/most]
	}
	return sample
}

// commands attributes what happened in between. Redis counts scripts and the
// commands inside them without saying whose they were. Ours was the only
// traffic if it was asked for as many scripts as there were decisions, and read
// from its clients no more often than that, give or take one in a hundred.
func (m *Meter) commands(c *Cost, after backend.CommandStats, reads, decisions int64) {
	var scripts, unknown, reloads, inside, micros, clock int64
	for name, stat := range after {
		calls := stat.Calls - m.before[name].Calls
		switch {
		case name == "evalsha":
			scripts = calls
			unknown = stat.Failed - m.before[name].Failed
			micros += stat.Micros - m.before[name].Micros
		case name == "eval": // after NOSCRIPT, for the same decision
			reloads = calls
			micros += stat.Micros - m.before[name].Micros
		case name == "time":
			clock = calls
		case !administrative[name]:
			inside += calls
		}
	}
	if scripts != decisions || reloads > unknown {
		return
	}
	const own = 40 // INFO, and looking for the edge on the server's clock
	if m.server.Flavour() != backend.Managed && reads > scripts+reloads+own+decisions/100 {
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
