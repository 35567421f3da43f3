package cmd

import (
	"context"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/runner"
	"github.com/rlbench/rlbench/scenarios/target"
)

// The checks of the built-in scenarios are written in terms of limit and window,
// so they hold at other limits than the one they come with. The limiters are the
// models, in memory.
func TestBuiltInsHoldAtOtherLimits(t *testing.T) {
	t.Parallel()
	for _, b := range scenarios.Scripted() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			for _, limit := range []string{"", "1/1s", "7/10s", "128/7d"} {
				s, err := b.Read(scenarios.BuiltinDefaults())
				if err != nil {
					t.Fatal(err)
				}
				if limit != "" {
					if s.Limit, err = limiter.ParseLimit(limit); err != nil {
						t.Fatal(err)
					}
				}
				if s.Clock != scenarios.Virtual && s.Limit.Window > time.Minute {
					continue // it waits in real time, and that has a bound
				}
				if s.Overload.Present() && limit == "" {
					continue // a hundred thousand requests, and at other limits as few as those of others
				}
				if s.Service != "" || s.EdgeTier != nil && limit != "" {
					continue // it has a clock or numbers of its own
				}
				if len(s.Faults) > 0 {
					continue // models do not break; what is expected of them is held to their checks in package scenarios
				}
				holdsAt(t, s)
			}
		})
	}
}

// holdsAt runs a scenario on every model by the virtual clock. What is only seen
// in Redis is not checked here.
func holdsAt(t *testing.T, s *scenarios.Scenario) {
	t.Helper()
	s.Clock, s.Drain, s.Late, s.Overload = scenarios.Virtual, scenarios.Expr{}, scenarios.Expr{}, scenarios.Expr{}
	plan, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatalf("limit %s: %v", s.Limit, err)
	}
	// A reference knows no second names, so those that are one are called one.
	first := map[int32]int32{}
	for i, phase := range plan.Phases {
		first[phase.Pseudonym] = plan.Identity(scenarios.Arrival{Phase: int32(i)}).Pseudonym
	}
	one := func(id scenarios.Identity, attempt int) string {
		id.Pseudonym = first[id.Pseudonym]
		return invented(id, attempt)
	}
	for _, a := range limitertest.Models() {
		l := limitersOfModel(t, a, plan)
		h, err := runner.Run(context.Background(), runner.Config{Limiters: l, Plan: plan, Identity: one, MaxInFlight: 8})
		if err != nil {
			t.Fatal(err)
		}
		j, err := oracle.Judge(&oracle.Case{
			Plan: h.Plan, Results: h.Results, Edge: h.Edge, Algorithm: &a, Name: a.Name, Tells: scenarios.TellsAll, Checks: s.Checks,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range j.Findings {
			if f.Verdict == scenarios.Fail {
				t.Errorf("limit %s, %s: [%s] %s %v", s.Limit, a.Name, f.Check, f.Message, f.Evidence)
			}
		}
	}
}

func limitersOfModel(t *testing.T, a limiter.Algorithm, p *scenarios.Plan) []limiter.Limiter {
	t.Helper()
	reference := limitertest.NewReference(a)
	tier, err := target.Front(tierOf(p), client)
	if err != nil {
		t.Fatal(err)
	}
	var all []limiter.Limiter
	for _, phase := range p.Phases {
		origin, err := reference.Limiter(phase.Limit)
		if err != nil {
			t.Fatal(err)
		}
		l, err := tier.Limiter(origin)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}
