package limiter

import (
	"time"

	"github.com/rlbench/rlbench/scripts"
)

// GCRA is a token bucket stated as the generic cell rate algorithm (ITU-T I.371):
// Limit.Max units at once, and then an even refill of Limit.Max a window. One
// instant a key.
var GCRA = Algorithm{
	Name:   "gcra",
	Doc:    "generic cell rate: a full burst, then an even refill, up to 2×limit−1 in a window",
	Script: scripts.GCRA,
	Model:  Model{Init: func() any { return gcraState{} }, Step: gcraStep},
	// limit + floor(limit × s/window) for the longest span s within a half-open
	// window, one tick less than it: 2×limit−1 while a unit takes a tick or more.
	Worst: func(l Limit) int64 {
		width := l.Window.Microseconds()
		return 2*l.Max - (l.Max+width-1)/width
	},
	// limit + floor(limit × (before+e)/window)
	AfterEdge: func(l Limit, before, e time.Duration) int64 {
		return l.Max + l.Max*(before+e).Microseconds()/l.Window.Microseconds()
	},
	Excess: "a bucket gives its whole burst at once and refills meanwhile",
	TTL:    func(l Limit) time.Duration { return l.Window + time.Second },
	Check:  Limit.productFits,
}

// gcraState is the instant from which everything is available again: micros
// since 1970, and parts of a microsecond that was cut into max of them. Parts are
// below max, and max is 0 for a key that was never used.
type gcraState struct{ micros, parts, max int64 }

// cutInto is the state in parts of another limit, rounded up so that nothing owed
// is forgotten; a limit of 0 has whole microseconds only. Both factors of the
// product are at most 2^31.
func (s gcraState) cutInto(max int64) gcraState {
	switch {
	case s.max == 0 || s.max == max:
		return s
	case max == 0:
		return gcraState{micros: s.micros + min(s.parts, 1)}
	}
	parts := (s.parts*max + s.max - 1) / s.max
	return gcraState{s.micros + parts/max, parts % max, max}
}

// owed is a length of time: micros and parts of one more.
type owed struct{ micros, parts int64 }

// plus adds so many units. They fit the limit, so the product fits.
func (o owed) plus(units int64, l Limit) owed {
	parts := o.parts + units*l.Window.Microseconds()
	return owed{o.micros + parts/l.Max, parts % l.Max}
}

// ceil is the length in whole microseconds, rounded up.
func (o owed) ceil() int64 { return o.micros + min(o.parts, 1) }

// free is how many units fit between a backlog and the window. The backlog of a
// late stamp can be longer than the window.
func (o owed) free(l Limit) int64 {
	width := l.Window.Microseconds()
	if o.ceil() > width {
		return 0
	}
	return ((width-o.micros)*l.Max - o.parts) / width
}

func gcraStep(l Limit, state any, r Request) (any, Decision) {
	now, width := r.At.UnixMicro(), l.Window.Microseconds()
	s := state.(gcraState).cutInto(l.Max)
	var backlog owed
	if s.micros >= now {
		backlog = owed{s.micros - now, s.parts}
	}

	d := Decision{Limit: l.Max, At: r.At}
	next := state // a denial writes nothing
	if cost := r.Units(); cost > l.Max {
		d.RetryAfter = Never
	} else if after := backlog.plus(cost, l); after.ceil() > width {
		d.RetryAfter = micros(after.ceil() - width)
	} else {
		d.Allowed = true
		backlog = after
		next = gcraState{now + after.micros, after.parts, l.Max}
	}
	d.Remaining = backlog.free(l)
	d.ResetAfter = micros(backlog.ceil())
	return next, d
}
