package cmd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"sync/atomic"
	"time"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/runner"
	"github.com/rlbench/rlbench/scenarios/target"
)

// experiment is what run does: every scenario against every limiter, as often
// as asked, on one Redis.
type experiment struct {
	*app
	*runOptions
	scenarios []loaded
	limiters  []string
	checks    []scenarios.Check
	overshoot *big.Rat
	sinks     sinks
	spec      string

	server  *backend.Server
	id      string // of this invocation, in every key
	handled atomic.Int64
	cases   []report.Case
	lost    error
}

// run goes from opened outputs to a written report. Whatever happens, the
// server is closed, keys are removed and half-written files disappear.
func (e *experiment) run() (err error) {
	if err := e.sinks.open(); err != nil {
		return err
	}
	defer e.sinks.discard()
	interrupt := e.watchSignals()
	defer interrupt.stop()

	started, watch := e.Now(), e.watch()
	begin := watch()
	if e.server, err = backend.Open(interrupt.ctx, e.spec, backend.Options{Timeout: e.timeout, PoolSize: e.maxInFlight}); err != nil {
		if interrupt.signal() != nil {
			return &verdictError{signalCode(interrupt.signal())}
		}
		return targetTrouble(err)
	}
	defer e.server.Close()
	if e.keepKeys && e.server.Flavour() != backend.Live {
		return keepNothing()
	}
	interrupt.onSecond(func() { e.server.Client().Close() })
	env, err := e.describe(interrupt.ctx)
	if err == nil {
		err = e.all(interrupt.ctx)
	}
	if interrupt.twice() {
		return &verdictError{signalCode(interrupt.signal())}
	}
	if err != nil && interrupt.signal() == nil {
		return err
	}
	r, err := report.Build(report.Input{
		Command: e.command, Started: started, Elapsed: watch() - begin,
		Env: env, Interrupted: interrupt.signal() != nil, Cases: e.cases,
	})
	if err != nil {
		return internal(err)
	}
	return e.publish(r, interrupt.signal())
}

// publish writes the report and decides how the program ends.
func (e *experiment) publish(r *report.Report, signal os.Signal) error {
	if signal != nil {
		r.Verdict = r.Verdict.Worse(scenarios.Inconclusive)
	}
	e.verdict = r.Verdict
	if err := e.sinks.write(r); err != nil {
		return err
	}
	code := verdictCode(r.Verdict)
	switch {
	case signal != nil:
		code = signalCode(signal)
	case e.lost != nil:
		code = exitTarget
	}
	if code == exitOK {
		return nil
	}
	return &verdictError{code}
}

// watch is the stopwatch of this host.
func (e *experiment) watch() func() time.Duration {
	if e.Stopwatch != nil {
		return e.Stopwatch
	}
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// describe is the environment block of the report.
func (e *experiment) describe(ctx context.Context) (report.Env, error) {
	env := e.Machine()
	env.Redis.Flavour = string(e.server.Flavour())
	d, err := e.server.Describe(ctx)
	if err != nil {
		return env, targetTrouble(err)
	}
	env.Redis.Server, env.Redis.Version, env.Redis.Mode, env.Redis.MaxmemoryPolicy = d.Name, d.Version, d.Mode, d.MaxmemoryPolicy
	return env, nil
}

// all runs the cases interleaved: each limiter once, then again, so that a
// machine that changes its pace changes it for all.
func (e *experiment) all(ctx context.Context) error {
	var id [4]byte
	_, _ = rand.Read(id[:])
	e.id = hex.EncodeToString(id[:])
	total := int64(0)
	for _, s := range e.scenarios {
		total += int64(len(s.plan.Arrivals) * len(e.limiters) * e.runs)
	}
	if err := e.server.Warm(ctx, e.connections()); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return targetTrouble(err)
	}
	p := e.startProgress(total, &e.handled)
	defer p.stop()
	for run := 1; run <= e.runs; run++ {
		for _, s := range e.scenarios {
			for _, name := range e.limiters {
				if ctx.Err() != nil || e.lost != nil {
					return nil
				}
				p.describe(fmt.Sprintf("%s %s", s.Name, name))
				if err := e.one(ctx, s, name, run); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// connections is how many requests can be in flight at once. In real time that
// depends on how fast the target answers.
func (e *experiment) connections() int {
	most := 1
	for _, s := range e.scenarios {
		if s.plan.Clock != scenarios.Virtual {
			return e.maxInFlight
		}
		most = max(most, s.plan.Crowd())
	}
	return min(most, e.maxInFlight)
}

// one runs one case and judges it.
func (e *experiment) one(ctx context.Context, s loaded, name string, run int) error {
	t, err := target.Open(e.server, name, target.Options{
		Limit: s.plan.Limit, Clock: s.plan.Clock, Prefix: fmt.Sprintf("%s:%s:%d", e.keyPrefix, e.id, len(e.cases)),
	})
	if err != nil {
		return internal(err)
	}
	var used []string // names of identities, over all attempts
	identity := func(key int32, attempt int) string {
		name := fmt.Sprintf("k%d-%d", key, attempt)
		used = append(used, name)
		return name
	}
	keysOf := func(identities []string) []string {
		var keys []string
		for _, name := range identities {
			keys = append(keys, t.Keys(name)...)
		}
		return keys
	}
	if !e.keepKeys {
		defer func() { e.remove(keysOf(used)) }()
	}
	meter, err := target.Start(ctx, e.server)
	if err != nil {
		return targetTrouble(err)
	}
	h, err := runner.Run(ctx, runner.Config{
		Limiter: t.Limiter, Plan: s.plan, Identity: identity, MaxInFlight: e.maxInFlight,
		ServerClock: e.serverClock, Stopwatch: e.Stopwatch, Handled: &e.handled,
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return targetTrouble(err)
	}
	if h.Lost != nil {
		e.lost = h.Lost
	}
	j, err := oracle.Judge(&oracle.Case{
		Plan: s.plan, Results: h.Results, Edge: h.Edge, Algorithm: t.Algorithm, Name: t.Name,
		Checks: append(append([]scenarios.Check{}, s.Checks...), e.checks...), MaxOvershoot: e.overshoot,
		Misplaced: h.Misplaced, Interrupted: h.Interrupted, Lost: h.Lost,
	})
	if err != nil {
		return internal(err)
	}
	c := report.Case{
		Description: s.Description, Plan: s.plan, Hash: s.plan.Hash(), Limiter: t.Name,
		Run: run, Runs: e.runs, Attempts: h.Attempts, Results: h.Results, Judgement: j,
	}
	if t.Algorithm != nil {
		c.Algorithm = t.Algorithm.Name
	}
	if h.Attempts == 1 && h.Lost == nil {
		c.Cost = e.cost(meter, keysOf(used), s.plan.Keys, j.Measures)
	}
	e.cases = append(e.cases, c)
	return nil
}

// serverClock is the server's clock minus ours.
func (e *experiment) serverClock(ctx context.Context) (time.Duration, error) {
	c, err := e.server.Clock(ctx)
	return c.Offset, err
}

// cost closes the meter. A cost that cannot be had is absent from the report,
// which is no reason to lose the rest.
func (e *experiment) cost(m *target.Meter, keys []string, identities int, counts scenarios.Measures) *report.Cost {
	ctx, cancel := context.WithTimeout(context.Background(), e.timeout+time.Second)
	defer cancel()
	c, err := m.Stop(ctx, keys, identities, counts.Admitted+counts.Denied)
	if err != nil {
		fmt.Fprintf(e.Err, "rlbench: warning: %v\n", err)
		return nil
	}
	return &report.Cost{
		Keys: c.Keys, BytesPerIdentity: c.BytesPerIdentity,
		CommandsPerDecision: c.CommandsPerDecision, ScriptUSPerDecision: c.ScriptMicros,
	}
}

// remove deletes keys, by a new connection if the second interrupt has closed
// the client. The keys of a private server go with it.
func (e *experiment) remove(keys []string) {
	if e.server.Flavour() != backend.Live {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := e.server.Delete(ctx, keys)
	if err != nil && e.lost == nil {
		var again *backend.Server
		if again, err = backend.Open(ctx, e.spec, backend.Options{Timeout: time.Second}); err == nil {
			err = errors.Join(again.Delete(ctx, keys), again.Close())
		}
	}
	if err != nil {
		fmt.Fprintf(e.Err, "rlbench: warning: %d keys that start with %s:%s stay in Redis until they expire: %v\n", len(keys), e.keyPrefix, e.id, err)
	}
}
