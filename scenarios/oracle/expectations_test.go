package oracle_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

func parsed(t testing.TB, text string) scenarios.Check {
	t.Helper()
	c, err := scenarios.ParseCheck(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Ten admitted and five denied of a limit of ten, and then what is added.
func ten(extra ...event) *oracle.Case {
	return caseOf(limiter.Limit{Max: 10, Window: time.Second}, slices.Concat(times(10, admitted(0)), times(5, denied(0)), extra)...)
}

func TestExpectations(t *testing.T) {
	const pass, inconclusive, fail = scenarios.Pass, scenarios.Inconclusive, scenarios.Fail
	var (
		missed  = event{outcome: scenarios.Missed}
		errored = event{outcome: scenarios.Errored}
		unknown = event{outcome: scenarios.Unknown}
	)
	second := event{outcome: scenarios.Denied, phase: 1}
	late := func() *oracle.Case {
		c := ten()
		c.Plan.Clock = scenarios.Server
		for i := range held(c) {
			held(c)[i].Sent += time.Second
			held(c)[i].Done += time.Second
		}
		return c
	}
	changed := func(c *oracle.Case, change func(*oracle.Case)) *oracle.Case {
		change(c)
		return c
	}
	for _, row := range []struct {
		c       *oracle.Case
		check   string
		want    scenarios.Verdict
		message string
		why     string
	}{
		{ten(), "admitted == limit", pass, "tested: admitted is 10, expected == 10", "held"},
		{ten(), "admitted == 9", fail, "tested: admitted is 10, expected == 9", "not held"},
		{ten(), "denied == limit/2", pass, "tested: denied is 5, expected == 5", "an expression"},
		{ten(), "error_rate == 0", pass, "tested: error_rate is 0, expected == 0", "a ratio"},
		{ten(), "peak_over_limit <= 1", pass, "tested: peak_over_limit is 1, expected <= 1", "a share of the limit"},
		{ten(second), "denied@second == 1", pass, "tested: denied is 1, expected == 1", "one phase"},
		{ten(second), "denied@first == 1", fail, "tested: denied is 5, expected == 1", "another"},
		{ten(), "denied@second == 0", inconclusive, "tested has no sample of denied", "a phase of which nothing was planned"},
		{ten(), "admitted <= 100/(limit-10)", fail, "100/(limit-10) cannot be computed for limit 10/1s: division by zero", "a value that this limit makes impossible"},

		{caseOf(limiter.Limit{Max: 1, Window: ms}), "admitted == 0", inconclusive, "tested has no sample of admitted", "nothing planned is nothing proved"},
		{caseOf(limiter.Limit{Max: 1, Window: ms}, errored), "peak_in_window <= 1", inconclusive, "tested has no sample of peak_in_window", "no decision, no peak: never a pass"},
		{caseOf(limiter.Limit{Max: 1, Window: ms}, errored), "peak_over_limit <= 1", inconclusive, "tested has no sample of peak_over_limit", "nor a share of the limit"},
		{caseOf(limiter.Limit{Max: 1, Window: ms}, missed), "error_rate == 0", inconclusive, "tested has no sample of error_rate", "nothing sent, no rate"},

		{ten(missed), "admitted == 11", inconclusive, "tested: admitted is 10, expected == 11", "what was missed might have been the eleventh"},
		{ten(missed), "admitted >= 11", inconclusive, "tested: admitted is 10, expected >= 11", "it might"},
		{ten(missed), "admitted <= 9", fail, "tested: admitted is 10, expected <= 9", "too many stay too many, whatever is missing"},
		{ten(missed), "admitted < 10", fail, "tested: admitted is 10, expected < 10", "the other upper bound"},
		{ten(missed), "peak_in_window <= 9", fail, "tested: peak_in_window is 10, expected <= 9", "a peak too"},
		{ten(missed), "peak_in_short < 10", fail, "tested: peak_in_short is 10, expected < 10", "and a short one"},
		{ten(missed), "peak_over_limit <= 0.9", fail, "tested: peak_over_limit is 1, expected <= 0.9", "and its share of the limit"},
		{ten(missed), "denied <= 4", inconclusive, "tested: denied is 5, expected <= 4", "refusals depend on what else was sent"},
		{ten(missed), "admitted == 10", pass, "tested: admitted is 10, expected == 10", "a check that holds holds; the evidence doubts the whole"},
		{ten(errored), "admitted == 11", inconclusive, "tested: admitted is 10, expected == 11", "an error is missing traffic too"},
		{ten(errored), "errored == 0", fail, "tested: errored is 1, expected == 0", "what is about the traffic itself is a fact, whatever was planned"},
		{changed(ten(), func(c *oracle.Case) { c.Interrupted = true }), "admitted == 11", inconclusive, "tested: admitted is 10, expected == 11", "interrupted"},
		{changed(ten(), func(c *oracle.Case) { c.Lost = errors.New("gone") }), "admitted == 11", inconclusive, "tested: admitted is 10, expected == 11", "lost"},
		{changed(ten(), func(c *oracle.Case) { c.Misplaced = 1 }), "admitted == 11", inconclusive, "tested: admitted is 10, expected == 11", "on the wrong side of the edge"},
		{late(), "admitted == 11", inconclusive, "tested: admitted is 10, expected == 11", "so late that it was other traffic than planned"},
		{late(), "admitted <= 9", inconclusive, "tested: admitted is 10, expected <= 9", "later traffic may rightly be admitted more: a counter has forgotten more by then"},
		{changed(ten(), func(c *oracle.Case) { c.Misplaced = 1 }), "admitted <= 9", inconclusive, "tested: admitted is 10, expected <= 9", "and so may traffic in another window"},

		{ten(unknown), "admitted == 10", inconclusive, "tested: admitted is 10 to 11, expected == 10", "the eleventh may have been counted"},
		{ten(unknown), "admitted == 11", inconclusive, "tested: admitted is 10 to 11, expected == 11", "or not"},
		{ten(unknown, unknown), "admitted == 11", inconclusive, "tested: admitted is 10 to 12, expected == 11", "the value lies inside of the interval"},
		{ten(unknown), "admitted == 12", inconclusive, "tested: admitted is 10 to 11, expected == 12", "outside: wrong, but of other traffic than planned"},
		{ten(unknown), "admitted <= 10", inconclusive, "tested: admitted is 10 to 11, expected <= 10", "only the upper end breaks the bound"},
		{ten(unknown), "admitted <= 11", pass, "tested: admitted is 10 to 11, expected <= 11", "neither end does"},
		{ten(unknown), "admitted <= 9", fail, "tested: admitted is 10 to 11, expected <= 9", "both do"},
		{ten(unknown), "admitted < 10", fail, "tested: admitted is 10 to 11, expected < 10", "both do, the lower end by being equal"},
		{ten(unknown), "admitted >= 10", pass, "tested: admitted is 10 to 11, expected >= 10", "it holds at both ends"},
		{ten(unknown), "admitted > 10", inconclusive, "tested: admitted is 10 to 11, expected > 10", "it holds at one"},
		{ten(unknown), "denied <= 5", inconclusive, "tested: denied is 5 to 6, expected <= 5", "it may have been refused as well"},
		{ten(event{outcome: scenarios.Unknown, cost: 3}), "peak_in_window <= 12", inconclusive, "tested: peak_in_window is 10 to 13, expected <= 12", "the peak grows by units"},
		{ten(event{outcome: scenarios.Unknown, cost: 3}), "admitted <= 11", pass, "tested: admitted is 10 to 11, expected <= 11", "counts by requests"},
		{ten(unknown), "unknown == 1", pass, "tested: unknown is 1, expected == 1", "how many are unknown is known"},
	} {
		row.c.Checks = []scenarios.Check{parsed(t, "sent >= 0"), parsed(t, row.check)}
		f := finding(t, judge(t, row.c), parsed(t, row.check).String())
		if f.Verdict != row.want || f.Message != row.message {
			t.Errorf("%s (%s): got %s: %s\nwant %s: %s", row.check, row.why, f.Verdict, f.Message, row.want, row.message)
		}
		if f.Phase != row.c.Checks[1].Phase {
			t.Errorf("%s: phase %q", row.check, f.Phase)
		}
	}
}

func TestWarningsDoNotDecide(t *testing.T) {
	for _, row := range []struct {
		check string
		warn  bool
		want  scenarios.Verdict
		why   string
	}{
		{"admitted == 9", true, scenarios.Pass, "a warning that fails"},
		{"admitted == 9", false, scenarios.Fail, "the same as a check"},
		{"denied@second == 0", true, scenarios.Pass, "a warning without a sample"},
		{"denied@second == 0", false, scenarios.Inconclusive, "the same as a check"},
	} {
		c := ten()
		check := parsed(t, row.check)
		check.Warn = row.warn
		c.Checks = []scenarios.Check{check}
		j := judge(t, c)
		f := finding(t, j, check.String())
		if j.Verdict != row.want || f.Verdict == scenarios.Pass || f.Warn != row.warn {
			t.Errorf("%s: verdict %s with %+v, want %s", row.why, j.Verdict, f, row.want)
		}
	}
}

func TestChecksOfOtherLimitersDoNotCount(t *testing.T) {
	c := ten()
	c.Checks = []scenarios.Check{parsed(t, "log: admitted == 9"), parsed(t, "tested: admitted == 10"), parsed(t, "admitted == 10")}
	j := judge(t, c)
	if f := finding(t, j, "log: admitted == 9"); f.Check != "" || j.Verdict != scenarios.Pass {
		t.Errorf("verdict %s, finding %+v", j.Verdict, f)
	}
	for _, check := range []string{"tested: admitted == 10", "admitted == 10"} {
		if f := finding(t, j, check); f.Verdict != scenarios.Pass {
			t.Errorf("%s: %+v", check, f)
		}
	}
}

// A phase that is not there must not be taken for the whole scenario.
func TestAPhaseThatDoesNotExistHasNoSample(t *testing.T) {
	c := ten()
	c.Checks = []scenarios.Check{parsed(t, "admitted@third == 10")}
	if f := finding(t, judge(t, c), "admitted@third == 10"); f.Verdict != scenarios.Inconclusive {
		t.Errorf("got %+v", f)
	}
}
