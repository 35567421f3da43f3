package oracle_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// race is a burst: n requests of one instant, all under way at once, decided by
// a sound limiter in a random order.
func race(r *rand.Rand, a limiter.Algorithm, l limiter.Limit, n int, cost func(int) int64) *oracle.Case {
	c := caseOf(l)
	c.Algorithm, c.Tells = &a, scenarios.TellsAll
	c.Plan.Arrivals = make([]scenarios.Arrival, n)
	c.Results = make(scenarios.ResultList, n)
	state := a.Model.Init()
	for _, i := range r.Perm(n) {
		var d limiter.Decision
		state, d = a.Model.Step(l, state, limiter.Request{At: edge, Cost: cost(i)})
		c.Plan.Arrivals[i] = scenarios.Arrival{Cost: cost(i)}
		held(c)[i] = scenarios.Result{
			Sent: time.Duration(i) * us, Done: time.Duration(n+r.IntN(n)) * us, Decision: d,
			Outcome: map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[d.Allowed],
		}
	}
	return c
}

// Wide bursts have more orders than atoms; only what differs is tried.
func TestWideBurstsAreExplained(t *testing.T) {
	one := func(int) int64 { return 1 }
	mixed := func(i int) int64 { return 1 + int64(i)%3 }
	for _, a := range limitertest.Models() {
		for _, row := range []struct {
			limit int64
			n     int
			cost  func(int) int64
			why   string
		}{
			{100, 1000, one, "a race for a tenth"},
			{300, 300, one, "a race in which everybody wins"},
			{1, 300, one, "a race in which one wins"},
			{0, 300, one, "a race in which nobody wins"},
			{50, 300, mixed, "a race of three prices"},
			{1000, 1000, mixed, "a race of three prices in which half win"},
		} {
			r := rand.New(rand.NewPCG(5, 5))
			c := race(r, a, limiter.Limit{Max: row.limit, Window: time.Minute}, row.n, row.cost)
			if f := finding(t, judge(t, c), "conformance"); f.Verdict != scenarios.Pass {
				t.Errorf("%s: %s: %+v", a.Name, row.why, f)
			}
		}
	}
}

// The same with requests that overlap in part, as a bounded number in flight
// makes them. A refusal of the dear ones fits in many places.
func TestWideGroupsOfMixedCostsAreExplained(t *testing.T) {
	const seeds = 40
	wide := orders[1]
	wide.span *= 10
	for _, a := range limitertest.Models() {
		doubts := 0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 17))
			l := limiter.Limit{Max: 1 + r.Int64N(40), Window: 10 * ms}
			f := finding(t, judge(t, simulate(r, a, l, wide, 300, 1, 2)), "conformance")
			switch f.Verdict {
			case scenarios.Fail:
				t.Errorf("%s, seed %d: %+v", a.Name, seed, f)
			case scenarios.Inconclusive:
				doubts++
			}
		}
		if doubts > seeds/20 {
			t.Errorf("%s: %d of %d sound histories are in doubt", a.Name, doubts, seeds)
		}
	}
}

// One decision of a wide burst that no order explains.
func TestAWrongDecisionInAWideBurstIsCaught(t *testing.T) {
	for _, a := range limitertest.Models() {
		r := rand.New(rand.NewPCG(6, 6))
		c := race(r, a, limiter.Limit{Max: 30, Window: time.Minute}, 300, func(int) int64 { return 1 })
		i := slices.IndexFunc(held(c), func(r scenarios.Result) bool { return r.Outcome == scenarios.Denied })
		held(c)[i].Outcome, held(c)[i].Decision.Allowed, held(c)[i].Decision.RetryAfter = scenarios.Admitted, true, 0
		if f := finding(t, judge(t, c), "conformance"); f.Verdict != scenarios.Fail {
			t.Errorf("%s: one more than the limit was admitted: %+v", a.Name, f)
		}
	}
}

// Refusals commute: they leave no trace, so their order is never a question.
// Without this, one wrong decision among a few dozen refusals of different
// instants drowns in their orders.
func TestRefusalsDoNotHideAWrongDecision(t *testing.T) {
	c := ambiguous(24, func(c *oracle.Case, i int) {
		held(c)[i].Decision.Remaining++ // in none of the orders
	})
	if f := finding(t, judge(t, c), "conformance"); f.Verdict != scenarios.Fail {
		t.Errorf("got %+v", f)
	}
}

// ambiguous is a full log, and then n refusals of different instants that are all
// under way at once; the last is changed.
func ambiguous(n int, change func(*oracle.Case, int)) *oracle.Case {
	l := limiter.Limit{Max: 1, Window: time.Minute}
	a := limiter.Log
	c := caseOf(l)
	c.Algorithm, c.Tells, c.Plan.Clock = &a, scenarios.TellsAll, scenarios.Client
	state := a.Model.Init()
	for i := range n + 1 {
		var d limiter.Decision
		at := time.Duration(i) * us
		state, d = a.Model.Step(l, state, limiter.Request{At: edge.Add(at), Cost: 1})
		c.Plan.Arrivals = append(c.Plan.Arrivals, scenarios.Arrival{At: at, Cost: 1})
		c.Results = append(held(c), scenarios.Result{
			Sent: at, Done: ms, Decision: d, Outcome: map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[d.Allowed],
		})
	}
	held(c)[0].Done = 0
	change(c, n)
	return c
}

// tangled is a history that no order explains, with more orders than can be
// tried: after k units there is a request of one unit that fits, and one of two.
func tangled(n int64) *oracle.Case {
	l := limiter.Limit{Max: 1000, Window: time.Minute}
	var all []limiter.Decision
	for k := range n {
		for cost := int64(1); cost <= 2; cost++ {
			all = append(all, limiter.Decision{Allowed: true, Remaining: l.Max - k - cost, ResetAfter: time.Minute})
		}
	}
	c := decisions(limiter.Log, l, all...)
	c.Plan.Clock = scenarios.Client // where remaining says nothing without an order
	for i := range c.Plan.Arrivals {
		c.Plan.Arrivals[i].Cost = int64(i%2) + 1
	}
	return c
}

// The search gives up rather than take for ever, and says so.
func TestASearchThatIsTooLongIsInconclusive(t *testing.T) {
	for n, want := range map[int64]scenarios.Verdict{3: scenarios.Fail, 40: scenarios.Inconclusive} {
		j := judge(t, tangled(n))
		if f := finding(t, j, "conformance"); f.Verdict != want || j.Verdict != want {
			t.Errorf("%d of each: verdict %s, %+v, want %s", n, j.Verdict, f, want)
		}
		if got := codes(j); want == scenarios.Inconclusive && !slices.Equal(got, []string{"order-unknown"}) {
			t.Errorf("%d of each: reasons %v", n, got)
		}
		for _, reason := range j.Reasons {
			checkReason(t, reason)
		}
	}
}

func TestUnknownOutcomesLeaveDecisionsOpen(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	l := limiter.Limit{Max: 4, Window: ms}
	sound := simulate(r, limiter.Log, l, orders[0], 30, 1, 1)
	sound.Plan.Clock = scenarios.Server // where nobody knows when a lost request was decided
	doubts := 0
	for i := range held(sound) {
		c := *sound
		c.Results = slices.Clone(held(sound))
		was := held(&c)[i].Outcome
		held(&c)[i].Outcome, held(&c)[i].Decision, held(&c)[i].Err = scenarios.Unknown, limiter.Decision{}, limiter.ErrUnknown
		j := judge(t, &c)
		f := finding(t, j, "conformance")
		switch {
		case f.Verdict == scenarios.Fail:
			t.Errorf("request %d, really %d: a sound limiter is accused because of a lost reply: %+v", i, was, f)
		case f.Verdict == scenarios.Inconclusive:
			doubts++
			if !slices.Contains(codes(j), "unknown-outcomes") {
				t.Errorf("request %d: reasons %v", i, codes(j))
			}
		}
		for _, reason := range j.Reasons {
			checkReason(t, reason)
		}
	}
	if doubts == 0 {
		t.Error("no lost reply left anything open")
	}
}

// In virtual time it is known by which instant a lost request would have been
// decided, so both of its fates can be tried: a sound limiter is cleared, and one
// that counts a request twice is not.
func TestBothFatesOfALostReply(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	l := limiter.Limit{Max: 4, Window: ms}
	for _, a := range limitertest.Models() {
		sound := simulate(r, a, l, orders[0], 30, 1, 1)
		for i := range held(sound) {
			c := *sound
			c.Results = slices.Clone(held(sound))
			held(&c)[i].Outcome, held(&c)[i].Decision, held(&c)[i].Err = scenarios.Unknown, limiter.Decision{}, limiter.ErrUnknown
			if f := finding(t, judge(t, &c), "conformance"); f.Verdict != scenarios.Pass {
				t.Errorf("%s, reply %d lost: %+v", a.Name, i, f)
			}
		}
	}
	c := simulate(r, limiter.Fixed, limiter.Limit{Max: 10, Window: time.Hour}, orders[0], 3, 1, 1)
	state := limiter.Fixed.Model.Init()
	for i := range held(c) { // at three instants of one window
		c.Plan.Arrivals[i] = scenarios.Arrival{At: time.Duration(i) * time.Microsecond, Cost: 1}
		held(c)[i].Outcome = scenarios.Admitted
		state, held(c)[i].Decision = limiter.Fixed.Model.Step(c.Plan.Limit, state, limiter.Request{At: c.Edge.Add(c.Plan.Arrivals[i].At), Cost: 1})
	}
	held(c)[1].Outcome, held(c)[1].Decision, held(c)[1].Err = scenarios.Unknown, limiter.Decision{}, limiter.ErrUnknown
	for _, row := range []struct {
		counted int64 // for the lost request
		want    scenarios.Verdict
		over    scenarios.Overcount
	}{
		{0, scenarios.Pass, scenarios.Overcount{Used: 1, Sent: 1}},
		{1, scenarios.Pass, scenarios.Overcount{Used: 1, Sent: 1}},
		{2, scenarios.Fail, scenarios.Overcount{Used: 4, Sent: 3}},
	} {
		held(c)[2].Decision.Remaining = 10 - 2 - row.counted
		j := judge(t, c)
		if f := finding(t, j, "conformance"); f.Verdict != row.want {
			t.Errorf("a lost request counted %d times: %+v", row.counted, f)
		}
		if j.Measures.Overcounted != row.over {
			t.Errorf("a lost request counted %d times: overcounted %+v, want %+v", row.counted, j.Measures.Overcounted, row.over)
		}
	}
}

// A doubt about one key is no excuse for another, which is certainly wrong.
func TestTheWorstKeyDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	c := simulate(r, limiter.Log, limiter.Limit{Max: 2, Window: ms}, orders[0], 60, 2, 1)
	c.Plan.Clock = scenarios.Server // where a lost reply leaves decisions open
	spoil := func(key int32, outcome scenarios.Outcome, change func(*scenarios.Result)) {
		for i, a := range c.Plan.Arrivals {
			if a.Key == key && held(c)[i].Outcome == outcome {
				change(&held(c)[i])
				return
			}
		}
		t.Fatalf("key %d has no outcome %d", key, outcome)
	}
	spoil(0, scenarios.Admitted, func(r *scenarios.Result) { r.Outcome, r.Decision = scenarios.Unknown, limiter.Decision{} })
	if f := finding(t, judge(t, c), "conformance"); f.Verdict != scenarios.Inconclusive {
		t.Fatalf("the first key alone: %+v", f)
	}
	spoil(1, scenarios.Denied, func(r *scenarios.Result) { r.Decision.Remaining++ })
	if f := finding(t, judge(t, c), "conformance"); f.Verdict != scenarios.Fail {
		t.Errorf("the second key is wrong whatever happened to the first: %+v", f)
	}
}

// Judging reads and does not write.
func TestJudgeIsPure(t *testing.T) {
	for _, a := range limitertest.Models() {
		for _, o := range orders {
			c := simulate(rand.New(rand.NewPCG(1, 1)), a, limiter.Limit{Max: 3, Window: ms}, o, 50, 2, 2)
			c.Checks = []scenarios.Check{parsed(t, "admitted <= limit"), parsed(t, "peak_in_window@first <= 2*limit")}
			before := *c
			plan := *c.Plan
			plan.Arrivals, plan.Phases = slices.Clone(c.Plan.Arrivals), slices.Clone(c.Plan.Phases)
			before.Results, before.Checks = slices.Clone(held(c)), slices.Clone(c.Checks)
			first, second := judge(t, c), judge(t, c)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("%s, %s: a second opinion differs:\n%s", a.Name, o.name, diff)
			}
			same := cmp.Options{cmpopts.EquateErrors(), cmp.Comparer(func(a, b scenarios.Expr) bool { return a.String() == b.String() })}
			if diff := cmp.Diff(held(&before), held(c), same); diff != "" {
				t.Errorf("%s, %s: the results changed:\n%s", a.Name, o.name, diff)
			}
			if diff := cmp.Diff(&plan, c.Plan, same); diff != "" {
				t.Errorf("%s, %s: the plan changed:\n%s", a.Name, o.name, diff)
			}
			if diff := cmp.Diff(before.Checks, c.Checks, same); diff != "" {
				t.Errorf("%s, %s: the checks changed:\n%s", a.Name, o.name, diff)
			}
		}
	}
}
