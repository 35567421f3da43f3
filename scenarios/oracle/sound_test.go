package oracle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// budgets are what identities have used, by a model. Limiters of several limits
// share them.
type budgets struct {
	model  limiter.Model
	mu     sync.Mutex
	states map[string]any
}

type modelled struct {
	*budgets
	limit limiter.Limit
}

var _ limiter.Limiter = modelled{}

func (m modelled) Allow(_ context.Context, r limiter.Request) (limiter.Decision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state, used := m.states[r.Key]
	if !used {
		state = m.model.Init()
	}
	state, d := m.model.Step(m.limit, state, r)
	m.states[r.Key] = state
	return d, nil
}

// drawScenario is any traffic, small enough to be judged at once.
func drawScenario(t *rapid.T) *scenarios.Plan {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	number := func(what string, low, high int) int { return rapid.IntRange(low, high).Draw(t, what) }
	shapes := []func() string{
		func() string { return fmt.Sprintf("shape: burst, count: %d", number("count", 0, 12)) },
		func() string { return fmt.Sprintf("shape: herd, count: %d", number("count", 0, 6)) },
		func() string { return fmt.Sprintf("shape: constant, for: window, count: %d", number("count", 0, 20)) },
		func() string { return fmt.Sprintf("shape: poisson, for: 2*window, count: %d", number("count", 0, 20)) },
		func() string { return "shape: drip, for: 2*window, every: window/7" },
		func() string { return "shape: ramp, for: window, from: 0/s, to: 20/s" },
		func() string { return "shape: saturate, for: window/2" },
	}
	var phases []string
	for i := range number("phases", 1, 4) {
		p := fmt.Sprintf("- {name: p%d, at: edge + window*%d/8, %s", i, number("eighths", -16, 24), rapid.SampledFrom(shapes).Draw(t, "shape")())
		p += pick("cost", "", "", ", cost: 2", ", cost: 5")
		p += pick("limit", "", "", ", limit: 0", ", limit: 2", ", limit: 2*limit")
		p += pick("skew", "", "", "", ", skew: window/3", ", skew: 0s - 3*window/2")
		p += pick("pseudonym", "", "", ", pseudonym: 1")
		p += pick("jitter", "", "", ", jitter: 10ms")
		p += pick("repeat", "", "", ", repeat: {times: 2, every: window}")
		p += pick("retry", "", "", ", retry: {mode: obey, within: 3*window}", ", retry: {mode: obey, round: window/4, jitter: 5ms, within: 3*window}",
			", retry: {mode: constant, wait: window/5, within: 2*window}", ", retry: {mode: ignore, wait: window/6, jitter: 1ms, within: 2*window}")
		phases = append(phases, p+"}")
	}
	file := fmt.Sprintf("version: 1\nname: any\nlimit: %d/1s\nclock: virtual\nkeys: {count: %d, distribution: %s}\nphases:\n%s\n",
		number("limit", 0, 6), number("keys", 1, 3), pick("distribution", "uniform", "cycle"), strings.Join(phases, "\n"))
	s, err := scenarios.Read(strings.NewReader(file), "any.yaml", scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	p, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return p
}

// played is a run of a plan against a model.
func played(t *rapid.T, p *scenarios.Plan, a limiter.Algorithm, inFlight int, stopwatch func() time.Duration) *oracle.Case {
	b := &budgets{model: a.Model, states: map[string]any{}}
	limiters := make([]limiter.Limiter, len(p.Phases))
	for i, phase := range p.Phases {
		limiters[i] = modelled{b, phase.Limit}
	}
	h, err := runner.Run(context.Background(), runner.Config{
		Limiters: limiters, Plan: p, MaxInFlight: inFlight, Stopwatch: stopwatch,
		Identity: func(id scenarios.Identity, _ int) string { return fmt.Sprint(id) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return &oracle.Case{
		Plan: h.Plan, Results: h.Results, Edge: h.Edge, Name: a.Name, Algorithm: &a, Tells: scenarios.TellsAll,
		Misplaced: h.Misplaced, Interrupted: h.Interrupted, Lost: h.Lost,
	}
}

// strict is a stopwatch that never shows the same time twice.
func strict() func() time.Duration {
	now := time.Duration(0)
	return func() time.Duration { now += us; return now }
}

// Whatever is sent, a limiter that does what it claims is accused of nothing, by
// no check; and what was foretold is what happened.
func TestNobodyIsAccusedWrongly(t *testing.T) {
	for _, a := range limitertest.Models() {
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawScenario(t)
				for _, inFlight := range []int{1, 4} {
					c := played(t, p, a, inFlight, nil)
					j, err := oracle.Judge(c)
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range j.Findings {
						if f.Verdict != scenarios.Pass && !slices.Equal(codes(j), []string{"nothing-planned"}) {
							t.Errorf("%d in flight: %+v", inFlight, f)
						}
					}
					if inFlight > 1 {
						continue // of one instant the order is anybody's
					}
					if o := j.Measures.Overcounted; o.Used > o.Sent {
						t.Errorf("a sound limiter counted %d units of %d", o.Used, o.Sent)
					}
					e := expect(t, p, a)
					if diff := cmp.Diff(e.Measures, j.Measures); diff != "" {
						t.Errorf("expected and measured differ (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(e.Phases, j.Phases); diff != "" {
						t.Errorf("expected and measured differ by phase (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

// One decision that is wrong is noticed where requests came one by one, whatever
// the traffic.
func TestNoWrongDecisionGoesUnnoticed(t *testing.T) {
	for _, a := range limitertest.Models() {
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := played(t, drawScenario(t), a, 1, strict())
				if len(held(c)) == 0 {
					return
				}
				i := rapid.IntRange(0, len(held(c))-1).Draw(t, "which")
				m := rapid.SampledFrom(mutations).Draw(t, "how")
				if !m.mutate(&held(c)[i]) {
					return
				}
				j, err := oracle.Judge(c)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range j.Findings {
					if f.Check == "conformance" && f.Verdict == scenarios.Fail {
						return
					}
				}
				t.Errorf("%s in decision %d of %d: %+v", m.name, i, len(held(c)), j.Findings)
			})
		})
	}
}

// explainable tries every order that the times allow.
func explainable(c *oracle.Case, state any, used []bool) bool {
	complete := true
	for i, r := range held(c) {
		if used[i] {
			continue
		}
		complete = false
		overtaken := false
		for k, other := range held(c) {
			overtaken = overtaken || !used[k] && other.Done < r.Sent
		}
		if overtaken {
			continue
		}
		a := c.Plan.Arrivals[i]
		next, d := c.Algorithm.Model.Step(c.Plan.Phases[a.Phase].Limit, state, limiter.Request{At: r.Decision.At, Cost: a.Cost})
		up := func(d, unit time.Duration) time.Duration { // to the unit; Never stays
			if unit == 0 {
				return 0
			}
			for d != limiter.Never && d%unit != 0 {
				d += us
			}
			return d
		}
		told := r.Decision
		if told.Allowed != d.Allowed || told.Limit != d.Limit || c.Tells.Remaining && told.Remaining != d.Remaining ||
			c.Tells.Retry > 0 && told.RetryAfter != up(d.RetryAfter, c.Tells.Retry) || c.Tells.Reset > 0 && told.ResetAfter != up(d.ResetAfter, c.Tells.Reset) {
			continue
		}
		used[i] = true
		if explainable(c, next, used) {
			return true
		}
		used[i] = false
	}
	return complete
}

// The search finds an order exactly where there is one.
func TestConformanceIsTheExistenceOfAnOrder(t *testing.T) {
	seen := map[scenarios.Verdict]int{}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(limiter.Algorithms).Draw(t, "algorithm")
		limits := []limiter.Limit{{Max: rapid.Int64Range(1, 4).Draw(t, "limit"), Window: ms}, {Max: rapid.Int64Range(0, 4).Draw(t, "other limit"), Window: ms}}
		c := caseOf(limits[0])
		c.Algorithm, c.Plan.Clock = &a, scenarios.Client
		c.Plan.Phases[1].Limit = limits[1]
		c.Tells = rapid.SampledFrom([]scenarios.Tells{
			scenarios.TellsAll, {At: true}, {At: true, Remaining: true}, {At: true, Retry: 100 * us}, {At: true, Remaining: true, Reset: us},
		}).Draw(t, "tells")
		state := a.Model.Init()
		for range rapid.IntRange(1, 6).Draw(t, "requests") { // in the order of deciding
			sent := time.Duration(rapid.IntRange(0, 6).Draw(t, "sent")) * us
			arrival := scenarios.Arrival{
				At: time.Duration(rapid.SampledFrom([]int{0, 0, 300, 1000, 1700}).Draw(t, "at")) * us, Cost: rapid.Int64Range(1, 2).Draw(t, "cost"), Phase: rapid.Int32Range(0, 1).Draw(t, "phase"),
			}
			var d limiter.Decision
			state, d = a.Model.Step(limits[arrival.Phase], state, limiter.Request{At: edge.Add(arrival.At), Cost: arrival.Cost})
			for _, wait := range []struct {
				told *time.Duration
				unit time.Duration
			}{{&d.RetryAfter, c.Tells.Retry}, {&d.ResetAfter, c.Tells.Reset}} {
				if rest := *wait.told % max(wait.unit, us); rest > 0 && *wait.told != limiter.Never {
					*wait.told += wait.unit - rest
				}
			}
			c.Plan.Arrivals = append(c.Plan.Arrivals, arrival)
			c.Results = append(held(c), scenarios.Result{
				Planned: sent, Sent: sent, Done: sent + time.Duration(rapid.IntRange(0, 6).Draw(t, "took"))*us, Decision: d,
				Outcome: map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[d.Allowed],
			})
		}
		if rapid.Bool().Draw(t, "mutated") {
			i := rapid.IntRange(0, len(held(c))-1).Draw(t, "which")
			sound := held(c)[i]
			if !rapid.SampledFrom(mutations).Draw(t, "how").mutate(&held(c)[i]) {
				held(c)[i] = sound
			}
		}
		want := scenarios.Fail
		if explainable(c, a.Model.Init(), make([]bool, len(held(c)))) {
			want = scenarios.Pass
		}
		j, err := oracle.Judge(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range j.Findings {
			if f.Check == "conformance" && f.Verdict != want {
				t.Errorf("got %+v, want %s of\n%+v\n%+v", f, want, c.Plan.Arrivals, c.Results)
			}
		}
		seen[want]++
	})
	if seen[scenarios.Pass] == 0 || seen[scenarios.Fail] == 0 {
		t.Errorf("%v: want some of each", seen)
	}
}
