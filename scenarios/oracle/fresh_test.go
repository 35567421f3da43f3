package oracle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// lasting is an event that was sent and done at instants of its own.
type lasting struct {
	event
	sent, done time.Duration
}

func TestFresh(t *testing.T) {
	const no, yes, lost, broken = scenarios.Denied, scenarios.Admitted, scenarios.Unknown, scenarios.Errored
	one := func(o scenarios.Outcome, sent, done int) lasting {
		return lasting{event{outcome: o}, time.Duration(sent) * us, time.Duration(done) * us}
	}
	costs := func(l lasting, cost int64) lasting { l.cost = cost; return l }
	of := func(l lasting, key, phase int32) lasting { l.key, l.phase = key, phase; return l }
	for _, row := range []struct {
		limit int64
		all   []lasting
		want  string
		why   string
	}{
		{3, []lasting{one(no, 0, 5)}, fails, "the first is denied"},
		{3, []lasting{one(yes, 0, 5), one(no, 10, 15)}, passes, "the first is admitted, and what comes later is another matter"},
		{3, []lasting{one(no, 0, 5), one(yes, 10, 15)}, fails, "the first is denied, the second is not"},
		{3, []lasting{one(no, 0, 10), one(yes, 5, 20)}, passes, "they overlap: the second may have been decided first"},
		{3, []lasting{one(no, 0, 10), one(yes, 10, 20)}, passes, "done and sent at the same tick: it may"},
		{3, []lasting{one(no, 0, 9), one(yes, 10, 20)}, fails, "a tick apart: it may not"},
		{3, []lasting{one(no, 0, 10), one(no, 5, 30), one(yes, 20, 40)}, fails, "a chain: the third overlaps the second, but the first was done before it"},
		{3, []lasting{one(no, 0, 50), one(no, 5, 30), one(yes, 20, 40)}, passes, "all three overlap"},
		{3, []lasting{one(no, 10, 20), one(yes, 0, 5)}, passes, "what counts is when it was sent, not its place in the plan"},
		{3, []lasting{one(lost, 0, 5), one(no, 10, 15)}, "inconclusive", "one of unknown fate may have used everything"},
		{3, []lasting{one(broken, 0, 5), one(no, 10, 15)}, "errored", "one that was certainly not counted is no excuse"},
		{3, []lasting{costs(one(no, 0, 5), 4)}, silent, "more than there is at all may be denied"},
		{3, []lasting{costs(one(no, 0, 5), 3)}, fails, "exactly what there is may not"},
		{3, []lasting{costs(one(no, 0, 5), 4), one(no, 10, 15)}, fails, "a denial of too much uses nothing, so the next is the first"},
		{3, []lasting{costs(one(no, 0, 20), 4), one(no, 10, 15)}, fails, "wherever it was decided"},
		{3, []lasting{costs(one(no, 0, 5), 4), one(yes, 10, 15)}, passes, "and it is admitted"},
		{3, []lasting{costs(one(yes, 0, 5), 4), one(no, 10, 15)}, passes, "too much that is admitted is used, right or wrong"},
		{0, []lasting{one(no, 0, 5)}, silent, "a limit of 0 denies everything"},
		{3, []lasting{one(yes, 0, 5), of(one(no, 10, 15), 1, 0)}, fails, "another client has a budget of its own"},
		{3, []lasting{one(yes, 0, 5), of(one(no, 10, 15), 0, 1)}, fails, "so has another pseudonym"},
		{3, []lasting{one(yes, 0, 5), of(one(yes, 10, 15), 0, 1), of(one(no, 20, 25), 0, 1)}, passes, "which is used in its turn"},
	} {
		c := caseOf(limiter.Limit{Max: row.limit, Window: time.Minute})
		for _, l := range row.all {
			one := caseOf(c.Plan.Limit, l.event)
			held(one)[0].Sent, held(one)[0].Done = l.sent, l.done
			c.Plan.Arrivals, c.Results = append(c.Plan.Arrivals, one.Plan.Arrivals...), append(held(c), held(one)...)
		}
		c.Plan.Keys, c.Plan.Phases[1].Pseudonym = 2, 1
		switch row.want {
		case "inconclusive": // the evidence doubts the run, and nobody is accused
			if j := judge(t, c); finding(t, j, "fresh").Check != "" || j.Verdict != scenarios.Inconclusive {
				t.Errorf("%s: verdict %s, %+v", row.why, j.Verdict, j.Findings)
			}
		case "errored":
			if f := finding(t, judge(t, c), "fresh"); f.Verdict != scenarios.Fail {
				t.Errorf("%s: %+v", row.why, f)
			}
		default:
			only(t, row.why, c, "fresh", row.want)
		}
	}
}

// A limit of its own decides what a phase's requests may cost.
func TestFreshKnowsTheLimitOfAPhase(t *testing.T) {
	for limit, want := range map[int64]string{2: silent, 3: fails} {
		c := caseOf(limiter.Limit{Max: 9, Window: time.Minute}, event{outcome: scenarios.Denied, cost: 3, phase: 1})
		c.Plan.Phases[1].Limit.Max = limit
		only(t, fmt.Sprintf("a cost of 3 at a limit of %d", limit), c, "fresh", want)
	}
}

// The same case is judged in the same words, whichever identity comes first in a
// map.
func TestFindingsAreDeterministic(t *testing.T) {
	all := make([]event, 30)
	for i := range all {
		all[i] = event{outcome: scenarios.Denied, key: int32(i / 2), phase: int32(i % 2)}
	}
	c := caseOf(limiter.Limit{Max: 3, Window: time.Minute}, all...)
	c.Plan.Phases[1].Pseudonym = 4
	a := limiter.Log
	c.Algorithm, c.Tells = &a, scenarios.TellsAll
	for i := range held(c) {
		held(c)[i].Decision.Remaining = 3 - int64(i) // a different mistake of each
	}
	for _, check := range []string{"fresh", "remaining", "conformance"} {
		first := finding(t, judge(t, c), check)
		if text := first.Message + strings.Join(first.Evidence, "\n"); !strings.Contains(text, "client 0, pseudonym 0") && check != "conformance" {
			t.Errorf("%s tells of %q, want the first identity", check, text)
		}
		for range 30 {
			if again := finding(t, judge(t, c), check); again.Message != first.Message || !slices.Equal(again.Evidence, first.Evidence) {
				t.Fatalf("%s: once\n%+v\nand once\n%+v", check, first, again)
			}
		}
	}
}
