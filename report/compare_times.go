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
// hypothesis, and nothing that is just above it passes for certain.
func (c *Comparison) test(o CompareOptions) error {
	var sampled []*Compared
	var shifted, beyond []float64
	for i := range c.Rows {
		d := &c.Rows[i]
		if d.Exact {
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
		sampled, shifted, beyond = append(sampled, d), append(shifted, s.P), append(beyond, p)
	}
	certain := stats.Holm(beyond)
	for i, adjusted := range stats.Holm(shifted) {
		sampled[i].P = &adjusted
		sampled[i].decide(c, certain[i], len(sampled))
	}
	return nil
}

// margin is what a metric has to shift by at least, as a share: for times what invocations
// differ by.
func (o *CompareOptions) margin(d *Compared) float64 {
	if d.kind != sampledTime {
		return o.MinEffect
	}
	if o.Noise == nil {
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
func (d *Compared) decide(c *Comparison, certain float64, tests int) {
	by, runs := math.Abs(*d.Shift), min(d.OldRuns, d.NewRuns)
	switch needs := stats.RunsFor(d.samples[0], d.samples[1], d.least(), c.Alpha, tests); {
	case certain <= c.Alpha:
		d.Change = direction(d.Better, *d.Shift)
	case by > d.least() && *d.P <= c.Alpha: // a shift for certain, perhaps by no more than the margin
		over := max(by-d.least(), d.least()/2)
		d.Change, d.NeedsRuns = ChangeUndecided, max(stats.RunsFor(d.samples[0], d.samples[1], over, c.Alpha, tests), runs+1)
	case *d.P > c.Alpha && needs > runs:
		d.Change, d.NeedsRuns = ChangeUndecided, needs
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
