package limiter

import (
	"time"

	"github.com/rlbench/rlbench/scripts"
)

// Fixed counts from one multiple of the window to the next. It is the cheapest,
// and admits twice the limit around an edge.
var Fixed = Algorithm{
	Name:      "fixed",
	Doc:       "fixed window, aligned to the clock: one number, up to 2×limit around an edge",
	Script:    scripts.Fixed,
	Model:     Model{Init: func() any { return fixedState{} }, Step: fixedStep},
	Worst:     func(l Limit) int64 { return 2 * l.Max },
	AfterEdge: func(l Limit, _, _ time.Duration) int64 { return 2 * l.Max },
	Excess:    "a fixed window starts afresh at its edge and forgets what came just before",
	TTL:       func(l Limit) time.Duration { return l.Window + time.Second },
}

// fixedState is the newest window that was written to, and what it admitted.
type fixedState struct{ window, used int64 }

func fixedStep(l Limit, state any, r Request) (any, Decision) {
	s := state.(fixedState)
	now, width := r.At.UnixMicro(), l.Window.Microseconds()
	if w := now / width; w > s.window {
		s = fixedState{window: w}
	}
	untilEnd := micros((s.window+1)*width - now)

	d := Decision{Limit: l.Max, At: r.At}
	switch cost := r.Units(); {
	case cost > l.Max:
		d.RetryAfter = Never
	case s.used > l.Max-cost:
		d.RetryAfter = untilEnd
	default:
		d.Allowed = true
		s.used += cost
	}
	d.Remaining = max(l.Max-s.used, 0)
	if s.used > 0 {
		d.ResetAfter = untilEnd
	}
	if !d.Allowed {
		return state, d // not even rolled forward: a denial writes nothing
	}
	return s, d
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
