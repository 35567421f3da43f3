package oracle_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// eachOrder runs a test for each algorithm and each way to run it.
func eachOrder(t *testing.T, test func(*testing.T, limiter.Algorithm, order)) {
	for _, a := range limitertest.Models() {
		for _, o := range orders {
			t.Run(a.Name+"/"+o.name, func(t *testing.T) { test(t, a, o) })
		}
	}
}

// A sound limiter is never accused, whatever the interleaving. Sometimes the
// order cannot be found; that may not be the rule.
func TestSoundHistoriesPass(t *testing.T) {
	const seeds = 120
	eachOrder(t, func(t *testing.T, a limiter.Algorithm, o order) {
		doubts := 0
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 7))
			l := limiter.Limit{Max: 1 + r.Int64N(12), Window: []time.Duration{ms, 2500 * us, 10 * ms}[r.IntN(3)]}
			maxCost := 1 + r.Int64N(min(l.Max, 3)+1) // at times above the limit
			c := simulate(r, a, l, o, 20+r.IntN(60), 1+r.IntN(3), maxCost)
			j := judge(t, c)
			for _, f := range j.Findings {
				if f.Verdict == scenarios.Fail {
					t.Errorf("seed %d, limit %s: accused of %+v", seed, l, f)
				}
			}
			switch f := finding(t, j, "conformance"); f.Verdict {
			case scenarios.Pass:
			case scenarios.Inconclusive:
				doubts++
			case scenarios.Fail: // told above
			}
		}
		if doubts > seeds/20 {
			t.Errorf("%d of %d sound histories are in doubt", doubts, seeds)
		}
	})
}

// mutations are the ways in which one decision can be wrong.
var mutations = []struct {
	name   string
	mutate func(*scenarios.Result) bool // false if this decision cannot be wrong so
}{
	{"allowed flipped", func(r *scenarios.Result) bool {
		r.Decision.Allowed = !r.Decision.Allowed
		r.Outcome = map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[r.Decision.Allowed]
		return true
	}},
	{"one more remains", func(r *scenarios.Result) bool { r.Decision.Remaining++; return true }},
	{"one less remains", func(r *scenarios.Result) bool { r.Decision.Remaining--; return true }},
	{"retry a tick later", func(r *scenarios.Result) bool {
		r.Decision.RetryAfter += us
		return r.Decision.RetryAfter > 0 // Never is the largest there is
	}},
	{"retry a tick earlier", func(r *scenarios.Result) bool { r.Decision.RetryAfter -= us; return true }},
	{"retry never", func(r *scenarios.Result) bool {
		was := r.Decision.RetryAfter
		r.Decision.RetryAfter = limiter.Never
		return was != limiter.Never
	}},
	{"reset a tick later", func(r *scenarios.Result) bool { r.Decision.ResetAfter += us; return true }},
	{"reset a tick earlier", func(r *scenarios.Result) bool { r.Decision.ResetAfter -= us; return true }},
}

// Where requests come one after the other there is one order, and no decision
// can be wrong unnoticed.
func TestEveryWrongDecisionOfASequenceIsCaught(t *testing.T) {
	for _, a := range limitertest.Models() {
		for _, m := range mutations {
			t.Run(a.Name+"/"+m.name, func(t *testing.T) {
				for seed := range uint64(3) {
					r := rand.New(rand.NewPCG(seed, 11))
					c := simulate(r, a, limiter.Limit{Max: 4, Window: ms}, orders[0], 40, 1, 5)
					for i, sound := range held(c) {
						if !m.mutate(&held(c)[i]) {
							held(c)[i] = sound
							continue
						}
						f := finding(t, judge(t, c), "conformance")
						if f.Verdict != scenarios.Fail || len(f.Evidence) != 3 {
							t.Errorf("seed %d, decision %d: %+v", seed, i, f)
						}
						if want := fmt.Sprintf("after %s in agreement, a request of cost %d", scenarios.Counted(i, "decision"), c.Plan.Arrivals[i].Cost); i < len(held(c))-1 && !strings.HasPrefix(f.Evidence[0], want) {
							t.Errorf("seed %d, decision %d: evidence %q, want %q", seed, i, f.Evidence[0], want)
						}
						held(c)[i] = sound
					}
				}
			})
		}
	}
}

// decisions makes a history of requests of one instant that are all under way
// at once.
func decisions(a limiter.Algorithm, l limiter.Limit, all ...limiter.Decision) *oracle.Case {
	c := caseOf(l)
	c.Algorithm, c.Tells = &a, scenarios.TellsAll
	for _, d := range all {
		d.Limit, d.At = l.Max, edge
		outcome := map[bool]scenarios.Outcome{true: scenarios.Admitted, false: scenarios.Denied}[d.Allowed]
		c.Plan.Arrivals = append(c.Plan.Arrivals, scenarios.Arrival{Cost: 1})
		c.Results = append(held(c), scenarios.Result{Sent: 0, Done: ms, Outcome: outcome, Decision: d})
	}
	return c
}

func TestLostAtomicityIsCaught(t *testing.T) {
	l := limiter.Limit{Max: 10, Window: time.Minute}
	allowed := func(remaining int64) limiter.Decision {
		return limiter.Decision{Allowed: true, Remaining: remaining, ResetAfter: time.Minute}
	}
	denied := limiter.Decision{RetryAfter: time.Minute, ResetAfter: time.Minute}
	drain := []limiter.Decision{allowed(9), allowed(8), allowed(7), allowed(6), allowed(5), allowed(4), allowed(3), allowed(2), allowed(1), allowed(0)}
	shuffled := slices.Clone(drain)
	slices.Reverse(shuffled)
	for _, row := range []struct {
		all  []limiter.Decision
		want scenarios.Verdict
		why  string
	}{
		{[]limiter.Decision{allowed(9), allowed(8)}, scenarios.Pass, "two at once, one after the other inside"},
		{[]limiter.Decision{allowed(8), allowed(9)}, scenarios.Pass, "the one that was sent first may be decided last"},
		{[]limiter.Decision{allowed(9), allowed(9)}, scenarios.Fail, "both read ten, and then both wrote nine"},
		{[]limiter.Decision{allowed(9), allowed(7)}, scenarios.Fail, "one is missing in between"},
		{[]limiter.Decision{allowed(10)}, scenarios.Fail, "admitted and not counted"},
		{drain, scenarios.Pass, "all ten"},
		{shuffled, scenarios.Pass, "in reverse"},
		{append(shuffled, denied), scenarios.Pass, "and one that is refused"},
		{append(slices.Clone(drain), allowed(0)), scenarios.Fail, "an eleventh admitted"},
		{append(slices.Clone(drain[:9]), denied), scenarios.Fail, "one refused although one was left"},
	} {
		f := finding(t, judge(t, decisions(limiter.Log, l, row.all...)), "conformance")
		if f.Verdict != row.want {
			t.Errorf("%s: got %+v, want %s", row.why, f, row.want)
		}
	}
}

// The intervals are closed, and an order may use every bit of them but no more.
func TestOnlyOrdersThatTheTimesAllow(t *testing.T) {
	l := limiter.Limit{Max: 10, Window: time.Minute}
	for _, row := range []struct {
		sent, done [2]time.Duration
		remaining  [2]int64
		want       scenarios.Verdict
		why        string
	}{
		{[2]time.Duration{0, 10 * us}, [2]time.Duration{5 * us, 20 * us}, [2]int64{9, 8}, scenarios.Pass, "one after the other"},
		{[2]time.Duration{0, 10 * us}, [2]time.Duration{5 * us, 20 * us}, [2]int64{8, 9}, scenarios.Fail, "the first was done before the second was sent"},
		{[2]time.Duration{0, 10 * us}, [2]time.Duration{10 * us, 20 * us}, [2]int64{8, 9}, scenarios.Pass, "done and sent at the same tick: either may have been first"},
		{[2]time.Duration{0, 10 * us}, [2]time.Duration{9 * us, 20 * us}, [2]int64{8, 9}, scenarios.Fail, "a tick apart"},
		{[2]time.Duration{0, 10 * us}, [2]time.Duration{90 * us, 20 * us}, [2]int64{8, 9}, scenarios.Pass, "a long one around a short one"},
		{[2]time.Duration{10 * us, 0}, [2]time.Duration{20 * us, 5 * us}, [2]int64{8, 9}, scenarios.Pass, "what counts is when it was sent, not its place in the plan"},
	} {
		c := decisions(limiter.Log, l,
			limiter.Decision{Allowed: true, Remaining: row.remaining[0], ResetAfter: time.Minute},
			limiter.Decision{Allowed: true, Remaining: row.remaining[1], ResetAfter: time.Minute})
		for i := range held(c) {
			held(c)[i].Sent, held(c)[i].Done = row.sent[i], row.done[i]
		}
		if f := finding(t, judge(t, c), "conformance"); f.Verdict != row.want {
			t.Errorf("%s: got %+v, want %s", row.why, f, row.want)
		}
	}
}

// A decision is about the request: with the virtual clock at its instant, and at
// the limit that is under test. A limiter that looks at another clock, or was
// made with another limit, is not what it claims to be, however consistent.
func TestDecisionsAnswerTheRequest(t *testing.T) {
	for _, row := range []struct {
		change func(*limiter.Decision)
		why    string
	}{
		{func(d *limiter.Decision) { d.At = d.At.Add(1000 * ms) }, "all decided a thousand windows later"},
		{func(d *limiter.Decision) { d.Limit = 77 }, "all of another limit"},
	} {
		c := simulate(rand.New(rand.NewPCG(1, 1)), limiter.Fixed, limiter.Limit{Max: 3, Window: ms}, orders[0], 50, 1, 1)
		for i := range held(c) {
			row.change(&held(c)[i].Decision)
		}
		if j := judge(t, c); j.Verdict == scenarios.Pass {
			t.Errorf("%s: %s, %+v", row.why, j.Verdict, j.Findings)
		}
	}
}
