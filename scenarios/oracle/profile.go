package oracle

import (
	"math"
	"slices"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// Profile is how a case went over time. It is for pictures: no verdict depends on it.
func Profile(c *Case) *scenarios.Profile {
	window := c.Plan.Limit.Window
	p := profile{&scenarios.Profile{}}
	for _, span := range spans(window) {
		p.Envelope = append(p.Envelope, scenarios.Burst{Span: span})
	}
	if c.Results == nil {
		return p.Profile
	}
	begin, end, any := extent(c)
	if !any {
		return p.Profile
	}
	whole := stretchOver(begin, end, window)
	p.Timeline = append([]scenarios.Stretch{whole}, aroundEdges(c, whole)...)
	fill(c, p.Timeline)
	var known []decided // of a client at a time: all at once would take much memory
	for _, client := range clientsOf(c) {
		known = decisions(c, client.admitted, known[:0])
		inOrder(known)
		if len(client.unknown) == 0 {
			p.raise(known, c.Edge, window, sure, atMost)
			continue
		}
		p.raise(known, c.Edge, window, sure)
		known = unknownOf(c, client.unknown, known)
		inOrder(known)
		p.raise(known, c.Edge, window, atMost)
	}
	return p.Profile
}

// profile is one to be filled.
type profile struct{ *scenarios.Profile }

// figure is one of the figures of spans and bins.
type figure struct {
	burst func(*scenarios.Burst) *int64
	bin   func(*scenarios.Bin) *int64
}

var (
	sure   = figure{func(b *scenarios.Burst) *int64 { return &b.Admitted }, func(b *scenarios.Bin) *int64 { return &b.Peak }}
	atMost = figure{func(b *scenarios.Burst) *int64 { return &b.AtMost }, func(b *scenarios.Bin) *int64 { return &b.PeakAtMost }}
)

// raise raises figures to what a client had admitted.
func (p profile) raise(admitted []decided, edge time.Time, window time.Duration, figures ...figure) {
	for i := range p.Envelope {
		most := peak(admitted, p.Envelope[i].Span)
		for _, f := range figures {
			n := f.burst(&p.Envelope[i])
			*n = max(*n, most)
		}
	}
	for i := range p.Timeline {
		trailing(&p.Timeline[i], admitted, edge, window, figures)
	}
}

// history are the places of the requests of a client.
type history struct{ admitted, unknown []int32 }

// clientsOf are the histories of all clients.
func clientsOf(c *Case) []history {
	clients := make([]history, c.Plan.Keys)
	for i, r := range c.Results.All() {
		mine := &clients[c.Plan.Arrivals[i].Key]
		switch r.Outcome {
		case scenarios.Admitted:
			mine.admitted = append(mine.admitted, int32(i))
		case scenarios.Unknown:
			mine.unknown = append(mine.unknown, int32(i))
		}
	}
	return clients
}

// unknownOf appends requests of unknown fate, as if they had been admitted when they were
// planned.
func unknownOf(c *Case, places []int32, all []decided) []decided {
	for _, i := range places {
		a := c.Plan.Arrivals[i]
		all = append(all, decided{at: c.Edge.Add(a.At).UnixMicro(), cost: a.Cost, admitted: true, phase: a.Phase})
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
		return trueTime(c, a, r).Sub(c.Edge), true
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
func trailing(s *scenarios.Stretch, admitted []decided, edge time.Time, window time.Duration, figures []figure) {
	w, width := window.Microseconds(), s.Width.Microseconds()
	start := edge.Add(s.From).UnixMicro()
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
		for _, f := range figures {
			n := f.bin(&s.Bins[i])
			*n = max(*n, most)
		}
	}
}
