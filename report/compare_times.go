package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rlbench/rlbench/report/stats"
)

// test decides about samples, all of them together.
//
// What two invocations differ by is more than what the runs within them tell of: another
// neighbour, another clock rate, another layout in memory. No number of runs of one
// invocation shows that, and so no test of them can be asked whether anything shifted at
// all, but only whether more did than invocations differ by: the margin is part of the
// hypothesis, and nothing that is just above it passes for certain. Counts have no margin:
// what is the same for everybody decides otherwise, or it does not.
func (c *Comparison) test(o CompareOptions) error {
	var sampled []*Compared
	var all []stats.Shift
	var shifted, beyond []float64
	for i := range c.Rows {
		d := &c.Rows[i]
		if d.Exact || d.Change == ChangeGone {
			continue
		}
		s, err := stats.Between(d.samples[0], d.samples[1], 1-c.Alpha)
		if err != nil {
			return fmt.Errorf("compare %s of %s: %w", d.Metric, d.Limiter, err)
		}
		d.Shift, d.Low, d.High = &s.By, finite(s.Low), finite(s.High)
		margin := o.margin(d)
		d.MinEffect = &margin
		p, err := stats.Beyond(d.samples[0], d.samples[1], d.least())
		if err != nil {
			return fmt.Errorf("compare %s of %s: %w", d.Metric, d.Limiter, err)
		}
		sampled, all, shifted, beyond = append(sampled, d), append(all, s), append(shifted, s.P), append(beyond, p)
	}
	certain := stats.Holm(beyond)
	for i, adjusted := range stats.Holm(shifted) {
		d := sampled[i]
		if d.P = &adjusted; d.least() > 0 {
			d.decide(c.Alpha, certain[i], len(sampled))
			continue
		}
		d.P = &certain[i] // what decides is what is shown
		d.decideByRank(c.Alpha, all[i], len(sampled))
	}
	return nil
}

// margin is what a metric has to shift by at least, as a share: for times what invocations
// differ by, and for counts nothing.
func (o *CompareOptions) margin(d *Compared) float64 {
	switch {
	case d.kind == exactCount:
		return 0
	case d.kind != sampledTime:
		return o.MinEffect
	case o.Noise == nil:
		return cmp.Or(o.TimeEffect, o.MinEffect)
	}
	return max(o.MinEffect, o.Noise.floor(d.Subject, d.Metric))
}

// floor is that of a metric, or the highest of all where that was not measured.
func (c *Calibration) floor(s Subject, metric string) float64 {
	if i := slices.IndexFunc(c.Rows, func(n Noise) bool { return n.Subject == s && n.Metric == metric }); i >= 0 {
		return c.Rows[i].Floor
	}
	return c.MinEffect
}

// least is the margin in the unit of the metric.
func (d *Compared) least() float64 { return *d.MinEffect * math.Abs(d.Old) }

// decide says what a shift means: certain is the p-value that it is within the margin.
func (d *Compared) decide(alpha, certain float64, tests int) {
	by, runs := math.Abs(*d.Shift), min(d.OldRuns, d.NewRuns)
	switch needs := stats.RunsFor(d.samples[0], d.samples[1], d.least(), alpha, tests); {
	case certain <= alpha:
		d.Change = direction(d.Better, *d.Shift)
	case by > d.least() && *d.P <= alpha: // a shift for certain, perhaps by no more than the margin
		over := max(by-d.least(), d.least()/2)
		d.Change, d.NeedsRuns = ChangeUndecided, max(stats.RunsFor(d.samples[0], d.samples[1], over, alpha, tests), runs+1)
	case *d.P > alpha && needs > runs:
		d.Change, d.NeedsRuns = ChangeUndecided, needs
	}
}

// decideByRank says whether what has no margin shifted at all. What one test by itself would
// call a shift, and so many tests together do not, is undecided.
func (d *Compared) decideByRank(alpha float64, s stats.Shift, tests int) {
	runs, least := min(d.OldRuns, d.NewRuns), stats.LeastRuns(alpha, tests)
	switch {
	case *d.P <= alpha:
		d.Change = direction(d.Better, s.Dominance)
	case runs < least:
		d.Change, d.NeedsRuns = ChangeUndecided, least
	case s.P <= alpha:
		d.Change, d.NeedsRuns = ChangeUndecided, max(stats.RunsForDominance(s.Dominance, alpha, tests), runs+(runs+1)/2)
	}
}

// effects says what shifts have to exceed.
func (c *Comparison) effects() string {
	text := "effects from " + plainShare(c.MinEffect)
	least, most := math.Inf(1), 0.0
	for _, d := range c.Rows {
		if d.MinEffect != nil && d.kind == sampledTime {
			least, most = min(least, *d.MinEffect), max(most, *d.MinEffect)
		}
	}
	switch {
	case most == 0 || least == most && most == c.MinEffect:
		return text
	case least == most:
		return text + ", of times from " + plainShare(most)
	}
	return text + ", of times from " + plainShare(least) + " to " + plainShare(most)
}
