package runner_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// A loop in real time, by a limiter that opens at an instant: what is sent when
// is what the agenda wants, to the millisecond of a bubble's time.
func TestClosedLoopInRealTime(t *testing.T) {
	for _, row := range []struct {
		phase    string
		inFlight int
		want     []time.Duration // from the edge
		why      string
	}{
		{"shape: burst, count: 3, retry: {mode: obey}", 1, []time.Duration{0, 7, 7, 7}, "obeys, and then all at once"},
		{"shape: burst, count: 3, retry: {mode: obey}", 4, []time.Duration{0, 7, 7, 7}, "with more senders than it needs"},
		{"shape: burst, count: 2, retry: {mode: ignore, wait: 4s}", 4, []time.Duration{0, 0, 4, 4, 8, 8}, "each on its own"},
		{"shape: burst, count: 2, retry: {mode: ignore, wait: 4s}", 1, []time.Duration{0, 0, 4, 4, 8, 8}, "by one sender"},
		{"shape: drip, for: 9s, every: 3s, retry: {mode: constant, wait: 4s}", 2, []time.Duration{0, 4, 8, 8, 8}, "what is wanted meanwhile waits"},
	} {
		for _, clock := range []scenarios.Clock{scenarios.Client, scenarios.Server} {
			synctest.Test(t, func(t *testing.T) {
				p := plan(t, clock, "1/1m", "name: a, "+row.phase)
				c := bubbled(p, nil)
				var edge time.Time
				c.Waiting = func(at time.Time, _ int) { edge = at }
				c.Limiters[0] = decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
					if r.At.IsZero() {
						r.At = time.Now()
					}
					return opens(edge.Add(7*time.Second))(ctx, r)
				})
				c.Limiters[1] = c.Limiters[0]
				c.MaxInFlight, c.Handled = row.inFlight, new(atomic.Int64)
				h := run(t, t.Context(), c)
				if sent(h) != len(row.want) || h.Results.Len() != len(row.want) || c.Handled.Load() != int64(len(row.want)) || h.Attempts != 1 || h.Interrupted {
					t.Fatalf("%s, %s: %v, %d handled, %d attempts; want %d", row.why, clock, tally(h), c.Handled.Load(), h.Attempts, len(row.want))
				}
				zero := h.Results.At(0).Planned - h.Plan.Arrivals[0].At
				for i, r := range h.Results.All() {
					want := row.want[i] * time.Second
					if at := r.Sent - zero; at < want || at > want+2*time.Millisecond || r.Planned != zero+h.Plan.Arrivals[i].At || r.Planned > r.Sent {
						t.Errorf("%s, %s: request %d is planned at %s and sent at %s after the edge, want %s", row.why, clock, i, r.Planned-zero, at, want)
					}
				}
				checkLoop(t, h)
			})
		}
	}
}

// Who waits for a distant instant is woken by a reply that makes something due
// before it; and who waits for replies alone is woken by each.
func TestAReplyWakesWhoWaits(t *testing.T) {
	for _, row := range []struct {
		takes time.Duration // the first reply
		retry time.Duration // its RetryAfter
		why   string
	}{
		{time.Second, time.Second, "long before"},
		{9*time.Second + 999*time.Millisecond, 200 * time.Microsecond, "when the wait is nearly over"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := plan(t, scenarios.Client, "1/1m",
				"name: a, shape: burst, count: 1, retry: {mode: obey}", "name: b, at: edge + 10s, shape: burst, count: 1")
			var calls atomic.Int64
			c := bubbled(p, decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
				if calls.Add(1) > 1 {
					return limiter.Decision{Allowed: true, At: r.At}, nil
				}
				time.Sleep(row.takes)
				return limiter.Decision{At: r.At, RetryAfter: row.retry}, nil
			}))
			c.MaxInFlight = 2
			h := run(t, t.Context(), c)
			if h.Results.Len() != 3 || h.Plan.Phases[h.Plan.Arrivals[1].Phase].RetryOf != "a" {
				t.Fatalf("%s: %+v, want the retry between the two", row.why, h.Plan.Arrivals)
			}
			// Due as long after the reply as that says, and no later than spinning takes.
			first, again := h.Results.At(0), h.Results.At(1)
			if due := first.Done + row.retry; again.Planned < due || again.Planned > due+time.Microsecond || again.Sent > due+300*time.Microsecond {
				t.Errorf("%s: answered at %s, due at %s, sent at %s", row.why, first.Done, again.Planned, again.Sent)
			}
		})
	}
}

// An interrupt while everything is overdue: nothing more is sent.
func TestInterruptInAClosedLoopInRealTime(t *testing.T) {
	for _, row := range []struct {
		phase string
		why   string
	}{
		{"shape: burst, count: 20, retry: {mode: ignore, wait: 1s}", "all are due"},
		{"for: 20ms, shape: constant, count: 20, retry: {mode: ignore, wait: 1ms}", "all are overdue, one after the other"},
		{"shape: burst, count: 20, retry: {mode: obey}", "one waits for its answer, and the others behind it"},
	} {
		for _, inFlight := range []int{1, 3} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p := plan(t, scenarios.Client, "1/1m", "name: a, "+row.phase)
				var calls, after atomic.Int64
				c := bubbled(p, decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
					if ctx.Err() != nil {
						after.Add(1)
					}
					if calls.Add(1) == 1 {
						time.Sleep(100 * time.Millisecond)
						cancel()
						time.Sleep(100 * time.Millisecond)
					} else {
						time.Sleep(time.Hour) // in flight when it is interrupted
					}
					return limiter.Decision{At: r.At, RetryAfter: time.Second}, nil
				}))
				c.MaxInFlight, c.Handled = inFlight, new(atomic.Int64)
				h := run(t, ctx, c)
				if after.Load() > 0 || !h.Interrupted || h.Lost != nil || int64(sent(h)) != calls.Load() || c.Handled.Load() != calls.Load() || sent(h) > inFlight {
					t.Errorf("%s, %d in flight: %d sent, %d calls, %d of them after the interrupt, interrupted %t", row.why, inFlight, sent(h), calls.Load(), after.Load(), h.Interrupted)
				}
				if h.Plan.Phases[0].Planned != 20 {
					t.Errorf("%s: %d planned of 20 that were wanted", row.why, h.Plan.Phases[0].Planned)
				}
				checkLoop(t, h)
			})
		}
	}
}

// An interrupt while all that is left depends on answers.
func TestInterruptWhileWaitingForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		p := plan(t, scenarios.Client, "1/1m", "name: a, shape: burst, count: 2, retry: {mode: ignore, wait: 1s}")
		c := bubbled(p, decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
			time.Sleep(2 * time.Minute)
			return limiter.Decision{At: r.At}, nil
		}))
		c.MaxInFlight = 3
		h := run(t, ctx, c)
		n := tally(h)
		if n[scenarios.Denied] != 2 || n[scenarios.Missed] == 0 || !h.Interrupted {
			t.Errorf("%v, interrupted %t; want both answers, and retries that are missed", n, h.Interrupted)
		}
		checkLoop(t, h)
	})
}

// The same with real time and many senders, for the race detector. Nothing here
// depends on how long anything takes.
func TestClosedLoopsRace(t *testing.T) {
	for _, mode := range []string{"mode: obey", "mode: constant, wait: 2ms", "mode: ignore, wait: 2ms"} {
		for _, inFlight := range []int{1, 16} {
			t.Run(fmt.Sprintf("%s/%d", mode, inFlight), func(t *testing.T) {
				t.Parallel()
				p := plan(t, scenarios.Server, "10/100ms", "name: a, shape: herd, count: 5, retry: {"+mode+", within: 10m}}\nkeys: {count: 8")
				var mu sync.Mutex
				asked := map[string]int{}
				c := config(p, decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
					mu.Lock()
					defer mu.Unlock()
					asked[r.Key]++
					// Each client's every third request is denied.
					return limiter.Decision{Allowed: asked[r.Key]%3 != 0, RetryAfter: time.Millisecond}, nil
				}))
				c.MaxInFlight, c.Handled = inFlight, new(atomic.Int64)
				h := run(t, t.Context(), c)
				// Five admissions take seven requests: the third and the sixth are denied.
				if n := tally(h); n[scenarios.Admitted] != 40 || n[scenarios.Denied] != 16 || c.Handled.Load() != 56 || h.Interrupted {
					t.Errorf("%v, %d handled", n, c.Handled.Load())
				}
				checkLoop(t, h)
			})
		}
	}
}
