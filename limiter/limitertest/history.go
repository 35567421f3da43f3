package limitertest

import (
	"math/rand/v2"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// history makes random schedules that dwell on the instants at which limiters go
// wrong: the same one, one tick apart, edges, and ages of exactly one window.
type history struct {
	*rand.Rand
	limit limiter.Limit
	now   time.Time
}

// newHistory picks a limit that the algorithm takes. Histories of equal seeds
// and numbers are equal.
func newHistory(a limiter.Algorithm, seed, number uint64) *history {
	h := &history{Rand: rand.New(rand.NewPCG(seed, number)), now: epoch}
	windows := []time.Duration{
		time.Millisecond, 2500 * time.Microsecond, 250 * time.Millisecond,
		time.Second, 7 * time.Second, time.Minute, time.Hour, 24 * time.Hour,
	}
	for {
		h.limit = limiter.Limit{Max: h.max(), Window: windows[h.IntN(len(windows))]}
		if a.Validate(h.limit) == nil {
			return h
		}
	}
}

func (h *history) max() int64 {
	maxes := []int64{1, 2, 3, 5, 7, 10, 23, 100}
	return maxes[h.IntN(len(maxes))]
}

// advance moves the clock and returns it.
func (h *history) advance() time.Time {
	h.now = h.now.Add(h.gap())
	return h.now
}

func (h *history) gap() time.Duration {
	w := h.limit.Window
	around := time.Duration(h.IntN(3)-1) * time.Microsecond // a tick early, on time, late
	switch h.IntN(12) {
	case 0, 1, 2, 3:
		return 0
	case 4:
		return time.Microsecond
	case 5:
		return max(w/time.Duration(h.limit.Max)+around, 0).Truncate(time.Microsecond)
	case 6:
		return max(h.untilEdge()+around, 0)
	case 7:
		return w + around
	case 8:
		return h.within(3 * w)
	case 9:
		return h.within(w / 8)
	default:
		return h.within(w)
	}
}

// untilEdge is the time to the next multiple of the window.
func (h *history) untilEdge() time.Duration {
	w := h.limit.Window.Microseconds()
	return time.Duration(w-h.now.UnixMicro()%w) * time.Microsecond
}

// late is an instant up to two windows before the clock.
func (h *history) late() time.Time { return h.now.Add(-h.within(2 * h.limit.Window)) }

// within is a whole number of microseconds below d.
func (h *history) within(d time.Duration) time.Duration {
	return time.Duration(h.Int64N(max(d.Microseconds(), 1))) * time.Microsecond
}

// cost is small most of the time, at times the limit or one above.
func (h *history) cost() int64 {
	switch h.IntN(12) {
	case 0:
		return h.limit.Max + 1
	case 1:
		return h.limit.Max
	case 2, 3, 4:
		return 1 + h.Int64N(h.limit.Max)
	default:
		return 1 + h.Int64N(min(h.limit.Max, 3))
	}
}
