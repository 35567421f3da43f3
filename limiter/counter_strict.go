package limiter

import (
	"time"

	"github.com/rlbench/rlbench/scripts"
)

// CounterStrict is Counter with the share of the previous window rounded up: the
// weighted estimate never exceeds Limit.Max, not by a fraction of a unit. It does
// not admit one at the first tick after a full window.
var CounterStrict = Algorithm{
	Name:   "counter-strict",
	Doc:    "sliding window counter that rounds against the client, up to 2×limit−1 over nearly a window",
	Script: scripts.CounterStrict,
	Model:  Model{Init: func() any { return counterState{} }, Step: roundedUp.step},
	// limit + floor(limit × e/window) for the longest e within a half-open window
	// that still has the burst of one tick before the edge in it: two ticks less
	// than a window.
	Worst: func(l Limit) int64 {
		width := l.Window.Microseconds()
		return max(l.Max, 2*l.Max-(2*l.Max+width-1)/width)
	},
	// limit + floor(limit × e/window)
	AfterEdge: func(l Limit, _, e time.Duration) int64 {
		return l.Max + l.Max*e.Microseconds()/l.Window.Microseconds()
	},
	Excess: Counter.Excess,
	TTL:    Counter.TTL,
	Check:  Limit.productFits,
}

// roundedUp: ceil(count*(width-e)/width) <= room is count*(width-e) <= room*width,
// so e >= width*(count-room)/count.
var roundedUp = rounding{
	share: func(count, left, width int64) int64 { return (count*left + width - 1) / width },
	fades: func(room, count, width int64) int64 { return (width*(count-room) + count - 1) / count },
}
