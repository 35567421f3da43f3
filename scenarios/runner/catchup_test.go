package runner_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// stalling answers after a millisecond, but to nobody in the second that begins half a
// second after the edge.
func stalling(p *scenarios.Plan) limiter.Limiter {
	begin := time.Now().Truncate(p.Limit.Window).Add(p.Limit.Window + 500*time.Millisecond)
	return decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
		time.Sleep(time.Millisecond)
		if left := time.Until(begin.Add(time.Second)); left > 0 && left <= time.Second {
			time.Sleep(left)
		}
		return answers(0)(ctx, r)
	})
}

// TestAStallIsInEveryResponse: a second in which nothing is answered, at a thousand
// requests a second, is in a thousand response times, whoever was allowed to be in
// flight: with room for all it is service time, without it is lag.
func TestAStallIsInEveryResponse(t *testing.T) {
	for _, inFlight := range []int{1000, 4} {
		synctest.Test(t, func(t *testing.T) {
			p := plan(t, scenarios.Server, "10/10s", "name: a, for: 2s, shape: constant, count: 2000")
			c := bubbled(p, stalling(p))
			c.MaxInFlight = inFlight
			h := run(t, t.Context(), c)
			checkWall(t, p, h)
			var service, response, longest int
			for _, r := range h.Results.All() {
				if r.Done-r.Sent > 50*time.Millisecond {
					service++
				}
				if r.Done-r.Planned > 50*time.Millisecond {
					response++
				}
				if r.Done-r.Planned > 900*time.Millisecond {
					longest++
				}
			}
			if inFlight == 1000 && (service < 940 || service > 960 || response < 940 || response > 960 || longest < 90 || longest > 110) {
				t.Errorf("%d in flight: %d service times and %d response times are above 50 ms, %d above 900 ms; want 950, 950 and 100", inFlight, service, response, longest)
			}
			// Nobody catches up with the plan while it goes on at the same pace.
			if inFlight == 4 && (service != 4 || response < 1450 || response > 1510) {
				t.Errorf("%d in flight: %d service times and %d response times are above 50 ms; want 4 and what is left of the plan", inFlight, service, response)
			}
		})
	}
}

// TestNoCompressedCatchUp: what piled up during a stall goes out at little more than the
// pace of the plan, and not as a burst that nobody planned.
func TestNoCompressedCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, scenarios.Server, "10/10s", "name: a, for: 1s, shape: constant, count: 1000", "name: b, for: 4s, shape: constant, count: 400")
		c := bubbled(p, stalling(p))
		c.MaxInFlight = 4
		h := run(t, t.Context(), c)
		checkWall(t, p, h)
		caught := 0
		for i, r := range h.Results.All() {
			if i+50 >= h.Results.Len() {
				break
			}
			// A quarter faster than the plan, and a hiccup's worth at once.
			if gap := h.Results.At(i+50).Sent - r.Sent; r.Sent-r.Planned > 20*time.Millisecond && gap < 50*time.Millisecond*4/5-11*time.Millisecond {
				t.Fatalf("request %d is %s late, and 50 requests later %s have passed: that is a burst", i, r.Sent-r.Planned, gap)
			}
			if i > 1000 && r.Sent-r.Planned < 20*time.Millisecond {
				caught++
			}
		}
		// 500 are late when the stall ends; the slower phase leaves room for them.
		if caught < 250 {
			t.Errorf("%d requests of the slower phase were sent in time, want most of the last 300", caught)
		}
	})
}

// TestARunEndsAtAnOverload: what was planned behind the first request that is too late
// is not sent, and not missed.
func TestARunEndsAtAnOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, scenarios.Server, "10/10s", "name: a, for: 1s, shape: constant, count: 100", "name: b, for: 1s, shape: constant, count: 1000", "name: c, for: 1s, shape: constant, count: 10")
		p.Overload = 50 * time.Millisecond
		c := bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			time.Sleep(5 * time.Millisecond) // 200 a second
			return answers(0)(ctx, r)
		}))
		h := run(t, t.Context(), c)
		// Each of the second phase is 4 ms later than the one before.
		if n := h.Results.Len() - 100; n < 11 || n > 15 || sent(h) != h.Results.Len() || len(h.Plan.Arrivals) != h.Results.Len() {
			t.Errorf("%d of the second phase, %d sent of %d planned; want some 13, and all", n, sent(h), len(h.Plan.Arrivals))
		}
		if !h.Plan.Cut || p.Cut || h.Plan.Phases[1].Planned != int64(h.Results.Len()-100) || h.Plan.Phases[2].Planned != 0 || p.Phases[1].Planned != 1000 {
			t.Errorf("plan %+v of %+v", h.Plan.Phases, p.Phases)
		}
		if h.Interrupted || h.Misplaced != 0 || h.Attempts != 1 {
			t.Errorf("interrupted %t, %d misplaced, %d attempts", h.Interrupted, h.Misplaced, h.Attempts)
		}
	})
}
