package report_test

import (
	"math"
	"testing"

	"github.com/rlbench/rlbench/report"
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
