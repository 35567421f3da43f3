package runner_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// The same in real time, with many callers and the real stopwatch. Nothing here
// depends on how long anything takes.
func TestRealTime(t *testing.T) {
	for _, clock := range []scenarios.Clock{scenarios.Server, scenarios.Client} {
		for _, inFlight := range []int{1, 4, 64} {
			t.Run(fmt.Sprintf("%s/%d", clock, inFlight), func(t *testing.T) {
				t.Parallel()
				p := plan(t, clock, "1000/100ms", straddle...)
				var inside, most, calls atomic.Int64
				c := config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
					calls.Add(1)
					most.Store(max(most.Load(), inside.Add(1)))
					defer inside.Add(-1)
					return answers(0)(ctx, r)
				}))
				c.MaxInFlight, c.Handled = inFlight, new(atomic.Int64)
				begun := time.Now()
				h := run(t, t.Context(), c)
				checkWall(t, p, h)
				if first := h.Edge.Add(p.Arrivals[0].At); first.Before(begun) {
					t.Errorf("the first request is planned for %s, before the run began at %s", first, begun)
				}
				if sent(h) != 10 || c.Handled.Load() != 10 || calls.Load() != int64(10*h.Attempts) || most.Load() > int64(inFlight) {
					t.Errorf("%d sent, %d handled, %d calls in %d attempts, %d inside at once", sent(h), c.Handled.Load(), calls.Load(), h.Attempts, most.Load())
				}
				for i, r := range h.Results.All() {
					if r.Decision.At.Before(begun) {
						t.Errorf("request %d was decided at %s, before the run began at %s", i, r.Decision.At, begun)
					}
				}
				if h.Interrupted || h.Lost != nil {
					t.Errorf("history %+v", h)
				}
			})
		}
	}
}

// Many callers in real time, interrupted and lost.
func TestRealTimeEndsEarly(t *testing.T) {
	const inFlight = 4
	p := plan(t, scenarios.Client, "1000/100ms", "name: a, for: 100ms, shape: constant, count: 1000")
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int64
		cancelled := make(chan struct{})
		c := config(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			switch n := calls.Add(1); {
			case n == 20:
				cancel()
				close(cancelled)
			case n > 20: // however long the one that cancels is kept waiting for a core
				<-cancelled
			}
			return admit(ctx, r)
		}))
		c.MaxInFlight = inFlight
		h := run(t, ctx, c)
		if n := sent(h); n < 20 || n > 20+inFlight || int64(n) != calls.Load() || !h.Interrupted {
			t.Errorf("%d sent, %d calls, interrupted %t", n, calls.Load(), h.Interrupted)
		}
	})
	t.Run("lost", func(t *testing.T) {
		c := config(p, decide(func(context.Context, limiter.Request) (limiter.Decision, error) {
			return limiter.Decision{}, limiter.ErrUnknown
		}))
		c.MaxInFlight = inFlight
		h := run(t, t.Context(), c)
		if n := sent(h); n < 10 || n >= 10+inFlight || h.Lost == nil || h.Interrupted {
			t.Errorf("%d sent, lost %v, interrupted %t", n, h.Lost, h.Interrupted)
		}
	})
}
