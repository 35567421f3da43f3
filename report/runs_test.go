package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// An interrupt between two runs leaves nothing half done, and yet not what was asked
// for: every format says what is missing.
func TestInterruptedBetweenRuns(t *testing.T) {
	in := input(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Fixed, limiter.Log}, runs: 3, planned: 20})
	in.Cases = in.Cases[:len(in.Cases)-1]
	r, err := report.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Scenarios[0]; r.Verdict != scenarios.Inconclusive || s.Verdict != scenarios.Inconclusive {
		t.Errorf("verdict %s, of the scenario %s", r.Verdict, s.Verdict)
	}
	if sum, one := whole(t, r, "log", 0), whole(t, r, "log", 1); sum.Verdict != scenarios.Inconclusive || one.Verdict != scenarios.Pass {
		t.Errorf("the sum is %s, a run %s", sum.Verdict, one.Verdict)
	}
	const message = "35 of 40 runs were not made: fixed under boundary-burst 3 of 20, log under boundary-burst 2 of 20"
	if len(r.Reasons) != 1 || r.Reasons[0].Message != message || r.Reasons[0].Hint == "" {
		t.Errorf("reasons %+v", r.Reasons)
	}
	for format, wants := range map[string][]string{
		"table":    {"2 to 3 of 20 runs added up", message, "[evidence] log: 2 of 20 runs were made", "let all 20 runs finish."},
		"markdown": {message},
		"html":     {message, "in 2 runs<", "in 3 runs<"},
		"junit":    {`errors="3"`, `<error type="inconclusive" message="log: 2 of 20 runs were made">`, `<error type="runs-missing" message="35 of 40`},
		"github":   {"::warning title=rlbench boundary-burst%2C log::[evidence] log: 2 of 20 runs were made", "::warning title=rlbench runs-missing::35 of 40"},
	} {
		text := string(render(t, format, r, report.Options{Width: 140}))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", format, want, text[:min(len(text), 3000)])
			}
		}
	}
}

// A merged result keeps what was found about all runs of a part of it, and a killed one
// that is read says once what is missing.
func TestMissingRunsAreKept(t *testing.T) {
	r := fixtureNamed(t, "cut-short")
	other := clone(t, fixtureNamed(t, "runs"))
	other.Started = other.Started.Add(1) // another result
	merged, err := report.Merge([]report.Saved{{Name: "a", Report: other}, {Name: "b", Report: clone(t, r)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]*report.Report{"merged": merged, "killed": killed(t, r)} {
		if sum := whole(t, got, "fixed", 0); sum.Verdict != scenarios.Inconclusive {
			t.Errorf("%s: the sum of fixed is %s", name, sum.Verdict)
		}
		about := slices.DeleteFunc(slices.Clone(got.Findings), func(f report.Finding) bool { return f.Run != 0 })
		if len(about) != 3 || about[0].Message != "fixed: 2 of 20 runs were made" {
			t.Errorf("%s: found %+v", name, about)
		}
	}
}

// killed is what is read of a result whose end was not written.
func killed(t *testing.T, r *report.Report) *report.Report {
	t.Helper()
	lines := string(render(t, "jsonl", r, report.Options{}))
	got, err := report.Decode([]byte(lines[:strings.LastIndex(lines, `{"type":"end"`)]))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Of a run that was killed, those are named that had no turn yet, under any scenario.
func TestKilledBeforeTheirTurn(t *testing.T) {
	in := input(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Fixed, limiter.Log}, runs: 1, planned: 20})
	for _, name := range []string{"fixed", "log", "counter"} {
		in.Planned = append(in.Planned, report.Planned{Subject: report.Subject{Scenario: "boundary-burst", Limiter: name}, Runs: 20})
	}
	in.Planned = append(in.Planned, report.Planned{Subject: report.Subject{Scenario: "steady", Limiter: "log"}, Runs: 1})
	r := beginning(t, in)
	const message = "59 of 61 runs were not made: fixed under boundary-burst 1 of 20, log under boundary-burst 1 of 20, counter under boundary-burst 0 of 20, log under steady 0 of 1"
	if n := len(r.Reasons); n != 2 || r.Reasons[n-1].Message != message {
		t.Errorf("reasons %+v", r.Reasons)
	}
	for _, f := range report.Formats {
		if text := string(render(t, f.Name, r, report.Options{Width: 140})); f.Name == "table" && !strings.Contains(text, "[evidence] counter: 0 of 20 runs were made") {
			t.Errorf("%s is\n%s", f.Name, text)
		}
	}
	in.Planned = nil // of a version that does not tell
	if r := beginning(t, in); !strings.HasPrefix(r.Reasons[1].Message, "38 of 40 runs were not made: ") {
		t.Errorf("reasons %+v", r.Reasons)
	}
}

// beginning is what is read of a result whose end was not written.
func beginning(t *testing.T, in report.Input) *report.Report {
	t.Helper()
	var b bytes.Buffer
	s, err := report.NewStream(&b, in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range in.Cases {
		if err := s.Add(&in.Cases[i]); err != nil {
			t.Fatal(err)
		}
	}
	r, err := report.Decode(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A run that was too late for everything was made, and says itself why it tells nothing; one
// that an interrupt kept from sending anything was not.
func TestMissedIsMade(t *testing.T) {
	e := experiment{
		builtin: "boundary-burst", clock: scenarios.Server, limiters: []limiter.Algorithm{limiter.Log}, runs: 3,
		spoil: func(rs []scenarios.Result) { clear(rs) },
	}
	r := build(t, e)
	if slices.ContainsFunc(r.Reasons, func(reason scenarios.Reason) bool { return reason.Code == "runs-missing" }) || r.Verdict != scenarios.Inconclusive {
		t.Errorf("verdict %s, reasons %+v", r.Verdict, r.Reasons)
	}
	e.partial = true
	if r = build(t, e); !slices.ContainsFunc(r.Reasons, func(reason scenarios.Reason) bool {
		return reason.Message == "3 of 3 runs were not made: log under boundary-burst 0 of 3"
	}) {
		t.Errorf("interrupted: reasons %+v", r.Reasons)
	}
}

// A limiter that was sent nothing has no figures: none admitted would be a good one.
func TestNothingSentIsNoFigure(t *testing.T) {
	r := fixtureNamed(t, "cut-short")
	if text := string(render(t, "benchmark-action", r, report.Options{})); strings.Contains(text, "/ counter /") || !strings.Contains(text, "/ log / wrong admissions") || strings.Contains(text, `"0 to `) {
		t.Errorf("charts are\n%s", text)
	}
	text := string(render(t, "prometheus", r, report.Options{}))
	for _, figure := range []string{"admitted", "wrong_admissions", "attempts", "peak_in_window"} {
		if strings.Contains(text, "rlbench_"+figure+`{scenario="boundary-burst",limiter="counter"`) || !strings.Contains(text, "rlbench_"+figure+`{scenario="boundary-burst",limiter="log"`) {
			t.Errorf("%s is told of who was sent nothing, or of nobody", figure)
		}
	}
	if !strings.Contains(text, `rlbench_missed{scenario="boundary-burst",limiter="counter",phase="",run="1",control="false"} 200`) {
		t.Error("what was not sent is not told")
	}
	for line := range strings.Lines(string(render(t, "csv", r, report.Options{}))) {
		if strings.HasPrefix(line, "boundary-burst,counter,") && !strings.Contains(line, ",inconclusive,200,200,,,,,200,") && !strings.Contains(line, ",100,100,,,,,100,") && !strings.Contains(line, ",400,400,,,,,400,") {
			t.Errorf("line %s", line)
		}
	}
}

// What was never sent was not late by nothing, and who was killed does not tell how long it took.
func TestNoTimeIsNotZero(t *testing.T) {
	in := input(t, experiment{builtin: "boundary-burst", clock: scenarios.Server, limiters: []limiter.Algorithm{limiter.Log}, partial: true, spoil: func(rs []scenarios.Result) { clear(rs) }})
	r, err := report.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	r.ElapsedUS = 0
	if r.Scenarios[0].Schedule.LagUS != nil {
		t.Errorf("late by %+v", r.Scenarios[0].Schedule.LagUS)
	}
	for _, format := range []string{"table", "markdown", "html", "github"} {
		if text := string(render(t, format, r, report.Options{})); strings.Contains(text, "0µs") {
			t.Errorf("%s has a time of nothing:\n%s", format, text[:min(len(text), 2000)])
		}
	}
}
