package report_test

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// JUnit is as red as the job, whatever the gate: failures and errors are there if and only
// if the exit code is not 0.
func TestJUnitAgreesWithTheGate(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	worse := func(_ string, _ int, row *report.Row) { row.Admitted-- }
	without := func(limiter string, _ int, row *report.Row) {
		if limiter == "log" {
			row.Limiter = "gcra"
		}
	}
	for _, row := range []struct {
		why   string
		runs  int
		spoil func(string, int, *report.Row)
		own   scenarios.Verdict
		first string // the first gate that stops it; "" is none
	}{
		{"nothing changed", 100, nil, scenarios.Pass, ""},
		{"worse", 100, worse, scenarios.Pass, report.FailRegression},
		{"too few runs", 1, nil, scenarios.Pass, report.FailInconclusive},
		{"one is missing", 100, without, scenarios.Pass, report.FailInconclusive},
		{"the new one failed", 100, nil, scenarios.Fail, report.FailFail},
		{"the new one is inconclusive", 100, nil, scenarios.Inconclusive, report.FailInconclusive},
	} {
		before, after := measuredRuns("old.json", r, row.runs, nil), measuredRuns("new.json", r, row.runs, row.spoil)
		after.Verdict = row.own
		stopped := false
		for _, gate := range report.Gates {
			stopped = stopped || gate == row.first
			o := usual
			o.FailOn, o.MinEffect = gate, 0.2
			c := compared(t, before, after, o)
			junit := renderComparison(t, "junit", c, report.Options{})
			if err := validJUnit(junit); err != nil {
				t.Error(err)
			}
			var file junitFile
			if err := xml.Unmarshal(junit, &file); err != nil {
				t.Fatal(err)
			}
			if red := file.Failures+file.Errors > 0; red != stopped || (c.Gated() != scenarios.Pass) != stopped || red != (c.Gated() != scenarios.Pass) {
				t.Errorf("%s, --fail-on %s: %d failures and %d errors, gated %s, want red %v", row.why, gate, file.Failures, file.Errors, c.Gated(), stopped)
			}
			c.OwnGate = true
			if err := xml.Unmarshal(renderComparison(t, "junit", c, report.Options{}), &file); err != nil {
				t.Fatal(err)
			}
			if red := file.Failures+file.Errors > 0; red != (stopped || row.own != scenarios.Pass) {
				t.Errorf("%s, --fail-on %s beside the run: %d failures and %d errors", row.why, gate, file.Failures, file.Errors)
			}
			if brief, told := c.Brief(), ": "+string(c.Told())+", "; !strings.Contains(brief, told) || c.Gated() != scenarios.Pass && strings.Contains(brief, "pass") || stopped && row.own != scenarios.Pass && !strings.Contains(brief, "of its own") && !strings.Contains(brief, "by itself") {
				t.Errorf("%s, --fail-on %s: in brief %q", row.why, gate, brief)
			}
			if row.own == scenarios.Fail && !strings.Contains(fmt.Sprint(c.Notes), "new.json failed checks of its own") {
				t.Errorf("%s: notes %q", row.why, c.Notes)
			}
		}
	}
}

// A copy in which something was edited is no longer the same result.
func TestEditedCopyIsNotTheSame(t *testing.T) {
	before := measuredRuns("old.json", rand.New(rand.NewPCG(13, 13)), 2, nil)
	after := report.Saved{Name: "new.json", Report: clone(t, before.Report)}
	const note = "they are the same result"
	if c := compared(t, before, after, usual); !strings.Contains(fmt.Sprint(c.Notes), note) {
		t.Errorf("notes %q", c.Notes)
	}
	after.Rows[0].Admitted++
	c := compared(t, before, after, usual)
	if strings.Contains(fmt.Sprint(c.Notes), note) {
		t.Errorf("notes %q of a copy that was edited", c.Notes)
	}
	const brief = "admitted of fixed under steady was 200 and is 201 (+1)"
	if !strings.Contains(c.Brief(), brief) || !strings.HasPrefix(report.GitHubChanges(c), "::error title=rlbench compare::new.json against old.json: fail, 1 worse") {
		t.Errorf("in brief %q", c.Brief())
	}
	summary, err := report.GitHubSummary(after.Report, c)
	if err != nil || !strings.Contains(summary, "# rlbench compare: fail") {
		t.Errorf("%v: the summary is\n%s", err, summary)
	}
}

// A baseline that nothing can be compared with is known before anything is measured.
func TestBaselineThatCannotBe(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	before := measuredRuns("old.json", r, 2, nil)
	planned := report.Saved{Name: "this run", Report: &report.Report{Env: report.Env{OS: env.OS, Arch: env.Arch, Cores: env.Cores}, Scenarios: before.Scenarios, Rows: []report.Row{{Scenario: "steady", Limiter: "log", Run: 1}}}}
	if err := report.CanCompare(before, planned, usual); err != nil {
		t.Error(err)
	}
	planned.Rows[0].Limiter = "gcra"
	if err := report.CanCompare(before, planned, usual); err == nil || !strings.Contains(err.Error(), "no limiter under the same scenario in common") {
		t.Errorf("another limiter: %v", err)
	}
	for i := range before.Rows {
		before.Rows[i].Missed = before.Rows[i].Planned
	}
	if err := report.CanCompare(before, planned, usual); err == nil || !strings.Contains(err.Error(), "old.json has no run that was sent") {
		t.Errorf("nothing sent: %v", err)
	}
}
