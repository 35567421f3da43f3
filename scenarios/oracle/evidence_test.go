package oracle_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// Every reason why a verdict could be worth nothing can be reached, and says
// what to do.
func TestEvidence(t *testing.T) {
	l := limiter.Limit{Max: 5, Window: time.Second}
	some := func(extra ...event) *oracle.Case { return caseOf(l, append(times(3, admitted(0)), extra...)...) }
	missed := event{outcome: scenarios.Missed}
	late := func(by time.Duration) *oracle.Case {
		c := some()
		c.Plan.Clock = scenarios.Server
		for i := range held(c) {
			held(c)[i].Sent, held(c)[i].Done = by, by
		}
		return c
	}
	for _, row := range []struct {
		code    string // "" for enough evidence
		message string
		c       *oracle.Case
		change  func(*oracle.Case)
		why     string
	}{
		{"", "all 3 requests were sent and decided", some(), nil, "everything went well"},
		{"", "all 3 requests were sent and decided", late(10 * ms), nil, "a hundredth of a window late is on time"},
		{"nothing-planned", "the plan has no requests", caseOf(l), nil, "a limit of 0 may plan nothing"},
		{"interrupted", "interrupted after 3 of 5 requests", some(missed, missed), func(c *oracle.Case) { c.Interrupted = true }, "Ctrl-C, which also explains what was missed"},
		{"target-lost", "the target was lost after 3 of 4 requests: dial refused", some(missed), func(c *oracle.Case) { c.Lost = errors.New("dial refused") }, "with the error that ended it"},
		{"missed-schedule", "1 of 4 requests were never sent", some(missed), nil, "something was not sent, and nobody says why"},
		{
			"no-decisions", "none of 2 requests was decided: ERR broken script", caseOf(l, event{outcome: scenarios.Errored}, event{outcome: scenarios.Unknown}), nil,
			"all failed, with the first error",
		},
		{"errors", "1 of 4 requests were not decided: ERR broken script", some(event{outcome: scenarios.Errored}), nil, "one error"},
		{
			"errors", "1 of 4 requests were not decided: fate unknown: the request may have been counted: i/o timeout", some(event{outcome: scenarios.Unknown}), nil,
			"one of unknown fate",
		},
		{"boundary-missed", "2 decisions fell on the wrong side of a window edge, or before a phase that was to be over", some(), func(c *oracle.Case) { c.Misplaced = 2 }, "the edge was missed three times"},
		{"late", "one request in a hundred was sent more than 10.02ms late; 10ms is allowed", late(10*ms + 20*us), nil, "more than a hundredth of a window"},
	} {
		if row.change != nil {
			row.change(row.c)
		}
		j := judge(t, row.c)
		f := finding(t, j, "evidence")
		want := row.message
		if row.code != "" {
			want = "tested: " + want
		}
		if f.Message != want {
			t.Errorf("%s: got %q, want %q", row.why, f.Message, want)
		}
		if row.code == "" {
			if f.Verdict != scenarios.Pass || j.Verdict != scenarios.Pass || len(j.Reasons) > 0 {
				t.Errorf("%s: verdict %s, finding %+v, reasons %+v", row.why, j.Verdict, f, j.Reasons)
			}
			continue
		}
		if f.Verdict != scenarios.Inconclusive || j.Verdict != scenarios.Inconclusive {
			t.Errorf("%s: verdict %s, finding %+v", row.why, j.Verdict, f)
		}
		if got := codes(j); !slices.Equal(got, []string{row.code}) {
			t.Errorf("%s: reasons %v, want %s alone: the first is the cause of those behind it", row.why, got, row.code)
			continue
		}
		checkReason(t, j.Reasons[0])
	}
}

// checkReason holds what is true of every reason.
func checkReason(t *testing.T, r scenarios.Reason) {
	t.Helper()
	if r.Message == "" || r.Hint == "" || strings.ContainsAny(r.Message+r.Hint, "\n") || strings.HasSuffix(r.Message, ".") {
		t.Errorf("reason %s: message %q, hint %q", r.Code, r.Message, r.Hint)
	}
	if r.Code != strings.ToLower(r.Code) || strings.ContainsAny(r.Code, " _") {
		t.Errorf("code %q is not stable to type", r.Code)
	}
}

// Windows so short that a hundredth of one is below what a machine can keep get
// a millisecond.
func TestLatenessIsNeverAskedBelowAMillisecond(t *testing.T) {
	for late, want := range map[time.Duration]scenarios.Verdict{ms: scenarios.Pass, ms + us: scenarios.Inconclusive} {
		c := caseOf(limiter.Limit{Max: 5, Window: 10 * ms}, times(3, admitted(0))...)
		c.Plan.Clock = scenarios.Client
		for i := range held(c) {
			held(c)[i] = scenarios.Result{Sent: late, Done: late, Outcome: scenarios.Admitted, Decision: held(c)[i].Decision}
		}
		if got := judge(t, c).Verdict; got != want {
			t.Errorf("%s late: %s, want %s", late, got, want)
		}
	}
}
