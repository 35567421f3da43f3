package report

import (
	"fmt"
	"slices"

	"github.com/rlbench/rlbench/scenarios"
)

// What a comparison can fail for.
const (
	FailNever        = "never"
	FailRegression   = "regression"   // something got worse
	FailFail         = "fail"         // or the new report failed checks of its own
	FailInconclusive = "inconclusive" // or something is undecided, missing or inconclusive
)

// Gates are all of them, from nothing to everything: each fails for what those before it do.
var Gates = []string{FailNever, FailRegression, FailFail, FailInconclusive}

// stops reports whether the comparison fails for what a gate is about.
func (c *Comparison) stops(gate string) bool {
	return slices.Index(Gates, c.FailOn) >= slices.Index(Gates, gate)
}

// GateFor is the mildest gate that fails for a verdict: on what changed, or on the new
// report by itself.
func GateFor(v scenarios.Verdict, own bool) string {
	switch {
	case v != scenarios.Fail:
		return FailInconclusive
	case own:
		return FailFail
	}
	return FailRegression
}

// passes reports whether the gate lets a verdict pass.
func (c *Comparison) passes(v scenarios.Verdict, own bool) bool { return !c.stops(GateFor(v, own)) }

// Gated is the verdict that ends a job: passed is what the gate lets pass, too.
func (c *Comparison) Gated() scenarios.Verdict {
	changes, own := c.Verdict, c.New.Verdict
	if c.passes(changes, false) {
		changes = scenarios.Pass
	}
	if c.passes(own, true) {
		own = scenarios.Pass
	}
	return changes.Worse(own)
}

// Told is the verdict that a job ends with in words: what changed, gated or not, and
// whatever else ends it.
func (c *Comparison) Told() scenarios.Verdict { return c.Verdict.Worse(c.Gated()) }

// Overall is what there is to say of the new report, gated or not: what changed, and what
// it says of itself.
func (c *Comparison) Overall() scenarios.Verdict { return c.Verdict.Worse(c.New.Verdict) }

// Brief is a line about what got worse, or why nothing is known, for a log.
func (c *Comparison) Brief() string {
	var worst []string
	if own := c.ownVerdict(); own != "" && !c.passes(c.New.Verdict, true) {
		worst = append(worst, own)
	}
	for _, d := range c.Rows {
		if verdictOf(d.Change) == c.Verdict && c.Verdict != scenarios.Pass {
			cells := d.cells()
			worst = append(worst, fmt.Sprintf("%s of %s under %s was %s and is %s (%s)", d.Metric, cells[0], d.Scenario, cells[2], cells[3], cells[4]))
		}
	}
	for _, s := range c.Missing {
		if c.Verdict == scenarios.Inconclusive {
			worst = append(worst, s.Limiter+" under "+s.Scenario+" is missing")
		}
	}
	text := fmt.Sprintf("%s against %s: %s, %s", c.New.Name, c.Old.Name, c.Told(), c.summary())
	if len(worst) > 0 {
		text += ": " + firstOf(worst)
	}
	return printable(text)
}

// ownVerdict says what the new report says of itself; empty if it passes.
func (c *Comparison) ownVerdict() string {
	switch c.New.Verdict {
	case scenarios.Fail:
		return c.New.Name + " failed checks of its own, whatever changed"
	case scenarios.Inconclusive:
		return c.New.Name + " is inconclusive by itself, whatever changed"
	}
	return ""
}
