package report_test

import (
	"bytes"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// fixture is a report whose every number is fixed.
type fixture struct {
	name   string
	report *report.Report
}

// history makes what a sound limiter would have answered to a plan, with
// service times that count up from 50 µs.
func history(p *scenarios.Plan, a limiter.Algorithm) scenarios.ResultList {
	states := map[int32]any{}
	results := make(scenarios.ResultList, len(p.Arrivals))
	for i, arrival := range p.Arrivals {
		if states[arrival.Key] == nil {
			states[arrival.Key] = a.Model.Init()
		}
		sent := time.Duration(i) * time.Millisecond
		r := scenarios.Result{Sent: sent, Done: sent + time.Duration(50+i)*time.Microsecond, Outcome: scenarios.Denied}
		if p.Clock != scenarios.Virtual {
			r.Planned = sent - 20*time.Microsecond
		}
		states[arrival.Key], r.Decision = a.Model.Step(p.Limit, states[arrival.Key], limiter.Request{At: p.Edge().Add(arrival.At), Cost: arrival.Cost})
		if r.Decision.Allowed {
			r.Outcome = scenarios.Admitted
		}
		results[i] = r
	}
	return results
}

// experiment describes a fixture before it is judged.
type experiment struct {
	builtin  string
	clock    scenarios.Clock
	limiters []limiter.Algorithm
	runs     int
	spoil    func([]scenarios.Result)
	over     *big.Rat
	checks   []string
	partial  bool
	planned  int                                // runs, of which only some were made
	unsent   func(run int, limiter string) bool // a turn that came to nothing
	odd      string                             // a name for the limiter and the description
}

// env is where fixtures were made.
var env = report.Env{
	Rlbench: "v0", Go: "go1.26", OS: "linux", Arch: "amd64", Cores: 2,
	Redis: report.Redis{Flavour: "managed", Server: "redis", Version: "7.0.15", Mode: "standalone", MaxmemoryPolicy: "noeviction"},
}

func build(t *testing.T, e experiment) *report.Report {
	t.Helper()
	r, err := report.Build(input(t, e))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cases are some runs of a log.
func cases(t *testing.T, runs int) []report.Case {
	t.Helper()
	return input(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Log}, runs: runs}).Cases
}

func input(t *testing.T, e experiment) report.Input {
	t.Helper()
	b, err := scenarios.BuiltinNamed(e.builtin)
	if err != nil {
		t.Fatal(err)
	}
	d := scenarios.BuiltinDefaults()
	s, err := b.Read(d)
	if err != nil {
		t.Fatal(err)
	}
	if e.clock != "" {
		s.Clock = e.clock
	}
	plan, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	checks := s.Checks
	for _, text := range e.checks {
		c, err := scenarios.ParseCheck(text)
		if err != nil {
			t.Fatal(err)
		}
		checks = append(checks, c)
	}
	in := report.Input{
		Command: []string{"rlbench", "run", e.builtin}, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Elapsed: 150 * time.Millisecond,
		Env:         env,
		Interrupted: e.partial || e.planned > 0,
	}
	for run := 1; run <= max(e.runs, 1); run++ {
		for _, a := range e.limiters {
			results := history(plan, a)
			if e.spoil != nil {
				e.spoil(results)
			}
			cut := e.unsent != nil && e.unsent(run, a.Name)
			if cut {
				clear(results)
			}
			name := a.Name
			if e.odd != "" {
				name = e.odd
			}
			oc := &oracle.Case{
				Plan: plan, Results: results, Edge: plan.Edge(), Algorithm: &a, Name: name, Tells: scenarios.TellsAll,
				Checks: checks, MaxOvershoot: e.over, Interrupted: e.partial || cut,
			}
			j, err := oracle.Judge(oc)
			if err != nil {
				t.Fatal(err)
			}
			bytes, commands, script := 120.0, 2.0, 8.25
			description := s.Description
			if e.odd != "" {
				description = e.odd
			}
			in.Cases = append(in.Cases, report.Case{
				Description: description, Plan: plan, Hash: plan.Hash(), Limiter: name, Algorithm: a.Name, Run: run, Runs: max(e.runs, e.planned, 1), Attempts: 1,
				Timings: timings(t, plan, results), Judgement: j, Profile: oracle.Profile(oc),
				Cost: &report.Cost{Keys: 1, BytesPerIdentity: &bytes, CommandsPerDecision: &commands, ScriptUSPerDecision: &script},
			})
		}
	}
	return in
}

// made are the fixtures, once they are made: nobody changes them.
var made []fixture

// fixtures are reports of every kind that a format has to cope with.
func fixtures(t *testing.T) []fixture {
	t.Helper()
	if made == nil {
		made = makeFixtures(t)
	}
	return made
}

func makeFixtures(t *testing.T) []fixture {
	t.Helper()
	every := limiter.Algorithms
	lost := errors.New("read: connection reset")
	outcome := func(o scenarios.Outcome) func([]scenarios.Result) {
		return func(rs []scenarios.Result) {
			for i := range rs {
				rs[i] = scenarios.Result{Outcome: o, Sent: rs[i].Sent, Done: rs[i].Done, Err: lost}
			}
		}
	}
	return []fixture{
		{"boundary-burst", build(t, experiment{builtin: "boundary-burst", limiters: every})},
		{"overshoot", build(t, experiment{builtin: "boundary-burst", limiters: every, over: new(big.Rat)})},
		{"runs", build(t, experiment{builtin: "boundary-burst", limiters: every, runs: 5})},
		{"server-clock", build(t, experiment{builtin: "boundary-burst", clock: scenarios.Server, limiters: every})},
		{"liar", build(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Log}, spoil: func(rs []scenarios.Result) {
			rs[3].Decision.Remaining++
		}})},
		{"warning", build(t, experiment{builtin: "steady", limiters: []limiter.Algorithm{limiter.Fixed}, checks: []string{"admitted == 1"}})},
		{"all-errored", build(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Fixed}, spoil: outcome(scenarios.Errored)})},
		{"all-unknown", build(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Log}, spoil: outcome(scenarios.Unknown)})},
		{"nothing-sent", build(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Log}, partial: true, spoil: func(rs []scenarios.Result) {
			clear(rs)
		}})},
		{"cut-short", build(t, experiment{
			builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Fixed, limiter.Log, limiter.Counter}, runs: 2, planned: 20,
			unsent: func(run int, limiter string) bool { return limiter == "counter" || run == 2 && limiter == "log" },
		})},
		{"slow", build(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Fixed}, spoil: func(rs []scenarios.Result) {
			rs[0].Done = rs[0].Sent + time.Hour
		}})},
		{"odd-names", build(t, experiment{builtin: "steady", limiters: []limiter.Algorithm{limiter.Log}, odd: "a|b\n\x1b[31m<b>日本\u009b"})},
		{"no-cases", empty(t)},
		{"outage-closed", troubled(t, "redis-outage-closed", 1, every...)},
		{"outage-open", troubled(t, "redis-outage-open", 1, limiter.Fixed, limiter.GCRA)},
		{"outage-runs", troubled(t, "redis-outage", 2, limiter.Fixed)},
		{"counted-twice", troubled(t, "lost-reply", 1, limiter.Fixed, limiter.Log)},
	}
}

func empty(t *testing.T) *report.Report {
	t.Helper()
	r, err := report.Build(report.Input{Command: []string{"rlbench"}, Started: time.Unix(0, 0), Env: report.Env{Redis: report.Redis{Flavour: "embedded"}}, Interrupted: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func render(t *testing.T, format string, r *report.Report, o report.Options) []byte {
	t.Helper()
	f, err := report.FormatNamed(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Render(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
