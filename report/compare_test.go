package report_test

import (
	"bytes"
	"encoding/xml"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	validate "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// measuredRuns is a report of so many runs of two limiters, whose times have noise of
// a tenth around 100 and 400 µs. spoil changes a row.
func measuredRuns(name string, r *rand.Rand, runs int, spoil func(limiter string, run int, row *report.Row)) report.Saved {
	d := &report.Report{
		Schema: report.Schema, Verdict: scenarios.Pass, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Env: env,
		Scenarios: []report.Scenario{{Name: "steady", Clock: scenarios.Server, Runs: runs, Limit: report.Limit{Max: 100, WindowUS: 60_000_000}, Verdict: scenarios.Pass}},
	}
	for _, limiter := range []string{"fixed", "log"} {
		for run := 1; run <= runs; run++ {
			noisy := func(middle float64) *int64 {
				v := int64(middle * (1 + 0.1*r.NormFloat64()))
				return &v
			}
			bytes, script := 120.0, 10*(1+0.1*r.NormFloat64())
			row := report.Row{
				Scenario: "steady", Limiter: limiter, Run: run, Planned: 1000, Admitted: 200, Denied: 800, PeakInWindow: 100,
				ServiceUS: report.Outcomes{All: &report.Latency{Count: 1000, P50: noisy(10_000), P99: noisy(40_000)}},
				Redis:     &report.Cost{Keys: 1, BytesPerIdentity: &bytes, ScriptUSPerDecision: &script}, Verdict: scenarios.Pass,
			}
			if spoil != nil {
				spoil(limiter, run, &row)
			}
			d.Rows = append(d.Rows, row)
		}
	}
	return report.Saved{Name: name, Report: d}
}

var usual = report.CompareOptions{Alpha: 0.05, MinEffect: 0.05}

func compared(t *testing.T, a, b report.Saved, o report.CompareOptions) *report.Comparison {
	t.Helper()
	c, err := report.Compare(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func metricOf(t *testing.T, c *report.Comparison, limiter, metric string) report.Compared {
	t.Helper()
	for _, d := range c.Rows {
		if d.Limiter == limiter && d.Metric == metric {
			return d
		}
	}
	t.Fatalf("no %s of %s", metric, limiter)
	return report.Compared{}
}

// A thousand comparisons of nothing with nothing cry wolf in no more than alpha of them,
// over all of their tests.
func TestNullComparisons(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	trials := 1000
	if raced {
		trials = 100
	}
	alarms := 0
	for range trials {
		c := compared(t, measuredRuns("old", r, 8, nil), measuredRuns("new", r, 8, nil), usual)
		for _, d := range c.Rows {
			if d.Change == report.ChangeWorse || d.Change == report.ChangeBetter {
				alarms++
				break
			}
		}
	}
	// Four standard deviations of a share of 5 %: in a thousand 2.8 %.
	if float64(alarms) > 0.05*float64(trials)+4*math.Sqrt(0.05*0.95*float64(trials)) {
		t.Errorf("%d of %d null comparisons are alarms", alarms, trials)
	}
}

// One admission too many, in one run of many, is found whatever else varies.
func TestPlantedAdmissionIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for at := range 20 {
		c := compared(t, measuredRuns("old", r, 20, nil), measuredRuns("new", r, 20, func(limiter string, run int, row *report.Row) {
			if limiter == "log" && run == 1+at {
				row.Admitted++
				row.Denied--
				row.PeakInWindow++
			}
		}), usual)
		for _, metric := range []string{"admitted", "peak in a window"} {
			if d := metricOf(t, c, "log", metric); d.Change != report.ChangeWorse || !d.Exact || *d.New != d.Old+1 {
				t.Errorf("run %d: %s is %+v", 1+at, metric, d)
			}
			if d := metricOf(t, c, "fixed", metric); d.Change != report.ChangeSame {
				t.Errorf("run %d: %s of the other is %+v", 1+at, metric, d)
			}
		}
		if c.Verdict != scenarios.Fail {
			t.Errorf("run %d: verdict %s", 1+at, c.Verdict)
		}
	}
}

// What is better, what is too little to matter, what so few runs cannot tell, and what
// varied before.
func TestCompareDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	scale := func(f float64) func(string, int, *report.Row) {
		return func(_ string, _ int, row *report.Row) {
			*row.ServiceUS.All.P50 = int64(float64(*row.ServiceUS.All.P50) * f)
		}
	}
	for _, row := range []struct {
		why        string
		runs       int
		old, new   func(string, int, *report.Row)
		o          report.CompareOptions
		metric     string
		want       string
		needs, min bool
	}{
		{why: "twice as fast", runs: 10, new: scale(0.5), metric: "service p50", want: report.ChangeBetter},
		{why: "twice as slow", runs: 10, new: scale(2), metric: "service p50", want: report.ChangeWorse},
		{why: "one run", runs: 1, new: scale(2), metric: "service p50", want: report.ChangeUndecided, needs: true},
		{why: "significant, and below what matters", runs: 40, new: scale(1.2), o: report.CompareOptions{Alpha: 0.05, MinEffect: 0.5}, metric: "service p50", want: report.ChangeSame},
		{why: "fewer wrong", runs: 3, old: func(_ string, _ int, row *report.Row) { row.Wrong.Admissions = 5 }, metric: "wrong admissions", want: report.ChangeBetter},
		{why: "a promise broken in one run", runs: 3, old: promise(0), new: promise(2), metric: "promise kept", want: report.ChangeWorse},
		{why: "more memory than matters", runs: 1, new: func(_ string, _ int, row *report.Row) { *row.Redis.BytesPerIdentity = 130 }, metric: "memory of an identity", want: report.ChangeWorse},
		{why: "a little more memory", runs: 1, new: func(_ string, _ int, row *report.Row) { *row.Redis.BytesPerIdentity = 123 }, metric: "memory of an identity", want: report.ChangeSame},
		{
			why: "a count that varied before, and does still", runs: 10, metric: "admitted", want: report.ChangeSame,
			old: func(_ string, run int, row *report.Row) { row.Admitted = 200 + int64(run%3) }, new: func(_ string, run int, row *report.Row) { row.Admitted = 200 + int64(run%3) },
		},
		{why: "fewer decided", runs: 2, new: func(_ string, _ int, row *report.Row) { row.Admitted-- }, metric: "admitted", want: report.ChangeWorse},
	} {
		if row.o.Alpha == 0 {
			row.o = usual
		}
		d := metricOf(t, compared(t, measuredRuns("old", r, row.runs, row.old), measuredRuns("new", r, row.runs, row.new), row.o), "log", row.metric)
		if d.Change != row.want || (d.NeedsRuns > 0) != row.needs {
			t.Errorf("%s: %+v, want %s", row.why, d, row.want)
		}
	}
}

// promise is kept in all runs but one; 0 is in all.
func promise(broken int) func(string, int, *report.Row) {
	return func(_ string, run int, row *report.Row) {
		row.Promise = &report.Promise{MaxInWindow: 100, Kept: run != broken}
	}
}

// What one of the reports lacks is named, and what cannot be compared is refused.
func TestCompareCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	before, after := measuredRuns("old.json", r, 2, nil), measuredRuns("new.json", r, 2, func(limiter string, _ int, row *report.Row) {
		if limiter == "log" {
			row.Limiter = "gcra"
		}
	})
	c := compared(t, before, after, usual)
	if len(c.Missing) != 1 || c.Missing[0].Limiter != "log" || len(c.Added) != 1 || c.Added[0].Limiter != "gcra" || c.Verdict == scenarios.Pass {
		t.Errorf("missing %v, added %v, verdict %s", c.Missing, c.Added, c.Verdict)
	}
	text := string(renderComparison(t, "table", c, report.Options{}))
	for _, want := range []string{"compared 1 of 2 limiters of old.json", "missing: log under steady", "new: gcra under steady"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for want, spoil := range map[string]func(r *report.Report){
		"different machines (processor":               func(r *report.Report) { r.Env.CPU = "another" },
		"different machines (number of cores 2 and 3": func(r *report.Report) { r.Env.Cores = 3 },
		"(kind of Redis managed and embedded)":        func(r *report.Report) { r.Env.Redis.Flavour = "embedded" },
		"limit 100/1m in one and 7/1m":                func(r *report.Report) { r.Scenarios[0].Limit.Max = 7 },
		"another plan in each":                        func(r *report.Report) { r.Scenarios[0].SHA256 = "x" },
		"no limiter under the same scenario": func(r *report.Report) {
			for i := range r.Rows {
				r.Rows[i].Limiter += "2"
			}
		},
	} {
		one, other := measuredRuns("old.json", r, 2, nil), measuredRuns("new.json", r, 2, nil)
		one.Env.CPU, other.Env.CPU = "one", "one"
		spoil(other.Report)
		if _, err := report.Compare(one, other, usual); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
		o := usual
		o.AcrossMachines = true
		if c, err := report.Compare(one, other, o); strings.Contains(want, "Redis") || strings.Contains(want, "machines") {
			if err != nil || len(c.Notes) == 0 || !strings.Contains(c.Notes[0], "times say little") {
				t.Errorf("across machines: %v", err)
			}
		}
	}
}

// A result that is compared with itself says so, and JUnit has what got worse or lost.
func TestCompareSaysWhatItIs(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	one := measuredRuns("one.json", r, 2, nil)
	one.Started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := compared(t, one, one, usual)
	if !slices.Contains(c.Notes, "they are the same result, so that nothing can differ") {
		t.Errorf("notes %q", c.Notes)
	}
	after := measuredRuns("two.json", r, 2, func(limiter string, _ int, row *report.Row) {
		if row.Admitted--; limiter == "log" {
			row.Limiter = "gcra"
		}
	})
	strict := usual
	strict.FailOn = report.FailInconclusive
	c = compared(t, one, after, strict)
	junit := renderComparison(t, "junit", c, report.Options{})
	if err := validJUnit(junit); err != nil {
		t.Error(err)
	}
	var file junitFile
	if err := xml.Unmarshal(junit, &file); err != nil || file.Failures != 1 || file.Tests != len(c.Rows)+1 {
		t.Errorf("%v: %d failures of %d tests, want 1 of %d:\n%s", err, file.Failures, file.Tests, len(c.Rows)+1, junit)
	}
	undecided := 0
	for _, d := range c.Rows {
		if d.Change == report.ChangeUndecided {
			undecided++
		}
	}
	if file.Errors != 1+undecided || !bytes.Contains(junit, []byte("log is in one.json and not in two.json")) {
		t.Errorf("%d errors, want %d for what is undecided and one for what is lost:\n%s", file.Errors, undecided, junit)
	}
}

// An interrupt is no regression: a run that was cut short says nothing of its limiter.
func TestInterruptedRunsAreNotCompared(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	before := measuredRuns("old.json", r, 3, nil)
	after := measuredRuns("new.json", r, 3, func(limiter string, run int, row *report.Row) {
		if run == 3 || limiter == "log" {
			row.Admitted, row.Denied, row.Missed = row.Admitted/2, 0, row.Planned-row.Admitted/2
		}
	})
	after.Interrupted = true
	c := compared(t, before, after, usual)
	for _, d := range c.Rows {
		if d.Change == report.ChangeWorse || d.Limiter == "log" || d.NewRuns != 2 {
			t.Errorf("%+v", d)
		}
	}
	if len(c.Missing) != 1 || c.Missing[0].Limiter != "log" || c.Verdict != scenarios.Inconclusive {
		t.Errorf("missing %v, verdict %s", c.Missing, c.Verdict)
	}
}

func renderComparison(t *testing.T, format string, c *report.Comparison, o report.Options) []byte {
	t.Helper()
	write, err := report.ComparisonFormats.Named(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b, c, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestComparisonGolden(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	c := compared(t, measuredRuns("old.json", r, 8, nil), measuredRuns("new.json", r, 8, func(limiter string, run int, row *report.Row) {
		if limiter == "log" {
			*row.ServiceUS.All.P50 *= 2
			row.Admitted += int64(run / 8)
		}
	}), usual)
	for _, width := range []int{60, 80, 140} {
		text := renderComparison(t, "table", c, report.Options{Width: width})
		for line := range strings.Lines(string(text)) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Errorf("a line of %d at %d: %s", n, width, line)
			}
		}
		if width > 60 {
			golden(t, "comparison."+map[int]string{80: "80", 140: "140"}[width]+".txt", text)
		}
	}
	golden(t, "comparison.md", renderComparison(t, "markdown", c, report.Options{}))
	golden(t, "comparison.json", renderComparison(t, "json", c, report.Options{}))
}

func TestComparisonSchema(t *testing.T) {
	schema := validator(t, "comparison_schema.json", report.ComparisonJSONSchema, &report.Comparison{}, "rlbench comparison",
		"What changed from one report of rlbench to another. What does not apply is absent.")
	r := rand.New(rand.NewPCG(11, 11))
	text := string(renderComparison(t, "json", compared(t, measuredRuns("a", r, 3, nil), measuredRuns("b", r, 3, nil), usual), report.Options{}))
	for from, valid := range map[string]bool{"": true, `"change": "same"`: false, `"schema": "rlbench.comparison/v1"`: false} {
		instance, err := validate.UnmarshalJSON(strings.NewReader(strings.Replace(text, from, strings.Replace(from, `: "`, `: "x`, 1), 1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != valid {
			t.Errorf("spoilt %q: %v", from, err)
		}
	}
}
