package oracle

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// Profile is how a case went over time. It is for pictures: no verdict depends on it.
func Profile(c *Case) *scenarios.Profile {
	if c.Results == nil {
		return &scenarios.Profile{Envelope: envelope(nil, c.Plan.Limit.Window)}
	}
	clients := admittedTo(c)
	p := &scenarios.Profile{Envelope: envelope(clients, c.Plan.Limit.Window)}
	begin, end, any := extent(c)
	if !any {
		return p
	}
	whole := stretchOver(begin, end, c.Plan.Limit.Window)
	p.Timeline = append([]scenarios.Stretch{whole}, aroundEdges(c, whole, begin, end)...)
	fill(c, p.Timeline)
	for i := range p.Timeline {
		for _, admitted := range clients {
			trailing(&p.Timeline[i], admitted, c.Plan.Limit.Window)
		}
	}
	return p
}

// admittedTo is what was admitted to each client, in order of time.
func admittedTo(c *Case) [][]decided {
	clients := make([][]decided, c.Plan.Keys)
	for i, r := range c.Results.All() {
		if r.Outcome == scenarios.Admitted {
			a := c.Plan.Arrivals[i]
			clients[a.Key] = append(clients[a.Key], decided{at: sinceEdge(c, a, r).Microseconds(), cost: a.Cost})
		}
	}
	for _, admitted := range clients {
		slices.SortStableFunc(admitted, func(a, b decided) int { return cmp.Compare(a.at, b.at) })
	}
	return slices.DeleteFunc(clients, func(admitted []decided) bool { return len(admitted) == 0 })
}

func sinceEdge(c *Case, a scenarios.Arrival, r scenarios.Result) time.Duration {
	return trueTime(c, a, r).Sub(c.Edge)
}

// envelope finds the most admitted in intervals from a millisecond to two windows.
func envelope(clients [][]decided, window time.Duration) []scenarios.Burst {
	var all []scenarios.Burst
	for _, span := range spans(window) {
		b := scenarios.Burst{Span: span}
		for _, admitted := range clients {
			b.Admitted = max(b.Admitted, peak(admitted, span))
		}
		all = append(all, b)
	}
	return all
}

// spans are ten a decade, evenly on a logarithmic scale and rounded to two digits, with
// those that other figures are about: a thirtieth of a window, one and two of them.
func spans(window time.Duration) []time.Duration {
	const perDecade = 10
	first := max(min(time.Millisecond, window/10), time.Microsecond)
	all := []time.Duration{max(window/shortShare, time.Microsecond).Truncate(time.Microsecond), window, 2 * window}
	for step := 0; ; step++ {
		exact := float64(first.Microseconds()) * math.Pow(10, float64(step)/perDecade)
		digit := math.Pow(10, math.Floor(math.Log10(exact)+1e-9)-1)
		span := time.Duration(math.Round(math.Round(exact/digit)*digit)) * time.Microsecond
		if span >= 2*window {
			break
		}
		all = append(all, span)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// extent is from the first to the last thing that happened.
func extent(c *Case) (begin, end time.Duration, any bool) {
	for i, r := range c.Results.All() {
		at, ok := happened(c, c.Plan.Arrivals[i], r)
		if !ok {
			continue
		}
		if !any {
			begin, end, any = at, at, true
		}
		begin, end = min(begin, at), max(end, at)
	}
	return begin, end, any
}

// happened is where a request is on the timeline; not if it was not sent.
func happened(c *Case, a scenarios.Arrival, r scenarios.Result) (at time.Duration, ok bool) {
	switch {
	case r.Outcome == scenarios.Missed:
		return 0, false
	case r.Outcome.Decided():
		return sinceEdge(c, a, r), true
	}
	return a.At, true
}

// fill counts what was decided in each bin.
func fill(c *Case, timeline []scenarios.Stretch) {
	for i, r := range c.Results.All() {
		a := c.Plan.Arrivals[i]
		at, ok := happened(c, a, r)
		if !ok {
			continue
		}
		for s := range timeline {
			if b := binAt(&timeline[s], a.At); b != nil && c.Plan.Clock != scenarios.Virtual {
				b.Lag = max(b.Lag, r.Sent-r.Planned)
			}
			b := binAt(&timeline[s], at)
			if b == nil {
				continue
			}
			switch r.Outcome {
			case scenarios.Admitted:
				b.Admitted++
			case scenarios.Denied:
				b.Denied++
			default:
				b.Failed++
			}
		}
	}
}

// trailing raises the peaks of bins to what a client has in its trailing window: at the
// start of a bin, and at each of its admissions.
func trailing(s *scenarios.Stretch, admitted []decided, window time.Duration) {
	w, width := window.Microseconds(), s.Width.Microseconds()
	start := s.From.Microseconds()
	next, oldest, units := 0, 0, int64(0)
	leave := func(t int64) {
		for oldest < next && admitted[oldest].at <= t-w {
			units -= admitted[oldest].cost
			oldest++
		}
	}
	for i := range s.Bins {
		from := start + int64(i)*width
		for ; next < len(admitted) && admitted[next].at < from; next++ { // before the stretch
			units += admitted[next].cost
		}
		leave(from)
		most := units
		for ; next < len(admitted) && admitted[next].at < from+width; next++ {
			units += admitted[next].cost
			leave(admitted[next].at)
			most = max(most, units)
		}
		s.Bins[i].Peak = max(s.Bins[i].Peak, most)
	}
}
