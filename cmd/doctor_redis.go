package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// What a Redis should be like, so that what is measured is the limiter.
const (
	slowTrip    = time.Millisecond       // a median round trip above it is the network's
	uneven      = 10                     // times the median that one in a hundred may take
	clockAhead  = 100 * time.Millisecond // off: an edge of the server's clock is not ours
	busyServer  = 100                    // commands a second of others
	nearlyFull  = 0.9                    // of what memory or connections it may have
	pings       = 200
	ownSettings = "redis-cli config set "
)

// redis looks at the server. An error is trouble on the way to it.
func (d *checkup) redis(ctx context.Context, env report.Env) error {
	s := d.experiment.server
	if s.Flavour() == backend.Embedded {
		d.add("redis", report.StatusWarn, "apt-get install redis-server, or give --redis URL", "an emulator in this process: its counts are exact, its latencies are not Redis's")
	} else {
		d.add("redis", report.StatusOK, "", "%s %s, %s, %s", env.Redis.Server, env.Redis.Version, env.Redis.Mode, s.Flavour())
	}
	for _, look := range []func(context.Context) error{d.trips, d.scripts, d.clock, d.health} {
		step, cancel := d.bounded(ctx)
		err := look(step)
		cancel()
		if err != nil {
			return targetTrouble(err)
		}
	}
	return nil
}

// trips is how long a command is on its way.
func (d *checkup) trips(ctx context.Context) error {
	trips, err := d.experiment.server.RoundTrips(ctx, pings)
	if err != nil {
		return err
	}
	slices.Sort(trips)
	p50, p99 := trips[len(trips)/2], trips[len(trips)*99/100]
	status, hint := report.StatusOK, ""
	switch {
	case p50 > slowTrip:
		status, hint = report.StatusWarn, "run rlbench nearer to Redis, or read latencies as those of the network"
	case p99 > uneven*p50 && p99 > slowTrip:
		status, hint = report.StatusWarn, "something else uses the network, the server or this machine: look at its load, run again when it is quiet"
	}
	d.add("round trip", status, hint, "a PING takes %s (p50), %s (p99)", short(p50), short(p99))
	return nil
}

// scripts runs every limiter once, as run does: that needs permissions, memory and a
// server that is no replica.
func (d *checkup) scripts(ctx context.Context) error {
	d.experiment.id = invocation()
	var failed []string
	var first error
	for _, a := range limiter.Algorithms {
		if err := d.script(ctx, a); err != nil {
			failed, first = append(failed, a.Name), err
			if !limiter.Answered(err) {
				return err
			}
		}
	}
	if first != nil {
		d.add("limiters", report.StatusFail, scriptHint(first), "%s cannot run: %v", strings.Join(failed, ", "), first)
		return nil
	}
	d.add("limiters", report.StatusOK, "", "all %d run (EVALSHA)", len(limiter.Algorithms))
	return nil
}

func (d *checkup) script(ctx context.Context, a limiter.Algorithm) error {
	l, err := limiter.New(d.experiment.server.Client(), limiter.Config{
		Algorithm: a, Limit: limiter.Limit{Max: 1, Window: time.Second}, Prefix: d.keyPrefix + ":" + d.experiment.id,
		Policy: "doctor", OnFailure: limiter.FailError, Timeout: d.timeout,
	})
	if err != nil {
		return err
	}
	asked := limiter.Request{Key: "doctor"}
	if _, err := l.Allow(ctx, asked); err != nil {
		return err
	}
	return l.Reset(ctx, asked)
}

// scriptHint is what helps against an answer of the server.
func scriptHint(err error) string {
	for code, hint := range map[string]string{
		"NOPERM":   "let this user: redis-cli acl setuser USER +@scripting +@string +@sortedset +@keyspace +time ~rlbench*",
		"READONLY": "it is a replica: give --redis the URL of the primary",
		"OOM":      "let it have more memory: " + ownSettings + "maxmemory 1gb",
		"MISCONF":  "it cannot save: " + ownSettings + "stop-writes-on-bgsave-error no, or make room on its disk",
		"BUSY":     "a script runs for long: redis-cli script kill",
		"LOADING":  "wait until it has loaded: rlbench doctor --wait 1m",
	} {
		if strings.Contains(err.Error(), code) {
			return hint
		}
	}
	return "by hand: redis-cli eval 'return 1' 0"
}

// clock is how far apart the two clocks are.
func (d *checkup) clock(ctx context.Context) error {
	c, err := d.experiment.server.Clock(ctx)
	if err != nil {
		return err
	}
	off := max(c.Offset, -c.Offset)
	d.add("clock", unless(off > clockAhead+c.RTT, report.StatusWarn), "let both machines ask a time server (chronyc tracking); --clock server follows the server's clock anyway",
		"the server's clock is %s from this one, known to %s", short(off), short(c.RTT/2))
	return nil
}

// health is what the server is busy with, and what it will do when it is full.
func (d *checkup) health(ctx context.Context) error {
	h, err := d.experiment.server.Health(ctx)
	if err != nil || !h.Told {
		return err
	}
	evicts := h.Policy != "" && h.Policy != "noeviction" && h.MaxMemory > 0
	d.add("eviction", unless(evicts, report.StatusWarn), "limiters must not be forgotten: "+ownSettings+"maxmemory-policy noeviction", "%s", evictionText(h))
	if h.MaxMemory > 0 {
		d.add("memory", unless(float64(h.UsedMemory) > nearlyFull*float64(h.MaxMemory), report.StatusWarn), "let it have more: "+ownSettings+"maxmemory 1gb",
			"%d of %d MB are used", h.UsedMemory>>20, h.MaxMemory>>20)
	}
	if h.Role != "master" {
		d.add("role", report.StatusFail, "give --redis the URL of the primary", "it is a replica, which cannot count")
	}
	if h.Loading {
		d.add("loading", report.StatusFail, "wait until it has loaded: rlbench doctor --wait 1m", "it is loading its data")
	}
	persists := h.Saving || h.AppendFsync == "always"
	d.add("persistence", unless(persists, report.StatusWarn), "measure without: "+ownSettings+"appendfsync everysec; "+ownSettings+"save ''", "%s", persistenceText(h))
	if d.experiment.server.Flavour() == backend.Live {
		d.add("others", unless(h.OpsPerSecond > busyServer && h.Clients > 1, report.StatusWarn), "measure on a Redis of its own: --redis managed", "%s, %s a second", scenarios.Counted(h.Clients, "client"), scenarios.Counted(h.OpsPerSecond, "command"))
		if h.MaxClients > 0 {
			left := h.MaxClients - h.Clients
			d.add("connections", unless(left < 100, report.StatusWarn), "let it have more: "+ownSettings+"maxclients 10000", "%d of %d are left", left, h.MaxClients)
		}
	}
	return nil
}

func evictionText(h backend.Health) string {
	if h.MaxMemory == 0 {
		return "memory has no bound, so nothing is evicted"
	}
	return fmt.Sprintf("when %d MB are full: %s", h.MaxMemory>>20, h.Policy)
}

func persistenceText(h backend.Health) string {
	var parts []string
	switch {
	case h.AppendFsync != "":
		parts = append(parts, "a log of every write, synced "+h.AppendFsync)
	case h.AppendOnly:
		parts = append(parts, "a log of every write")
	default:
		parts = append(parts, "no log of writes")
	}
	if h.Saving {
		parts = append(parts, "a snapshot or a rewrite is under way")
	}
	return strings.Join(parts, ", ")
}

// short is a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
