package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/runner"
	"github.com/rlbench/rlbench/scenarios/target"
)

// one runs one limiter under one scenario, judges it and cleans up.
func (e *experiment) one(stop *interrupt, p *progress, s loaded, name string, run int) error {
	what := fmt.Sprintf("%s %s", s.Name, name)
	p.describe(what)
	t, err := target.Open(e.server, name, target.Options{
		Limit: s.plan.Limit, Clock: s.plan.Clock, Prefix: fmt.Sprintf("%s:%s:%d", e.keyPrefix, e.id, len(e.cases)),
	})
	if err != nil {
		return internal(err)
	}
	meter, err := target.Start(stop.ctx, e.server)
	if err != nil {
		return targetTrouble(err)
	}
	h, err := runner.Run(stop.ctx, runner.Config{
		Limiter: t.Limiter, Plan: s.plan, Identity: identity, MaxInFlight: e.maxInFlight,
		ServerClock: e.serverClock, Stopwatch: e.Stopwatch, Handled: &e.handled,
		Waiting: func(edge time.Time, attempt int) {
			p.describe(fmt.Sprintf("%s, edge at %s, attempt %d", what, edge.Format(time.TimeOnly+" UTC"), attempt))
		},
	})
	if err != nil {
		return targetTrouble(err)
	}
	keys, identities := usedKeys(t, s.plan, h)
	if !e.keepKeys {
		defer e.remove(keys)
	}
	if stop.twice() {
		return nil
	}
	e.lost = h.Lost
	var cost *report.Cost
	if h.Attempts == 1 && h.Lost == nil {
		cost = e.cost(meter, keys, identities, decided(h))
	}
	return e.judge(s, name, run, h, cost)
}

// identity names the senders of a plan. They are invented, so they need no
// pseudonym.
func identity(key int32, attempt int) string { return fmt.Sprintf("k%d-%d", key, attempt) }

// usedKeys are the Redis keys that a history can have left, and how many
// identities of its last attempt used them.
func usedKeys(t *target.Target, p *scenarios.Plan, h *runner.History) (keys []string, identities int) {
	sent := make([]bool, p.Keys)
	for i, r := range h.Results {
		if r.Outcome != scenarios.Missed || h.Attempts > 1 {
			sent[p.Arrivals[i].Key] = true
		}
	}
	for key, used := range sent {
		if !used {
			continue
		}
		identities++
		for attempt := 1; attempt <= h.Attempts; attempt++ {
			keys = append(keys, t.Keys(identity(int32(key), attempt))...)
		}
	}
	return keys, identities
}

func decided(h *runner.History) int64 {
	n := int64(0)
	for _, r := range h.Results {
		if r.Outcome == scenarios.Admitted || r.Outcome == scenarios.Denied {
			n++
		}
	}
	return n
}

// judge turns a history into a case of the report.
func (e *experiment) judge(s loaded, name string, run int, h *runner.History, cost *report.Cost) error {
	oc := &oracle.Case{
		Plan: s.plan, Results: h.Results, Edge: h.Edge, Name: name,
		Checks: append(append([]scenarios.Check{}, s.Checks...), e.checks...), MaxOvershoot: e.overshoot,
		Misplaced: h.Misplaced, Interrupted: h.Interrupted, Lost: h.Lost,
	}
	if a, ok := limiter.Named(name); ok {
		oc.Algorithm = &a
	}
	j, err := oracle.Judge(oc)
	if err != nil {
		return internal(err)
	}
	c := report.Case{
		Description: s.Description, Plan: s.plan, Hash: s.hash, Limiter: name,
		Run: run, Runs: e.runs, Attempts: h.Attempts, Results: h.Results, Judgement: j, Cost: cost,
	}
	if oc.Algorithm != nil {
		c.Algorithm = oc.Algorithm.Name
	}
	e.cases = append(e.cases, c)
	return nil
}

// local is how much of a round trip is not worth correcting for.
const local = 100 * time.Microsecond

// serverClock is the server's clock minus ours, as a request meets it that is
// sent now: half a round trip later.
func (e *experiment) serverClock(ctx context.Context) (time.Duration, error) {
	c, err := e.server.Clock(ctx)
	return c.Offset + max(c.RTT/2-local, 0), err
}

// cost closes the meter. A cost that cannot be had is absent from the report,
// which is no reason to lose the rest.
func (e *experiment) cost(m *target.Meter, keys []string, identities int, decisions int64) *report.Cost {
	ctx, cancel := context.WithTimeout(context.Background(), patience(keys))
	defer cancel()
	c, err := m.Stop(ctx, keys, identities, decisions)
	if err != nil {
		fmt.Fprintf(e.Err, "rlbench: warning: the report has no memory and command figures: %v\n", err)
		return nil
	}
	return &report.Cost{
		Keys: c.Keys, BytesPerIdentity: c.BytesPerIdentity,
		CommandsPerDecision: c.CommandsPerDecision, ScriptUSPerDecision: c.ScriptMicros,
	}
}

// patience is how long to wait for work on keys.
func patience(keys []string) time.Duration {
	return 2*time.Second + time.Duration(len(keys))*time.Millisecond/5
}

// remove deletes keys, by a new connection if the second interrupt has closed
// the client. The keys of a private server go with it.
func (e *experiment) remove(keys []string) {
	if e.server.Flavour() != backend.Live || len(keys) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience(keys))
	defer cancel()
	err := e.server.Delete(ctx, keys)
	if err != nil && e.lost == nil {
		err = e.removeAnew(keys)
	}
	if err != nil {
		fmt.Fprintf(e.Err, "rlbench: warning: keys that start with %s:%s stay in Redis until they expire, within an hour or two windows: %v\n",
			e.keyPrefix, e.id, err)
	}
}

func (e *experiment) removeAnew(keys []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience(keys))
	defer cancel()
	s, err := backend.Open(ctx, e.spec, backend.Options{Timeout: time.Second})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Delete(ctx, keys)
}
