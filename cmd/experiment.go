package cmd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	random "math/rand/v2"
	"os"
	"slices"
	"sync"
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
	checks    []scenarios.Check
	overshoot *big.Rat
	sinks     sinks
	spec      string
	against   baseline
	fit       func(report.Env) error // refuses a server before anything is sent; nil takes any

	server  *backend.Server          // of the run that is under way
	servers map[bool]*backend.Server // all that are open; the one for faults is true
	opening sync.Mutex               // guards servers: an interrupt may come at any time
	hard    context.Context          // ends with the second interrupt
	id      string                   // of this invocation, in every key
	opened  int                      // targets so far, in every key too
	handled atomic.Int64
	cases   []report.Case
	lost    error // the target, for good
}

// run goes from opened outputs to a written report. Whatever happens, the
// server is closed, keys are removed and half-written files disappear.
func (e *experiment) run() error {
	for _, outputs := range []*sinks{&e.sinks, &e.against.sinks} {
		if err := outputs.open(); err != nil {
			return err
		}
		defer outputs.discard()
	}
	stop := e.watchSignals()
	defer stop.stop()

	started, watch := e.Now(), e.watch()
	begin := watch()
	env, err := e.open(stop)
	defer e.closeServers()
	if err == nil && e.fit != nil {
		err = e.fit(env)
	}
	if err == nil {
		err = errors.Join(e.suitable(), e.scripts(stop.ctx))
	}
	if err == nil {
		e.sinks.begin(report.Input{Command: e.command, Started: started, Env: env, Planned: e.everyRun()})
		err = e.all(stop)
	}
	if stop.twice() {
		return &verdictError{signalCode(stop.signal())}
	}
	if err != nil && len(e.cases) == 0 && stop.signal() == nil {
		return err
	}
	if e.lost == nil && codeOf(err) == exitTarget {
		e.lost = err
	}
	if err := e.rest(stop.signal() != nil); err != nil {
		return err
	}
	r, buildErr := report.Build(report.Input{
		Command: e.command, Started: started, Elapsed: watch() - begin,
		Env: env, Interrupted: stop.signal() != nil, Cases: e.cases,
	})
	if buildErr != nil {
		return internal(buildErr)
	}
	if codeOf(err) != exitInternal {
		err = nil // the report tells it
	}
	return e.publish(r, stop.signal(), err)
}

// open opens the server and describes it. A first interrupt ends the wait for a
// server that does not answer; a second one cuts what is in flight.
func (e *experiment) open(stop *interrupt) (report.Env, error) {
	env := e.Machine()
	type opened struct {
		server *backend.Server
		err    error
	}
	done := make(chan opened, 1)
	go func() {
		s, err := backend.Open(stop.ctx, e.spec, backend.Options{Timeout: e.timeout, PoolSize: e.mostInFlight()})
		done <- opened{s, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return env, targetTrouble(o.err)
		}
		e.server, e.servers = o.server, map[bool]*backend.Server{false: o.server}
	case <-stop.ctx.Done():
		go func() {
			if o := <-done; o.server != nil {
				o.server.Close()
			}
		}()
		return env, stop.ctx.Err()
	}
	var cut context.CancelFunc
	e.hard, cut = context.WithCancel(context.Background())
	stop.onSecond(func() {
		cut()
		e.opening.Lock()
		defer e.opening.Unlock()
		for _, s := range e.servers {
			s.Client().Close()
		}
	})
	if e.keepKeys && e.server.Flavour() != backend.Live {
		return env, keepNothing()
	}
	env.Redis.Flavour = string(e.server.Flavour())
	d, err := e.server.Describe(stop.ctx)
	if err != nil {
		return env, targetTrouble(err)
	}
	env.Redis.Server, env.Redis.Version, env.Redis.Mode, env.Redis.MaxmemoryPolicy = d.Name, d.Version, d.Mode, d.MaxmemoryPolicy
	return env, nil
}

// publish writes the report and decides how the program ends. What goes wrong with one
// place keeps no other from having what it asked for, and is told in the end, with the bug
// that kept the report from being whole, if there was one.
func (e *experiment) publish(r *report.Report, signal os.Signal, bug error) error {
	if signal != nil || e.lost != nil {
		r.Verdict = r.Verdict.Worse(scenarios.Inconclusive)
	}
	if e.lost != nil && !slices.ContainsFunc(r.Reasons, func(s scenarios.Reason) bool { return s.Code == "target-lost" }) {
		r.Reasons = append(r.Reasons, scenarios.Reason{
			Code: "target-lost", Message: fmt.Sprintf("the target was lost between two runs: %v", e.lost),
			Hint: "look at the target's own log and whether it still answers",
		})
	}
	e.verdict = r.Verdict
	code := verdictCode(r.Verdict)
	switch {
	case signal != nil:
		code = signalCode(signal)
	case e.lost != nil || e.refused():
		code = exitTarget
	}
	written := e.sinks.write(r)
	code, compared := e.compareWithBaseline(r, code)
	return e.ended(&e.sinks, r, e.against.changes, code, allOf(bug, written, compared))
}

// refused reports whether a limiter decided nothing because the server answered
// every request with an error (no permission, no memory, a script that fails), or
// never.
func (e *experiment) refused() bool {
	for _, c := range e.cases {
		m := c.Judgement.Measures
		if failed := m.Errored + m.Unknown - m.Excused; failed > 0 && failed == m.Planned {
			return true
		}
	}
	return false
}

// watch is the stopwatch of this host.
func (e *experiment) watch() func() time.Duration {
	if e.Stopwatch != nil {
		return e.Stopwatch
	}
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// all runs the cases interleaved: each limiter once, then again, so that a
// machine that changes its pace changes it for all.
func (e *experiment) all(stop *interrupt) error {
	e.id = invocation()
	total := int64(0)
	for _, s := range e.scenarios {
		for _, name := range s.limiters {
			total += e.requests(s, name) * int64(e.runs)
		}
	}
	if err := e.server.Warm(stop.ctx, e.connections()); err != nil && stop.ctx.Err() == nil {
		return targetTrouble(err)
	}
	p := e.startProgress(total, &e.handled)
	defer p.stop()
	for run := 1; run <= e.runs; run++ {
		for _, t := range e.turns(run) {
			if stop.ctx.Err() != nil || e.lost != nil {
				return nil
			}
			if err := e.one(stop, p, t.scenario, t.limiter, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// turns are the limiters under all scenarios in the order of a run.
func (e *experiment) turns(run int) []aTurn {
	var all []aTurn
	for _, s := range e.scenarios {
		for _, name := range s.limiters {
			all = append(all, aTurn{s, name})
		}
	}
	if e.order == "shuffled" && run > 1 { // the first is as it is listed, so that the report is
		seed := e.scenarios[0].plan.Seed
		r := random.New(random.NewPCG(seed, uint64(run)))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}

// everyRun is what is to be run, as a report tells of it.
func (e *experiment) everyRun() []report.Planned {
	var all []report.Planned
	for _, s := range e.scenarios {
		for _, name := range s.limiters {
			if len(s.plan.Faults) > 0 {
				all = append(all, report.Planned{Subject: report.Subject{Scenario: s.Name, Limiter: name, Control: true}, Runs: e.runs})
			}
			all = append(all, report.Planned{Subject: report.Subject{Scenario: s.Name, Limiter: name}, Runs: e.runs})
		}
	}
	return all
}

// aTurn is a limiter under a scenario.
type aTurn struct {
	scenario loaded
	limiter  string
}

// requests is how many a limiter will be sent, retries included as far as its
// model tells.
func (e *experiment) requests(s loaded, name string) int64 {
	if len(s.plan.Faults) > 0 {
		return 2 * int64(len(s.plan.Arrivals)) // and the control run
	}
	if claimed := target.Claims(name, e.model); claimed != nil && s.plan.Retries() {
		if e, err := oracle.Expect(s.plan, *claimed); err == nil {
			return e.Measures.Planned
		}
	}
	return int64(len(s.plan.Arrivals))
}

// invocation is a name that no other invocation has, for its keys.
func invocation() string {
	var id [4]byte
	_, _ = rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// rest adds a case for every limiter that had no turn before the end, so that
// it is reported as missed instead of not at all.
func (e *experiment) rest(interrupted bool) error {
	for _, s := range e.scenarios {
		for _, name := range s.limiters {
			had := slices.ContainsFunc(e.cases, func(c report.Case) bool {
				return c.Plan.Scenario == s.Name && c.Limiter == name && !c.Control
			})
			if had {
				continue
			}
			h := &runner.History{Plan: s.plan, Results: scenarios.NewLog(len(s.plan.Arrivals)), Interrupted: interrupted, Lost: e.lost}
			if err := e.judge(s, name, assessed{turn: turn{run: 1}, history: h}); err != nil {
				return err
			}
		}
	}
	return nil
}
