package report_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// Every row of every report: outcomes sum to planned, phases sum to the whole,
// percentiles never decrease and never exceed the maximum.
func TestRowsAddUp(t *testing.T) {
	for _, c := range fixtures(t) {
		t.Run(c.name, func(t *testing.T) {
			byWhole := map[[3]any]int64{}
			for _, row := range c.report.Rows {
				if sum := row.Admitted + row.Denied + row.Errored + row.Unknown + row.Missed; sum != row.Planned {
					t.Errorf("%s %s %q run %d: outcomes sum to %d of %d", row.Scenario, row.Limiter, row.Phase, row.Run, sum, row.Planned)
				}
				id := [3]any{row.Scenario, row.Limiter, row.Run}
				if row.Phase == "" {
					byWhole[id] += row.Planned
				} else {
					byWhole[id] -= row.Planned
				}
				for _, l := range []*report.Latency{row.ServiceUS.All, row.ServiceUS.Admitted, row.ServiceUS.Denied} {
					monotone(t, l)
				}
			}
			for id, rest := range byWhole {
				if rest != 0 {
					t.Errorf("%v: phases miss %d of the whole", id, rest)
				}
			}
		})
	}
}

func monotone(t *testing.T, l *report.Latency) {
	t.Helper()
	if l == nil {
		return
	}
	last := int64(math.MinInt64)
	for _, q := range []*int64{l.P50, l.P90, l.P95, l.P99, l.P999, l.Max} {
		if q == nil {
			continue
		}
		if *q < last {
			t.Errorf("percentiles decrease: %+v", l)
		}
		last = *q
	}
}

func whole(t *testing.T, r *report.Report, limiter string, run int) report.Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Limiter == limiter && row.Run == run && row.Phase == "" {
			return row
		}
	}
	t.Fatalf("no row of %s, run %d", limiter, run)
	return report.Row{}
}

// Run 0 sums counts and merges histograms; peaks are not sums.
func TestRunsAddUp(t *testing.T) {
	r := fixtureNamed(t, "runs")
	sum, one := whole(t, r, "fixed", 0), whole(t, r, "fixed", 1)
	if sum.Planned != 5*one.Planned || sum.Admitted != 5*one.Admitted {
		t.Errorf("run 0 has %d of %d, a run %d of %d", sum.Admitted, sum.Planned, one.Admitted, one.Planned)
	}
	if sum.PeakInWindow != one.PeakInWindow || sum.PeakInWindow != 200 {
		t.Errorf("peak of all runs %d, of one %d, want 200", sum.PeakInWindow, one.PeakInWindow)
	}
	if sum.ServiceUS.All.Count != 1000 || sum.ServiceUS.All.P99 == nil {
		t.Errorf("1000 samples give no p99: %+v", sum.ServiceUS.All)
	}
	if one.ServiceUS.All.P99 != nil {
		t.Errorf("200 samples give a p99: %+v", one.ServiceUS.All)
	}
}

// A sample above the histogram's range is kept at its end and counted.
func TestClampedSamplesCount(t *testing.T) {
	all := whole(t, fixtureNamed(t, "slow"), "fixed", 1).ServiceUS.All
	if all.Count != 200 || all.Clamped != 1 {
		t.Errorf("count %d, clamped %d; want 200 and 1", all.Count, all.Clamped)
	}
	if *all.Max < 599_000_000 {
		t.Errorf("max is %d µs; want the end of the range, 10 minutes", *all.Max)
	}
}

// What nobody measured is absent, not zero.
func TestNothingMeasuredIsAbsent(t *testing.T) {
	row := whole(t, fixtureNamed(t, "nothing-sent"), "log", 1)
	if row.ErrorRate != nil || row.ServiceUS.All != nil || row.Missed != row.Planned {
		t.Errorf("error rate %v, latency %v, missed %d of %d", row.ErrorRate, row.ServiceUS.All, row.Missed, row.Planned)
	}
	if virtual := whole(t, fixtureNamed(t, "boundary-burst"), "log", 1); virtual.ResponseUS != nil {
		t.Error("a response time under the virtual clock")
	}
	if real := whole(t, fixtureNamed(t, "server-clock"), "log", 1); real.ResponseUS == nil || *real.ResponseUS.All.Max != *real.ServiceUS.All.Max+20 {
		t.Errorf("response %+v, service %+v; want 20 µs more", real.ResponseUS, real.ServiceUS.All)
	}
}

func fixtureNamed(t *testing.T, name string) *report.Report {
	t.Helper()
	for _, f := range fixtures(t) {
		if f.name == name {
			return f.report
		}
	}
	t.Fatalf("no fixture %s", name)
	return nil
}

// An interrupt leaves fewer runs than were planned: only those are added up, and what was
// sent nothing has passed no check.
func TestRunsThatWereNotMade(t *testing.T) {
	r := fixtureNamed(t, "cut-short")
	if s := r.Scenarios[0]; s.Runs != 2 || s.PlannedRuns != 20 {
		t.Errorf("%d runs of %d, want 2 of 20", s.Runs, s.PlannedRuns)
	}
	if sum := whole(t, r, "fixed", 0); sum.Planned != 400 || sum.Admitted != 400 {
		t.Errorf("%d of %d admitted, want all of 400", sum.Admitted, sum.Planned)
	}
	for _, f := range r.Findings {
		if idle := f.Limiter == "counter" || f.Limiter == "log" && f.Run == 2; idle && f.Verdict == scenarios.Pass {
			t.Errorf("%s of %s in run %d passes, and nothing was sent", f.Check, f.Limiter, f.Run)
		}
	}
	for format, wants := range map[string][]string{
		"table": {", 0 to 2 of 20 runs added up", "let all 20 runs finish."}, // five would do, and are fewer
		"junit": {`name="runs" value="0 to 2 of 20"`},
		"html":  {"not sent (0 of 400)", "in 1 run<", "0 to 2 of 20"},
	} {
		text := string(render(t, format, r, report.Options{Width: 140}))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", format, want, text[:min(len(text), 2000)])
			}
		}
	}
	lines := render(t, "jsonl", r, report.Options{})
	killed, err := report.Decode(lines[:bytes.LastIndex(lines, []byte(`{"type":"end"`))])
	if err != nil || killed.Scenarios[0].Runs != 2 || killed.Scenarios[0].PlannedRuns != 20 {
		t.Errorf("without its end: %v, %+v", err, killed.Scenarios)
	}
}

// A result that a kill cut off in the middle of a case is what the cases before it are; one of
// an interrupt that earlier versions wrote counts runs that were never made.
func TestTornResults(t *testing.T) {
	var b bytes.Buffer
	r := fixtureNamed(t, "runs")
	s, err := report.NewStream(&b, report.Input{Command: r.Command, Started: r.Started, Env: r.Env})
	if err != nil {
		t.Fatal(err)
	}
	var complete int
	for _, c := range cases(t, 2) {
		complete = b.Len()
		if err := s.Add(&c); err != nil {
			t.Fatal(err)
		}
	}
	for _, end := range []int{complete, complete + 1, complete + (b.Len()-complete)/2, b.Len() - 2} {
		torn, err := report.Decode(b.Bytes()[:end])
		if err != nil {
			t.Fatalf("%d bytes: %v", end, err)
		}
		whole, err := report.Decode(b.Bytes()[:complete])
		if err != nil || len(torn.Rows) != len(whole.Rows) || len(torn.Findings) != len(whole.Findings) || len(torn.Rows) == 0 {
			t.Errorf("%d of %d bytes: %d rows and %d findings, want %d and %d (%v)", end, b.Len(), len(torn.Rows), len(torn.Findings), len(whole.Rows), len(whole.Findings), err)
		}
	}
	if all, err := report.Decode(b.Bytes()); err != nil || all.Scenarios[0].Runs != 2 {
		t.Errorf("all of it: %v", err)
	}
	old := clone(t, fixtureNamed(t, "cut-short"))
	old.Scenarios[0].Runs, old.Scenarios[0].PlannedRuns = 20, 0
	again, err := report.Decode(render(t, "json", old, report.Options{}))
	if err != nil || again.Scenarios[0].Runs != 2 || again.Scenarios[0].PlannedRuns != 20 {
		t.Errorf("an earlier version's: %v, %+v", err, again.Scenarios)
	}
}

// What the failure policy decides, at once, is no service of the limiter.
func TestPolicyIsNoService(t *testing.T) {
	r := fixtureNamed(t, "outage-open")
	row := whole(t, r, "fixed", 1)
	for _, row := range r.Rows {
		if row.Limiter == "fixed" && !row.Control && row.Phase == "" && (row.ServiceUS.All.Count != 200 || row.PolicyUS == nil || row.PolicyUS.Count != 1000) {
			t.Errorf("%d served, policy %+v", row.ServiceUS.All.Count, row.PolicyUS)
		}
	}
	if row.Control && row.PolicyUS != nil {
		t.Errorf("without a fault the policy decided %d", row.PolicyUS.Count)
	}
}
