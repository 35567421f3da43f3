package runner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// A decision on the wrong side of an edge is tried again, with fresh budgets.
func TestMissedEdgesAreTriedAgain(t *testing.T) {
	for _, row := range []struct {
		limit     string
		misses    int // attempts that miss
		attempts  int
		misplaced int
		why       string
	}{
		{"10/1s", 0, 1, 0, "the first attempt hits"},
		{"10/1s", 1, 2, 0, "the second"},
		{"10/1s", 9, 10, 0, "with a short window there is time for ten"},
		{"10/1s", 99, 10, 1, "and not for more"},
		{"10/1m", 2, 3, 0, "three even if each takes a minute"},
		{"10/1m", 99, 3, 1, "and then no more"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := plan(t, scenarios.Server, row.limit, straddle...)
			attempts, calls := 0, 0
			seen := map[string]int{}
			c := bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
				d, err := answers(0)(ctx, r)
				if calls++; calls%10 == 7 && attempts <= row.misses {
					d.At = d.At.Add(-p.Limit.Window) // the second after the edge, as if before it
				}
				seen[r.Key] = attempts
				return d, err
			}))
			c.ServerClock = func(context.Context) (time.Duration, error) { attempts++; return 0, nil }
			c.Handled = new(atomic.Int64)
			h := run(t, t.Context(), c)
			checkWall(t, p, h)
			if h.Attempts != row.attempts || h.Misplaced != row.misplaced || attempts != row.attempts {
				t.Errorf("%s: %d attempts, %d misplaced, clock asked %d times; want %d, %d", row.why, h.Attempts, h.Misplaced, attempts, row.attempts, row.misplaced)
			}
			if len(seen) != row.attempts {
				t.Errorf("%s: identities %v, want other ones for each attempt", row.why, seen)
			}
			if h.Interrupted || h.Lost != nil || c.Handled.Load() != 10 || sent(h) != 10 {
				t.Errorf("%s: %d handled, %d sent, %+v", row.why, c.Handled.Load(), sent(h), h)
			}
		})
	}
}

// A run that ends early is not tried again, wherever its decisions fell.
func TestWhatEndsEarlyIsNotTriedAgain(t *testing.T) {
	for _, row := range []struct {
		lost bool
		sent int
		why  string
	}{
		{false, 3, "interrupted"},
		{true, 13, "lost"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := plan(t, scenarios.Server, "10/1s", "name: a, for: 100ms, shape: constant, count: 40")
			calls := 0
			h := run(t, ctx, bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
				calls++
				if row.lost && calls > 3 {
					return limiter.Decision{}, limiter.ErrUnknown
				}
				if !row.lost && calls == 3 {
					cancel()
				}
				return answers(p.Limit.Window)(ctx, r)
			})))
			if h.Attempts != 1 || h.Misplaced != 3 || sent(h) != row.sent || h.Interrupted == row.lost || (h.Lost != nil) != row.lost {
				t.Errorf("%s: %d attempts, %d misplaced, %d sent, interrupted %t, lost %v", row.why, h.Attempts, h.Misplaced, sent(h), h.Interrupted, h.Lost)
			}
		})
	}
}

// An interrupt that comes with the last request takes no result away, even if
// the edge was missed.
func TestAnInterruptAtTheEndKeepsTheResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := plan(t, scenarios.Server, "10/1s", straddle...)
		calls := 0
		h := run(t, ctx, bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			if calls++; calls == 10 {
				cancel()
			}
			return answers(p.Limit.Window)(ctx, r)
		})))
		if h.Attempts != 1 || sent(h) != 10 || h.Misplaced != 10 || h.Interrupted {
			t.Errorf("%d attempts, %d sent, %d misplaced, interrupted %t", h.Attempts, sent(h), h.Misplaced, h.Interrupted)
		}
	})
}

// Only what is planned inside of one window can miss it.
func TestMisplaced(t *testing.T) {
	for _, row := range []struct {
		phase string
		shift time.Duration
		want  int
		why   string
	}{
		{"at: edge, for: window, shape: constant, count: 4", 0, 0, "all four quarters of the window"},
		{"at: edge, for: window, shape: constant, count: 4", 300 * time.Millisecond, 1, "the last falls out of it"},
		{"at: edge, for: window, shape: constant, count: 4", -300 * time.Millisecond, 2, "the first two fall in the one before"},
		{"at: edge, for: window + 1us, shape: constant, count: 4", 300 * time.Millisecond, 0, "a phase that is a tick longer has no window of its own"},
		{"at: edge - 1us, for: window, shape: constant, count: 4", 300 * time.Millisecond, 0, "nor has one that begins a tick earlier"},
		{"at: edge + window/2, shape: burst, count: 3", 400 * time.Millisecond, 0, "a burst that stays inside"},
		{"at: edge + window/2, shape: burst, count: 3", 600 * time.Millisecond, 3, "a burst that does not"},
		{"at: edge - window/2, shape: burst, count: 3", 600 * time.Millisecond, 3, "before the edge too"},
		{"at: edge - 2*window, for: window, shape: constant, count: 4", -300 * time.Millisecond, 2, "a window far before the edge"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := plan(t, scenarios.Server, "10/1s", "name: a, "+row.phase)
			c := bubbled(p, answers(row.shift)) // the runner thinks that the clocks agree
			if h := run(t, t.Context(), c); h.Misplaced != row.want {
				t.Errorf("%s: %d misplaced, want %d", row.why, h.Misplaced, row.want)
			}
		})
	}
}
