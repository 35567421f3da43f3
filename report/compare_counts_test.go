package report_test

import (
	"encoding/xml"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// each spoils the rows of log, and leaves the other limiter alone.
func each(of func(run int, row *report.Row)) func(string, int, *report.Row) {
	return func(limiter string, run int, row *report.Row) {
		if limiter == "log" {
			of(run, row)
		}
	}
}

// kept is a promise that was kept or not.
func kept(yes bool) *report.Promise { return &report.Promise{MaxInWindow: 100, Kept: yes} }

// However many runs got better, and by however much, one that got worse is what counts.
func TestOneWorseRunIsWorse(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 31))
	for metric, row := range map[string]struct {
		old, new func(int, *report.Row)
		change   string
		want     float64
	}{
		"peak in a window": {
			nil, func(run int, row *report.Row) { row.PeakInWindow = map[bool]int64{true: 40, false: 150}[run == 1] }, report.ChangeWorse, 150,
		},
		"wrong admissions": {
			func(_ int, row *report.Row) { row.Wrong.Admissions = 50 }, func(run int, row *report.Row) { row.Wrong.Admissions = int64(5 + run/10*46) }, report.ChangeWorse, 51,
		},
		"errors": {
			func(_ int, row *report.Row) { row.Errored = 30 }, func(run int, row *report.Row) { row.Errored = int64(run / 10 * 31) }, report.ChangeWorse, 31,
		},
		"wrong denials": {
			func(_ int, row *report.Row) { row.Wrong.Denials = 30 }, func(run int, row *report.Row) { row.Wrong.Denials = int64(3 * run) }, report.ChangeBetter, 3,
		},
		"promise kept": {
			func(_ int, row *report.Row) { row.Promise = kept(true) }, func(run int, row *report.Row) { row.Promise = kept(run != 1) }, report.ChangeWorse, 0,
		},
		"admitted": {
			nil, func(run int, row *report.Row) { row.Admitted = map[bool]int64{true: 190, false: 205}[run == 1] }, report.ChangeWorse, 190,
		},
	} {
		if row.old == nil {
			row.old = func(int, *report.Row) {}
		}
		c := compared(t, measuredRuns("old", r, 10, each(row.old)), measuredRuns("new", r, 10, each(row.new)), usual)
		if d := metricOf(t, c, "log", metric); d.Change != row.change || !d.Exact || *d.New != row.want || (c.Verdict == scenarios.Fail) != (row.change == report.ChangeWorse) {
			t.Errorf("%s is %s at %g, want %s at %g; verdict %s", metric, d.Change, *d.New, row.change, row.want, c.Verdict)
		}
	}
}

// No margin is for counts, also where they vary from run to run: what decides is the test
// whether they shifted at all, whatever --min-effect says.
func TestCountsThatVaryHaveNoMargin(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 32))
	peaks := func(of func(run int) int64) func(string, int, *report.Row) {
		return each(func(run int, row *report.Row) { row.PeakInWindow = of(run) })
	}
	broken := func(share int) func(string, int, *report.Row) { // of ten
		return each(func(run int, row *report.Row) { row.Promise = kept(run%10 >= share) })
	}
	alternating := func(run int) int64 { return 100 + int64(run%2) }
	constantly := func(n int64) func(int) int64 { return func(int) int64 { return n } }
	for _, row := range []struct {
		why, metric string
		runs        int
		old, new    func(string, int, *report.Row)
		want        string
	}{
		{"a higher peak", "peak in a window", 10, peaks(alternating), peaks(constantly(105)), report.ChangeWorse},
		{"a lower peak", "peak in a window", 10, peaks(alternating), peaks(constantly(99)), report.ChangeBetter},
		{"as before", "peak in a window", 10, peaks(alternating), peaks(alternating), report.ChangeSame},
		{"too few runs to tell", "peak in a window", 3, peaks(alternating), peaks(constantly(105)), report.ChangeUndecided},
		{"a promise broken more often", "promise kept", 10, broken(1), broken(8), report.ChangeWorse},
		{"a promise kept more often", "promise kept", 10, broken(8), broken(1), report.ChangeBetter},
		{"broken more often, though most runs are as they were", "promise kept", 60, broken(1), broken(4), report.ChangeWorse},
		{"kept more often, though most runs are as they were", "promise kept", 60, broken(4), broken(1), report.ChangeBetter},
		{"broken as often", "promise kept", 60, broken(3), broken(3), report.ChangeSame},
		{"perhaps more often, of so many tests", "promise kept", 10, broken(1), broken(7), report.ChangeUndecided},
	} {
		for _, least := range []float64{0.05, 10} { // up to 1000 %
			o := usual
			o.MinEffect = least
			d := metricOf(t, compared(t, measuredRuns("old", r, row.runs, row.old), measuredRuns("new", r, row.runs, row.new), o), "log", row.metric)
			if d.Change != row.want || d.Exact || *d.MinEffect != 0 || (d.NeedsRuns > row.runs) != (row.want == report.ChangeUndecided) {
				t.Errorf("%s at %g: %s, p %g, needs %d; want %s", row.why, least, d.Change, *d.P, d.NeedsRuns, row.want)
			}
		}
	}
}

// Counts that vary, and that nothing happened to, cry wolf no more often than alpha together
// with the times beside them.
func TestNullCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 33))
	vary := func(_ string, _ int, row *report.Row) {
		row.Admitted += int64(r.IntN(20))
		row.PeakInWindow += int64(r.IntN(3))
		row.Wrong.Admissions = int64(r.ExpFloat64() * 3)
		row.Promise = kept(r.IntN(2) > 0)
	}
	trials := 300
	if raced {
		trials = 100
	}
	wolf := 0
	for range trials {
		wolf += min(1, alarms(compared(t, measuredRuns("old", r, 12, vary), measuredRuns("new", r, 12, vary), usual)))
	}
	if float64(wolf) > 0.05*float64(trials)+4*math.Sqrt(0.05*0.95*float64(trials)) {
		t.Errorf("%d of %d null comparisons are alarms", wolf, trials)
	}
}

// What the old result has and the new one has not is told in every format, and is as
// inconclusive as a limiter that is missing.
func TestMetricsThatAreGone(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 34))
	before := measuredRuns("old.json", r, 100, each(func(_ int, row *report.Row) { row.Promise = kept(true) }))
	after := measuredRuns("new.json", r, 100, each(func(_ int, row *report.Row) {
		row.ServiceUS, row.Redis = report.Outcomes{}, nil
	}))
	o := usual
	o.MinEffect, o.FailOn = 0.2, report.FailInconclusive
	c := compared(t, before, after, o)
	gone := 0
	for _, d := range c.Rows {
		if d.Change == report.ChangeGone {
			gone++
			if d.Limiter != "log" || d.New != nil || d.NewRuns != 0 || d.OldRuns != 100 {
				t.Errorf("%+v", d)
			}
		}
	}
	if gone != 5 || c.Verdict != scenarios.Inconclusive || c.Gated() != scenarios.Inconclusive {
		t.Errorf("%d are gone, verdict %s, gated %s", gone, c.Verdict, c.Gated())
	}
	for format, want := range map[string]string{
		"table":    "log      promise kept                1  none  not measured any more         gone\n",
		"markdown": "| log     | promise kept          |      1 | none | not measured any more |       | gone    |\n",
		"junit":    `message="gone: service p50 was `,
		"json":     `"change": "gone"`,
	} {
		text := string(renderComparison(t, format, c, report.Options{Width: 200}))
		if !strings.Contains(text, want) || format != "json" && format != "junit" && !strings.Contains(text, "0 undecided, 5 not measured any more") {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	var file junitFile
	if err := xml.Unmarshal(renderComparison(t, "junit", c, report.Options{}), &file); err != nil || file.Errors != gone || file.Failures != 0 {
		t.Errorf("%v: %d errors and %d failures", err, file.Errors, file.Failures)
	}
	if brief := c.Brief(); !strings.Contains(brief, "promise kept of log under steady was 1 and is none (not measured any more)") {
		t.Errorf("in brief %q", brief)
	}
	// What only the new one has is nothing that got lost.
	if c := compared(t, after, before, o); c.Verdict != scenarios.Pass {
		t.Errorf("the other way round: %s", c.Verdict)
	}
}
