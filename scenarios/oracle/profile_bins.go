package oracle

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

const (
	binsOfRun  = 120 // at the most, but for one at the end
	binsAtEdge = 50  // on each side
	edgesShown = 6
)

// stretchOver covers an interval with bins that have a window's edges between them.
func stretchOver(begin, end, window time.Duration) scenarios.Stretch {
	width := binWidth(end-begin, window)
	from := floor(begin, width)
	return scenarios.Stretch{From: from, Width: width, Bins: make([]scenarios.Bin, (end-from)/width+1)}
}

// binWidth is the narrowest part of a window, or multiple of it, of which few enough
// cover a length.
func binWidth(length, window time.Duration) time.Duration {
	least := max((length+binsOfRun-1)/binsOfRun, time.Microsecond)
	if least > window {
		for scale := time.Duration(1); ; scale *= 10 {
			for _, n := range []time.Duration{1, 2, 5} {
				if w := n * scale * window; w >= least {
					return w
				}
			}
		}
	}
	width := window
	for scale := time.Duration(1); scale <= window/least; scale *= 10 {
		for _, n := range []time.Duration{1, 2, 3, 4, 5, 6, 8} {
			if w := window / (n * scale); w >= least && window%(n*scale) == 0 && w%time.Microsecond == 0 {
				width = w
			}
		}
	}
	return width
}

// aroundEdges are stretches of a thirtieth of a window before and after the edges near
// which most was decided, if the bins of the whole are too wide for them.
func aroundEdges(c *Case, whole scenarios.Stretch) []scenarios.Stretch {
	window := c.Plan.Limit.Window
	width := max(window/shortShare/binsAtEdge, time.Microsecond).Truncate(time.Microsecond)
	if whole.Width <= width {
		return nil
	}
	reach := binsAtEdge * width
	decided := map[int64]int{}
	for i, r := range c.Results.All() {
		at, ok := happened(c, c.Plan.Arrivals[i], r)
		edge := int64(floor(at+reach, window) / window)
		if ok && at < time.Duration(edge)*window+reach {
			decided[edge]++
		}
	}
	edges := slices.SortedFunc(maps.Keys(decided), func(a, b int64) int { return cmp.Or(decided[b]-decided[a], cmp.Compare(a, b)) })
	edges = edges[:min(len(edges), edgesShown)]
	slices.Sort(edges)
	all := make([]scenarios.Stretch, len(edges))
	for i, edge := range edges {
		all[i] = scenarios.Stretch{From: time.Duration(edge)*window - reach, Width: width, Bins: make([]scenarios.Bin, 2*binsAtEdge)}
	}
	return all
}

// binAt is the bin of an instant; nil if the stretch has none.
func binAt(s *scenarios.Stretch, at time.Duration) *scenarios.Bin {
	if at < s.From {
		return nil
	}
	if i := int((at - s.From) / s.Width); i < len(s.Bins) {
		return &s.Bins[i]
	}
	return nil
}

// floor is the last multiple of a width that is not after an instant.
func floor(at, width time.Duration) time.Duration {
	over := at % width
	if over < 0 {
		over += width
	}
	return at - over
}
