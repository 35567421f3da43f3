package oracle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// planOf reads an attack back.
func planOf(t testing.TB, k oracle.Attack) (*scenarios.Scenario, *scenarios.Plan) {
	t.Helper()
	text := k.Scenario("attack")
	s, err := scenarios.Read(strings.NewReader(text), "attack.yaml", scenarios.Defaults{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s, p
}

func TestAttackAsAScenario(t *testing.T) {
	k := attack(t, limiter.Counter, limitOf(t, "10/1m"), oracle.AdversaryOptions{})
	const want = `version: 1
name: late-burst
description: 20 units within one window at a limit of 10; 20 are claimed.
limit: 10/1m
clock: virtual
phases:
  - {name: step-1, at: edge - 1us, shape: burst, count: 10}
  - {name: step-2, at: edge + 54000001us, shape: burst, count: 10}
checks:
  - {algorithm: counter, metric: peak_in_window, op: "==", value: 20}
`
	if diff := cmp.Diff(want, k.Scenario("late-burst")); diff != "" {
		t.Error(diff)
	}
}

// The file says the same as the attack: the model, asked about the file's plan,
// admits what was found.
func TestAttacksCanBeReadBack(t *testing.T) {
	for _, a := range limitertest.Models() {
		for _, text := range []string{"0/1m", "1/1s", "3/1m", "7/7d", "100/1.000001s", "1000/1m", "20000/1m"} {
			l := limitOf(t, text)
			k := attack(t, a, l, oracle.AdversaryOptions{MaxSteps: 500_000})
			s, p := planOf(t, k)
			if got := expect(t, p, a).Measures; got.PeakInWindow != k.Found || s.Limit != l {
				t.Errorf("%s %s: the file gets %d into a window of %s, the attack says %d\n%s", a.Name, l, got.PeakInWindow, s.Limit, k.Found, k.Scenario("attack"))
			}
			if len(s.Checks) != 1 || s.Checks[0].Algorithm != a.Name || s.Checks[0].Metric != "peak_in_window" || s.Checks[0].Op != "==" {
				t.Errorf("%s %s: checks %v", a.Name, l, s.Checks)
			}
			if n := len(s.Phases); n > 50 {
				t.Errorf("%s %s: %d phases", a.Name, l, n)
			}
		}
	}
}

// A bucket of 60 a minute that is full gives 60, and then one every second: 59
// more before the first have left.
func TestLongAttacksHaveFewPhases(t *testing.T) {
	k := oracle.Attack{Algorithm: "gcra", Limit: limitOf(t, "60/1m"), Found: 119}
	for range 60 {
		k.Steps = append(k.Steps, oracle.Step{At: -us, Offered: 1})
	}
	for i := range time.Duration(120) {
		k.Steps = append(k.Steps, oracle.Step{At: (i+1)*time.Second - us, Offered: 1, Cost: 1})
	}
	k.Steps = append(k.Steps, oracle.Step{At: 3 * time.Minute, Offered: 2, Cost: 3})
	s, p := planOf(t, k)
	if got := expect(t, p, limiter.GCRA).Measures.PeakInWindow; got != 119 {
		t.Errorf("%d in a window, want 119", got)
	}
	var phases []string
	for _, phase := range s.Phases {
		phases = append(phases, phase.Shape+" of "+phase.Count.String())
	}
	if diff := cmp.Diff([]string{"burst of 60", "constant of 120", "burst of 2"}, phases); diff != "" {
		t.Errorf("%s\n%s", diff, k.Scenario("attack"))
	}
	if len(p.Arrivals) != 182 {
		t.Fatalf("%d arrivals, want 60 + 120 + 2", len(p.Arrivals))
	}
	for i, a := range p.Arrivals[60:180] {
		if want := time.Duration(i+1)*time.Second - us; a.At != want || a.Cost != 1 {
			t.Fatalf("arrival %d at %s, want %s", i, a.At, want)
		}
	}
	if last := p.Arrivals[181]; last.At != 3*time.Minute || last.Cost != 3 {
		t.Errorf("the last arrival: %+v", last)
	}
}

// Distances that change begin a new phase; two requests are no pattern.
func TestUnevenStepsStayApart(t *testing.T) {
	k := oracle.Attack{Limit: limitOf(t, "10/1m"), Found: 7}
	for _, at := range []time.Duration{0, 10, 20, 30, 35, 40, 50} {
		k.Steps = append(k.Steps, oracle.Step{At: at * us, Offered: 1})
	}
	s, p := planOf(t, k)
	var got []time.Duration
	for _, a := range p.Arrivals {
		got = append(got, a.At/us)
	}
	if diff := cmp.Diff([]time.Duration{0, 10, 20, 30, 35, 40, 50}, got); diff != "" {
		t.Error(diff)
	}
	// 0 to 30 in tens; 35 and 40; 50.
	if len(s.Phases) != 4 || s.Checks[0].Algorithm != "" {
		t.Errorf("%d phases, checks %v\n%s", len(s.Phases), s.Checks, k.Scenario("attack"))
	}
}
