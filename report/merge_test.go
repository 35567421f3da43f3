package report_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// ofMachine is what one machine measured: 200 requests, each as slow as told.
func ofMachine(t *testing.T, cpu string, took []time.Duration) report.Saved {
	t.Helper()
	r := clone(t, build(t, experiment{builtin: "boundary-burst", clock: scenarios.Server, limiters: []limiter.Algorithm{limiter.Fixed}, spoil: func(rs []scenarios.Result) {
		for i := range rs {
			rs[i].Done = rs[i].Sent + took[i]
		}
	}}))
	r.Env.CPU = cpu
	return report.Saved{Name: cpu + ".json", Report: r}
}

// Percentiles of a merged result are those of all samples together, which no mean of
// percentiles is; counts add, and the runs of each are runs of the whole.
func TestMergePoolsSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var results []report.Saved
	var all []time.Duration
	for m, pace := range []time.Duration{50, 500, 20_000} { // µs: one machine is much slower
		took := make([]time.Duration, 200)
		for i := range took {
			took[i] = (pace + time.Duration(rng.ExpFloat64()*float64(pace))) * time.Microsecond
		}
		all = append(all, took...)
		results = append(results, ofMachine(t, fmt.Sprint("cpu-", m), took))
	}
	merged, err := report.Merge(results)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	sum := whole(t, merged, "fixed", 0)
	got := sum.ServiceUS.All
	near := func(name string, got *int64, want time.Duration) {
		if got == nil || float64(*got) < float64(want.Microseconds())*0.998-1 || float64(*got) > float64(want.Microseconds())*1.002+1 {
			t.Errorf("%s is %v, want %d µs", name, got, want.Microseconds())
		}
	}
	near("p50", got.P50, all[299])
	near("p90", got.P90, all[539])
	near("p95", got.P95, all[569])
	near("max", got.Max, all[599])
	if got.Count != 600 || sum.Planned != 600 || sum.Admitted != 600 || sum.PeakInWindow != 200 || sum.ResponseUS.All.Count != 600 {
		t.Errorf("sum %+v of %+v", got, sum)
	}
	for run := 1; run <= 3; run++ {
		if row := whole(t, merged, "fixed", run); *row.ServiceUS.All.P50 != *whole(t, results[run-1].Report, "fixed", 1).ServiceUS.All.P50 {
			t.Errorf("run %d is not that of machine %d", run, run)
		}
	}
	if s := merged.Scenarios[0]; s.Runs != 3 || s.Schedule.Sent != 600 || merged.Merged != 3 || len(merged.Machines) != 3 || merged.Env.CPU != "cpu-0" {
		t.Errorf("%d runs, %d sent, %d merged, machines %+v", s.Runs, s.Schedule.Sent, merged.Merged, merged.Machines)
	}
	last := merged.Findings[len(merged.Findings)-1]
	if last.Run != 3 {
		t.Errorf("the last finding is of run %d, want 3", last.Run)
	}
	// A merged result can be saved, read and merged again.
	again, err := report.Merge([]report.Saved{{Name: "merged", Report: clone(t, merged)}, ofMachine(t, "cpu-9", all[:200])})
	if err != nil || whole(t, again, "fixed", 0).Planned != 800 || again.Merged != 4 || len(again.Machines) != 4 {
		t.Errorf("merged again: error %v", err)
	}
	if text := string(render(t, "table", merged, report.Options{})); !strings.Contains(text, "3 results merged") {
		t.Errorf("the table does not say so:\n%s", text)
	}
}

// The verdict of a whole is its worst, and an interrupt of one is one of the whole.
func TestMergeKeepsTheWorst(t *testing.T) {
	passed, failed := clone(t, fixtureNamed(t, "boundary-burst")), clone(t, fixtureNamed(t, "overshoot"))
	failed.Started = failed.Started.Add(time.Hour)
	failed.Interrupted = true
	merged, err := report.Merge([]report.Saved{{Name: "a", Report: passed}, {Name: "b", Report: failed}})
	if err != nil {
		t.Fatal(err)
	}
	if merged.Verdict != scenarios.Fail || merged.Scenarios[0].Verdict != scenarios.Fail || !merged.Interrupted || whole(t, merged, "fixed", 0).Verdict != scenarios.Fail || whole(t, merged, "log", 0).Verdict != scenarios.Pass {
		t.Errorf("verdict %s, of the scenario %s, interrupted %t", merged.Verdict, merged.Scenarios[0].Verdict, merged.Interrupted)
	}
	if want := 2 * 150 * time.Millisecond; merged.ElapsedUS != want.Microseconds() || !merged.Started.Equal(passed.Started) {
		t.Errorf("began %s, took %d µs; an hour between two results is of neither", merged.Started, merged.ElapsedUS)
	}
	beside := clone(t, failed)
	beside.Started = passed.Started.Add(-100 * time.Millisecond)
	merged, err = report.Merge([]report.Saved{{Name: "a", Report: passed}, {Name: "b", Report: beside}})
	if want := 250 * time.Millisecond; err != nil || merged.ElapsedUS != want.Microseconds() || !merged.Started.Equal(beside.Started) {
		t.Errorf("at once: began %s, took %d µs, %v", merged.Started, merged.ElapsedUS, err)
	}
	if passed.Scenarios[0].Runs != 1 || len(passed.Rows) != len(fixtureNamed(t, "boundary-burst").Rows) {
		t.Error("a result was changed")
	}
}

// What has no sum is refused, with the reason.
func TestMergeRefuses(t *testing.T) {
	for want, spoil := range map[string]func(r *report.Report){
		"counted twice": func(r *report.Report) { r.Started = fixtureNamed(t, "server-clock").Started },
		"limit 100/1m in one and 101/1m in the other": func(r *report.Report) { r.Scenarios[0].Limit.Max++ },
		"the server clock in one and the virtual":     func(r *report.Report) { r.Scenarios[0].Clock = scenarios.Virtual },
		"seed 1 in one and 7 in the other":            func(r *report.Report) { r.Scenarios[0].Seed = 7 },
		"another plan in each (sha256":                func(r *report.Report) { r.Scenarios[0].SHA256 = "0123456789" },
		"latencies have no sum":                       func(r *report.Report) { r.Env.Redis.Flavour = "embedded" },
		"without their histograms": func(r *report.Report) {
			for i := range r.Rows {
				if l := r.Rows[i].ServiceUS.Admitted; l != nil {
					l.HDR = ""
				}
			}
		},
		"read a histogram": func(r *report.Report) {
			for i := range r.Rows {
				if l := r.Rows[i].ServiceUS.Admitted; l != nil {
					l.HDR = "HISTFAAArubbish"
				}
			}
		},
	} {
		one, other := clone(t, fixtureNamed(t, "server-clock")), clone(t, fixtureNamed(t, "server-clock"))
		other.Started = other.Started.Add(time.Minute)
		spoil(other)
		if _, err := report.Merge([]report.Saved{{Name: "one.json", Report: one}, {Name: "other.json", Report: other}}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "other.json") {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
	if _, err := report.Merge(nil); err == nil {
		t.Error("nothing was merged")
	}
}

// A result that is a part of a sum is not added to it again, nor are two sums of one
// result, nor the beginning of a result that was killed; a sum of others is.
func TestMergeCountsNothingTwice(t *testing.T) {
	var all []report.Saved
	for i := range 4 {
		r := clone(t, fixtureNamed(t, "boundary-burst"))
		r.Started = r.Started.Add(time.Duration(i) * time.Microsecond)
		all = append(all, report.Saved{Name: fmt.Sprint(i, ".json"), Report: r})
	}
	merge := func(name string, of ...report.Saved) report.Saved {
		t.Helper()
		r, err := report.Merge(of)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := report.Decode(render(t, "jsonl", r, report.Options{}))
		if err != nil || !slices.Equal(lines.MergedFrom, r.MergedFrom) {
			t.Fatalf("%v: lines keep %q of %q", err, lines.MergedFrom, r.MergedFrom)
		}
		return report.Saved{Name: name, Report: lines}
	}
	sum := merge("sum.json", all[0], all[1])
	if both := merge("both.json", sum, merge("other.json", all[2], all[3])); both.Merged != 4 || whole(t, both.Report, "fixed", 0).Planned != 800 {
		t.Errorf("%d merged, %+v", both.Merged, whole(t, both.Report, "fixed", 0))
	}
	unknown := report.Saved{Name: "old.json", Report: clone(t, sum.Report)}
	unknown.MergedFrom = nil
	for want, of := range map[string][]report.Saved{
		"sum.json is a sum that 1.json is in already":                             {sum, all[1]},
		"sum.json is a sum that 0.json is in already":                             {all[0], sum},
		"both are sums that have one result in common, begun at 2026-01-02T03:04": {sum, merge("three.json", all[1], all[2])},
		"they are the same result, which would be counted twice":                  {all[0], {Name: "killed.jsonl", Report: killed(t, all[0].Report)}},
		"old.json: it is a sum that does not tell of what":                        {unknown, all[2]},
	} {
		if _, err := report.Merge(of); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}
