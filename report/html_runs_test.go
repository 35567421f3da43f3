package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// A page of many runs is one of pictures and tables. What its runs have in common is said
// once; where they have little, single runs give way before pictures do.
func TestPagesOfManyRuns(t *testing.T) {
	t.Parallel()
	const runs = 60
	r := build(t, experiment{builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Fixed, limiter.Log}, runs: runs})
	page := string(render(t, "html", r, report.Options{}))
	for want, times := range map[string]int{
		fmt.Sprintf("<td>1–%d</td>", runs): len(r.Findings) / runs, "<caption>By run</caption>": 1, `<h4 id="s1-decisions0-title">`: 1, "<b>left out</b>": 0,
	} {
		if n := strings.Count(page, want); n != times {
			t.Errorf("%d runs: %d of %s, want %d", runs, n, want, times)
		}
	}
	for i := range r.Findings {
		r.Findings[i].Message += fmt.Sprint(" of run ", r.Findings[i].Run, strings.Repeat(" at length", 100))
	}
	page = string(render(t, "html", r, report.Options{}))
	for want, times := range map[string]int{
		"had no room for single runs of 1 scenario.": 1, "<caption>By run</caption>": 0, `<h4 id="s1-decisions0-title">`: 1, " at length": 0,
	} {
		if n := strings.Count(page, want); n != times {
			t.Errorf("%d runs with much to say: %d of %s, want %d", runs, n, want, times)
		}
	}
}

// Phases that no check is about have no verdict, and none that looks like a doubt.
func TestPhasesWithoutVerdict(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(pages(t)["boundary-burst"], "<caption>By phase</caption>")
	table, _, _ = strings.Cut(table, "</table>")
	if !strings.Contains(table, `<td class="left one">before-edge</td><td class="left one">-</td>`) || strings.Contains(table, "?") {
		t.Errorf("phases: %s", table)
	}
}

// What nobody knows of one run says nothing about the peak of another.
func TestUnknownPeaks(t *testing.T) {
	t.Parallel()
	r := build(t, experiment{
		builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Log}, runs: 3,
		spoil: func(results []scenarios.Result) {
			for i := range 10 {
				results[i] = scenarios.Result{Outcome: scenarios.Unknown, Err: limiter.ErrUnknown}
			}
		},
	})
	for run := range 4 {
		row := whole(t, r, "log", run)
		if row.PeakInWindow != 90 || row.PeakAtMost != 100 {
			t.Errorf("run %d: peak %d to %d, want 90 to 100", run, row.PeakInWindow, row.PeakAtMost)
		}
		e := row.Envelope
		if n := len(e.SpanUS) - 1; e.Admitted[n] != 90 || e.AtMost == nil || e.AtMost[n] != 100 {
			t.Errorf("run %d: envelope ends at %d, and at most at %v", run, e.Admitted[n], e.AtMost)
		}
	}
	page := string(render(t, "html", r, report.Options{}))
	for want, times := range map[string]int{`class="line s0 bound" d=`: 2, ">log, peak 90 to 100</text>": 2, "<th scope=\"col\">log, at most</th>": 2} {
		if n := strings.Count(page, want); n != times {
			t.Errorf("%d of %s, want %d", n, want, times)
		}
	}
}

// A defect is told once, with how many runs have it, and leaves room for others: GitHub shows
// ten annotations of a step.
func TestDefectsAreToldOnce(t *testing.T) {
	t.Parallel()
	r := build(t, experiment{
		builtin: "boundary-burst", limiters: []limiter.Algorithm{limiter.Fixed, limiter.Log}, runs: 12, checks: []string{"admitted == 1", "denied == 1"},
	})
	for format, times := range map[string]int{"table": 4, "markdown": 4, "github": 4} {
		text := strings.Join(strings.Fields(string(render(t, format, r, report.Options{Width: 200}))), " ")
		if n := strings.Count(text, "(run 1; so in 12 of 12 runs)"); n != times {
			t.Errorf("%s: told %d times, want %d:\n%s", format, n, times, text)
		}
	}
}
