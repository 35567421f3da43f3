package oracle

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// recovery is the longest time from the end of a fault to the next decision of
// Redis, as soon as somebody asks; nil if there was none.
func recovery(c *Case) *time.Duration {
	var longest *time.Duration
	for i, f := range c.Faults {
		if !f.Made || f.Err != nil || !c.Plan.Faults[i].Of().Silences {
			continue
		}
		first, asked := time.Duration(-1), time.Duration(-1)
		for _, r := range c.Results.All() {
			if r.Outcome != scenarios.Missed && r.Sent >= f.End && (asked < 0 || r.Sent < asked) {
				asked = r.Sent
			}
			if r.Outcome.Decided() && !elsewhere(r) && r.Sent >= f.Lift && (first < 0 || r.Done < first) {
				first = r.Done
			}
		}
		if first < 0 {
			continue
		}
		took := max(first-max(f.End, asked), 0)
		if longest == nil || took > *longest {
			longest = &took
		}
	}
	return longest
}

// overcounted compares what a limiter says is used with what can have been
// counted: everything that was sent before the reply and was admitted, or whose
// fate is unknown. What it forgets makes the figure smaller, so one above 1 is
// proof. A changed limit gives a unit another worth, and so do stamps of several clocks; then
// there is no figure.
func overcounted(c *Case) (worst scenarios.Overcount) {
	if !c.Tells.Remaining || c.Plan.Skewed() || c.Plan.Clock == scenarios.Client || slices.ContainsFunc(c.Plan.Phases, func(p scenarios.PlannedPhase) bool { return p.Limit != c.Plan.Limit }) {
		return worst
	}
	type taken struct {
		sent time.Duration
		cost int64
	}
	h := operations(c)
	for _, id := range h.decided {
		ops := h.of(id)
		var others []taken
		for _, i := range h.requests[id] {
			if r := c.Results.At(int(i)); lost(r) || r.Outcome == scenarios.Admitted {
				others = append(others, taken{r.Sent, c.Plan.Arrivals[i].Cost})
			}
		}
		slices.SortFunc(ops, func(a, b operation) int { return cmp.Compare(a.done, b.done) })
		slices.SortFunc(others, func(a, b taken) int { return cmp.Compare(a.sent, b.sent) })
		units := int64(0)
		for _, op := range ops {
			for ; len(others) > 0 && others[0].sent <= op.done; others = others[1:] {
				units += others[0].cost
			}
			if used := op.limit.Max - op.decision.Remaining; units > 0 && used > 0 {
				if worst.Sent == 0 || used*worst.Sent > worst.Used*units {
					worst = scenarios.Overcount{Used: used, Sent: units}
				}
			}
		}
	}
	return worst
}
