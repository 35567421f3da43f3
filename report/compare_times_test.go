package report_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// invocation is a report whose times are all off by one factor, as those of one invocation
// are on a machine that others use, with little noise within.
func invocation(r *rand.Rand, name string, off float64) report.Saved {
	return measuredRuns(name, r, 10, func(_ string, _ int, row *report.Row) {
		for _, us := range []*int64{row.ServiceUS.All.P50, row.ServiceUS.All.P99} {
			*us = int64(10_000 * off * (1 + 0.02*r.NormFloat64()))
		}
		*row.Redis.ScriptUSPerDecision = 10 * off * (1 + 0.02*r.NormFloat64())
	})
}

func alarms(c *report.Comparison) (n int) {
	for _, d := range c.Rows {
		if d.Change == report.ChangeWorse || d.Change == report.ChangeBetter {
			n++
		}
	}
	return n
}

// Invocations differ by more than the runs within them tell, which no test of runs knows:
// it is the margin that keeps them from being alarms, and a time that doubled is one yet.
func TestInvocationsDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 22))
	drift := func() float64 { return 0.9 + 0.2*r.Float64() } // a fifth apart at most
	few, most := usual, usual
	most.TimeEffect = 0.25
	const trials = 100
	wolf, held, found := 0, 0, 0
	for range trials {
		before, after := invocation(r, "old", drift()), invocation(r, "new", drift())
		wolf += min(1, alarms(compared(t, before, after, few)))
		held += min(1, alarms(compared(t, before, after, most)))
		if slow := compared(t, before, invocation(r, "slow", 2*drift()), most); metricOf(t, slow, "log", "service p50").Change == report.ChangeWorse {
			found++
		}
	}
	if wolf < trials/4 || held > 0 || found < trials {
		t.Errorf("of %d unchanged pairs %d are alarms at 5 %% and %d at 25 %%; %d doubled times are found", trials, wolf, held, found)
	}
}

// A shift that is there for certain, and lies about the margin, is undecided however many runs
// there are: that is said in words, and not as a number that grows whenever it is followed.
func TestShiftAboutTheMargin(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 23))
	o := usual
	o.TimeEffect = 0.25
	c := compared(t, invocation(r, "old", 1), invocation(r, "new", 1.252), o)
	d := metricOf(t, c, "log", "service p50")
	if d.Change != report.ChangeUndecided || d.NeedsRuns != 0 || *d.P > o.Alpha || *d.MinEffect != 0.25 || c.Verdict != scenarios.Inconclusive {
		t.Errorf("%+v", d)
	}
	text := string(renderComparison(t, "table", c, report.Options{Width: 200}))
	for _, want := range []string{"~ about the margin\n", "note: what shifted by about the margin is on neither side of it for certain, and no number of runs decides whether that matters: say it with --min-effect\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if d := metricOf(t, compared(t, invocation(r, "old", 1), invocation(r, "new", 1.15), o), "log", "service p50"); d.Change != report.ChangeSame {
		t.Errorf("within the margin: %+v", d)
	}
}

// A calibration says of each time what it has to exceed, and nothing of costs; one of
// another machine says nothing.
func TestCompareAboveTheNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 24))
	noise := &report.Calibration{Env: env, MinEffect: 0.4, Rows: []report.Noise{
		{Subject: report.Subject{Scenario: "steady", Limiter: "log"}, Metric: "service p50", Floor: 0.02},
		{Subject: report.Subject{Scenario: "steady", Limiter: "log"}, Metric: "service p99", Floor: 0.3},
	}}
	o := usual
	o.Noise = noise
	before, after := invocation(r, "old", 1), invocation(r, "new", 1.2)
	c := compared(t, before, after, o)
	for metric, want := range map[string]struct {
		least  float64
		change string
	}{"service p50": {0.05, report.ChangeWorse}, "service p99": {0.3, report.ChangeSame}, "script time": {0.4, report.ChangeSame}} {
		if d := metricOf(t, c, "log", metric); *d.MinEffect != want.least || d.Change != want.change {
			t.Errorf("%s has to change by %g and is %s, want %+v", metric, *d.MinEffect, d.Change, want)
		}
	}
	if text := string(renderComparison(t, "table", c, report.Options{Width: 200})); !strings.Contains(text, "effects from 5.0%, of times from 5.0% to 40.0%") {
		t.Errorf("printed\n%s", text)
	}
	again, err := report.DecodeComparison(renderComparison(t, "json", c, report.Options{}))
	if err != nil || !bytes.Equal(renderComparison(t, "table", again, report.Options{}), renderComparison(t, "table", c, report.Options{})) {
		t.Errorf("%v: what was saved is told otherwise:\n%s", err, renderComparison(t, "table", again, report.Options{}))
	}
	other := *noise
	other.Env.Cores++
	o.Noise = &other
	if _, err := report.Compare(before, after, o); err == nil || !strings.Contains(err.Error(), "the calibration does not fit: they are of different machines (number of cores") {
		t.Errorf("a calibration of another machine: %v", err)
	}
}
