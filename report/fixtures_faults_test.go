package report_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// troubled is a report of limiters under a built-in with one fault, each after its
// control run.
func troubled(t *testing.T, builtin string, runs int, limiters ...limiter.Algorithm) *report.Report {
	t.Helper()
	b, err := scenarios.BuiltinNamed(builtin)
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.Read(scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	in := report.Input{
		Command: []string{"rlbench", "run", builtin}, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Elapsed: 150 * time.Millisecond, Env: env,
	}
	for run := 1; run <= runs; run++ {
		for _, a := range limiters {
			control := judged(t, &oracle.Case{Plan: plan.Faultless(), Results: history(plan, a), Edge: plan.Edge(), Algorithm: &a, Name: a.Name, Tells: scenarios.TellsAll})
			results, fault := brokenHistory(plan, a)
			c := judged(t, &oracle.Case{
				Plan: plan, Results: results, Edge: plan.Edge(), Algorithm: &a, Name: a.Name, Tells: scenarios.TellsAll, Checks: s.Checks,
				Faults: []scenarios.FaultResult{fault}, Control: control.Judgement,
			})
			control.Control = true
			for _, one := range []report.Case{control, c} {
				one.Description, one.Hash, one.Algorithm, one.Run, one.Runs, one.Attempts = s.Description, plan.Hash(), a.Name, run, runs, 1
				in.Cases = append(in.Cases, one)
			}
		}
	}
	r, err := report.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func timings(t *testing.T, p *scenarios.Plan, results scenarios.Results) *report.Timings {
	t.Helper()
	timings, err := report.Time(p, results)
	if err != nil {
		t.Fatal(err)
	}
	return timings
}

func judged(t *testing.T, c *oracle.Case) report.Case {
	t.Helper()
	j, err := oracle.Judge(c)
	if err != nil {
		t.Fatal(err)
	}
	return report.Case{Plan: c.Plan, Limiter: c.Name, Timings: timings(t, c.Plan, c.Results), Judgement: j, Profile: oracle.Profile(c)}
}

// brokenHistory is what a limiter answers to a plan while the plan's one fault is in
// force, and before and after: an outage makes it fail and forget, and of lost
// replies one in two is counted again by a client that retries.
func brokenHistory(p *scenarios.Plan, a limiter.Algorithm) (scenarios.ResultList, scenarios.FaultResult) {
	away := errors.New("dial unix: connection refused")
	results := history(p, a)
	planned := p.Faults[0]
	fault := scenarios.FaultResult{Hits: -1}
	state := a.Model.Init()
	for i, arrival := range p.Arrivals {
		r := &results[i]
		r.Done = r.Sent + time.Duration(50+i%100)*time.Microsecond
		ask := func() { // it and the model
			state, r.Decision = a.Model.Step(p.Limit, state, limiter.Request{At: p.Edge().Add(arrival.At), Cost: arrival.Cost})
			r.Outcome = map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[r.Decision.Allowed]
		}
		begun, over := arrival.At >= planned.At, arrival.At >= planned.End
		if begun && !fault.Made {
			fault.Made, fault.Begin, fault.Force = true, r.Sent-300*time.Microsecond, r.Sent-200*time.Microsecond
			if planned.Of().Loss == scenarios.LosesAll {
				state = a.Model.Init()
			}
		}
		if over && fault.End == 0 {
			fault.Lift, fault.End = r.Sent-300*time.Microsecond, r.Sent-100*time.Microsecond
		}
		switch {
		case !begun || over:
			ask()
		case planned.Kind == "lost-reply":
			fault.Hits = int64(i+1) / planned.Every
			ask()
			if int64(i+1)%planned.Every == 0 {
				ask() // of the first reply it never heard
			}
		case p.OnFailure == "open":
			r.Outcome, r.Decision = scenarios.Admitted, limiter.Decision{Allowed: true, Limit: p.Limit.Max, At: p.Edge().Add(arrival.At), Source: limiter.SourceFailOpen, Cause: away}
		case p.OnFailure == "closed":
			r.Outcome, r.Decision = scenarios.Denied, limiter.Decision{Limit: p.Limit.Max, At: p.Edge().Add(arrival.At), Source: limiter.SourceFailClosed, Cause: away}
		default:
			r.Outcome, r.Decision, r.Err = scenarios.Errored, limiter.Decision{}, away
		}
	}
	return results, fault
}
