package limiter

import (
	"time"

	"github.com/rlbench/rlbench/scripts"
)

// Counter estimates the trailing window from two fixed windows: all of the
// current one, and of the previous one the share that still overlaps. Two
// numbers a key; the estimate can be off by the whole limit either way.
var Counter = Algorithm{
	Name:   "counter",
	Doc:    "sliding window counter: two weighted windows, up to 2×limit over nearly a window",
	Script: scripts.Counter,
	Model:  Model{Init: func() any { return counterState{} }, Step: roundedDown.step},
	Worst:  func(l Limit) int64 { return 2 * l.Max },
	// limit + ceil(limit × e/window)
	AfterEdge: func(l Limit, _, e time.Duration) int64 {
		width := l.Window.Microseconds()
		return l.Max + (l.Max*e.Microseconds()+width-1)/width
	},
	Excess: "a counter spreads the window before evenly, so a burst late in it fades while it is still recent",
	TTL:    func(l Limit) time.Duration { return 2*l.Window + time.Second },
	Check:  Limit.productFits,
}

// counterState is the newest window that was written to, what it admitted and
// what the one before it did.
type counterState struct{ window, current, previous int64 }

// at rolls the state forward to the window of an instant.
func (s counterState) at(window int64) counterState {
	switch {
	case window <= s.window:
		return s
	case window == s.window+1:
		return counterState{window: window, previous: s.current}
	default:
		return counterState{window: window}
	}
}

// rounding is what a counter makes of fractions of the previous window.
type rounding struct {
	// share is of count, as much as left is of width.
	share func(count, left, width int64) int64
	// fades is the first instant of a window at which a share of count is at most
	// room, which is less than count.
	fades func(room, count, width int64) int64
}

// roundedDown: floor(count*(width-e)/width) <= room is count*(width-e) < (room+1)*width,
// so e > width - (room+1)*width/count.
var roundedDown = rounding{
	share: func(count, left, width int64) int64 { return count * left / width },
	fades: func(room, count, width int64) int64 {
		needed := (room + 1) * width
		return width - (needed+count-1)/count + 1
	},
}

// fadesTo is that instant for any room.
func (r rounding) fadesTo(room, count, width int64) int64 {
	if count <= room {
		return 0
	}
	return r.fades(room, count, width)
}

func (round rounding) step(l Limit, state any, r Request) (any, Decision) {
	now, width := r.At.UnixMicro(), l.Window.Microseconds()
	s := state.(counterState).at(now / width)
	start := s.window * width
	left := min(width, start+width-now) // of the window; a late clock stands at its start

	d := Decision{Limit: l.Max, At: r.At}
	weighted := round.share(s.previous, left, width)
	switch cost := r.Units(); {
	case cost > l.Max:
		d.RetryAfter = Never
	case s.current+cost+weighted > l.Max:
		d.RetryAfter = micros(round.retry(l.Max-cost, s, width) - now)
	default:
		d.Allowed = true
		s.current += cost
	}
	d.Remaining = max(l.Max-s.current-weighted, 0)
	switch {
	case s.current > 0:
		d.ResetAfter = micros(start + width + round.fadesTo(0, s.current, width) - now)
	case weighted > 0:
		d.ResetAfter = micros(start + round.fadesTo(0, s.previous, width) - now)
	}
	if !d.Allowed {
		return state, d // not even rolled forward: a denial writes nothing
	}
	return s, d
}

// retry is the first instant at which at most room is in use: still in this
// window if the current count alone leaves room, else in the next.
func (round rounding) retry(room int64, s counterState, width int64) int64 {
	if s.current <= room {
		return s.window*width + round.fadesTo(room-s.current, s.previous, width)
	}
	return (s.window+1)*width + round.fadesTo(room, s.current, width)
}
