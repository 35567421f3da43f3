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

// decide says what a shift means: certain is the p-value that it is within the margin. It is
// the same only if all of its interval is within; what may be either is undecided.
func (d *Compared) decide(alpha, certain float64, tests int) {
	low, high := d.reach()
	switch {
	case certain <= alpha:
		d.Change = direction(d.Better, *d.Shift)
	case low < -d.least() || high > d.least():
		d.Change, d.NeedsRuns = ChangeUndecided, d.needs(alpha, tests)
	}
}

// reach is the interval of the shift, turned so that the estimate is positive.
func (d *Compared) reach() (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if d.Low != nil && d.High != nil {
		low, high = *d.Low, *d.High
	}
	if *d.Shift < 0 {
		return -high, -low
	}
	return low, high
}

// needs is how many runs tell a shift of twice the margin from one of the margin, or where
// so many were made, one of half as much more. How far the estimate lies above the margin
// is no part of it: where that was luck, it would ask for too few. Few runs in which a shift
// is certain already are some that lie closer together than most, so that it asks for more
// then. It is half as many again at least, so that who follows it does not do so run by run,
// and 0 for a shift that lies about the margin for certain, of which more runs say nothing
// that matters.
func (d *Compared) needs(alpha float64, tests int) int {
	least, runs := d.least(), min(d.OldRuns, d.NewRuns)
	if low, high := d.reach(); low > least/2 && high < least*3/2 {
		return 0
	}
	apart := least
	if *d.P <= alpha {
		apart *= 0.85
	}
	needs := stats.RunsFor(d.samples[0], d.samples[1], apart, alpha, tests)
	if needs <= runs {
		needs = stats.RunsFor(d.samples[0], d.samples[1], apart/2, alpha, tests)
	}
	return atLeastHalfMore(needs, runs)
}

func atLeastHalfMore(needs, runs int) int {
	return min(max(needs, runs+(runs+1)/2), stats.MostRuns+1)
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
		d.Change, d.NeedsRuns = ChangeUndecided, atLeastHalfMore(stats.RunsForDominance(s.Dominance, alpha, tests), runs)
	}
}

// enoughRuns are enough to tell how far runs lie apart.
const enoughRuns = 10

// noteRuns says what to make of how many runs are needed.
func (c *Comparison) noteRuns() {
	var rough, blind, about bool
	for _, d := range c.Rows {
		runs := min(d.OldRuns, d.NewRuns)
		asked := d.NeedsRuns > 0
		blind = blind || asked && d.OldRuns == 1 && d.NewRuns == 1
		rough = rough || asked && runs < enoughRuns
		about = about || d.aboutMargin()
	}
	switch {
	case blind:
		c.Notes = append(c.Notes, "one run of each does not tell how far runs lie apart: what is needed are the fewest that tell anything")
	case rough:
		c.Notes = append(c.Notes, fmt.Sprintf("how many runs are needed is a rough guess, and rather too high, from fewer than %d of each", enoughRuns))
	}
	if about {
		c.Notes = append(c.Notes, "what shifted by about the margin is on neither side of it for certain, and no number of runs decides whether that matters: say it with --min-effect")
	}
}

// aboutMargin reports whether it is undecided because it lies about the margin.
func (d *Compared) aboutMargin() bool { return d.Change == ChangeUndecided && d.NeedsRuns == 0 }

// isTime goes by the name: of a comparison that was read there is no more.
func (d *Compared) isTime() bool {
	return slices.ContainsFunc(comparedTimes, func(m comparedMetric) bool { return m.name == d.Metric })
}

// effects says what shifts have to exceed.
func (c *Comparison) effects() string {
	text := "effects from " + plainShare(c.MinEffect)
	least, most := math.Inf(1), 0.0
	for _, d := range c.Rows {
		if d.MinEffect != nil && d.isTime() {
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
