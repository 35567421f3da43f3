package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// bubbled is a run in the time of a synctest bubble. A look at the stopwatch
// takes 20 µs there, so that whoever watches it sees time pass.
func bubbled(p *scenarios.Plan, l limiter.Limiter) runner.Config {
	c := config(p, l)
	start := time.Now()
	c.Stopwatch = func() time.Duration {
		time.Sleep(20 * time.Microsecond)
		return time.Since(start)
	}
	return c
}

// answers decide at the time of a server whose clock is ahead by an offset.
func answers(offset time.Duration) decide {
	return func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
		if r.At.IsZero() {
			r.At = time.Now().Add(offset)
		}
		return limiter.Decision{Allowed: true, At: r.At}, nil
	}
}

// straddle sends on both sides of an edge.
var straddle = []string{"name: before, at: edge - window/10, for: window/10, shape: constant, count: 5", "name: after, at: edge, for: window/10, shape: constant, count: 5"}

// checkWall holds what is true of every run in real time.
func checkWall(t *testing.T, p *scenarios.Plan, h *runner.History) {
	t.Helper()
	if h.Edge.UnixMicro()%p.Limit.Window.Microseconds() != 0 {
		t.Errorf("the edge %s is no multiple of %s", h.Edge, p.Limit.Window)
	}
	if h.Results.Len() != len(p.Arrivals) {
		t.Fatalf("%d results of %d arrivals", h.Results.Len(), len(p.Arrivals))
	}
	for i, r := range h.Results.All() {
		if r.Outcome == scenarios.Missed {
			continue
		}
		if r.Planned > r.Sent || r.Sent > r.Done {
			t.Errorf("request %d: planned %s, sent %s, done %s", i, r.Planned, r.Sent, r.Done)
		}
		// The schedule is the plan's, whatever happened.
		if got, want := r.Planned-h.Results.At(0).Planned, p.Arrivals[i].At-p.Arrivals[0].At; got != want {
			t.Errorf("request %d is planned %s after the first, want %s", i, got, want)
		}
	}
}

// The edge is a boundary of the clock that decides, and ahead when it is chosen.
func TestEdgeOfTheServersClock(t *testing.T) {
	for _, row := range []struct {
		offset time.Duration
		why    string
	}{
		{0, "both clocks agree"},
		{123 * time.Millisecond, "the server is ahead"},
		{-123 * time.Millisecond, "the server is behind"},
		{37*time.Hour + 400*time.Microsecond, "the server lives in another day"},
	} {
		for _, limit := range []string{"10/100ms", "10/1s", "10/7s", "10/1m"} {
			synctest.Test(t, func(t *testing.T) {
				p := plan(t, scenarios.Server, limit, straddle...)
				asked := 0
				c := bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
					if !r.At.IsZero() {
						t.Errorf("%s: a request is stamped %s, the server has to decide", row.why, r.At)
					}
					return answers(row.offset)(ctx, r)
				}))
				c.ServerClock = func(context.Context) (time.Duration, error) { asked++; return row.offset, nil }
				begun := time.Now()
				h := run(t, t.Context(), c)
				checkWall(t, p, h)
				first := h.Edge.Add(p.Arrivals[0].At - row.offset)
				if ahead := first.Sub(begun); ahead < 50*time.Millisecond || ahead > 50*time.Millisecond+p.Limit.Window {
					t.Errorf("%s, %s: the first request is planned %s ahead, want the next edge that leaves time", row.why, limit, ahead)
				}
				if h.Attempts != 1 || h.Misplaced != 0 || asked != 1 || sent(h) != 10 {
					t.Errorf("%s, %s: %d attempts, %d misplaced, clock asked %d times, %d sent", row.why, limit, h.Attempts, h.Misplaced, asked, sent(h))
				}
				for i, r := range h.Results.All() {
					if late := r.Decision.At.Sub(h.Edge.Add(p.Arrivals[i].At)); late < 0 || late > time.Millisecond {
						t.Errorf("%s, %s: request %d is decided %s after its instant", row.why, limit, i, late)
					}
				}
			})
		}
	}
}

// An edge that is exactly far enough ahead is taken.
func TestTheNextEdgeMayBeTheVeryInstant(t *testing.T) {
	for window, want := range map[string]time.Duration{"25ms": 50 * time.Millisecond, "50ms": 50 * time.Millisecond, "51ms": 51 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			for begun.UnixMilli()%(50*51) != 0 { // a boundary of each window
				time.Sleep(time.Millisecond)
				begun = time.Now()
			}
			p := plan(t, scenarios.Client, "10/"+window, "name: a, shape: burst, count: 1")
			if h := run(t, t.Context(), bubbled(p, decide(admit))); h.Edge.Sub(begun) != want {
				t.Errorf("window %s: the edge is %s ahead, want %s", window, h.Edge.Sub(begun), want)
			}
		})
	}
}

// With the client's clock requests carry the instant at which they are sent.
func TestClientsStampRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, scenarios.Client, "10/1s", straddle...)
		c := bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			if now := time.Now(); r.At.IsZero() || r.At.After(now) || now.Sub(r.At) > 100*time.Microsecond {
				t.Errorf("stamped %s at %s", r.At, now)
			}
			return admit(ctx, r)
		}))
		c.ServerClock = func(context.Context) (time.Duration, error) {
			t.Error("nobody needs the server's clock")
			return 0, nil
		}
		h := run(t, t.Context(), c)
		checkWall(t, p, h)
		if h.Misplaced != 0 || h.Attempts != 1 || sent(h) != 10 {
			t.Errorf("%d misplaced, %d attempts, %d sent", h.Misplaced, h.Attempts, sent(h))
		}
	})
}

// A slow limiter makes requests late. They are sent late, all of them, and the
// delay can be read; nothing is moved and nothing left out.
func TestLateRequestsKeepTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, scenarios.Server, "10/1s", "name: a, for: 100ms, shape: constant, count: 20")
		c := bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			time.Sleep(20 * time.Millisecond)
			return answers(0)(ctx, r)
		}))
		h := run(t, t.Context(), c)
		checkWall(t, p, h)
		for i := 1; i < h.Results.Len(); i++ {
			before, r := h.Results.At(i-1), h.Results.At(i)
			if r.Sent < before.Done {
				t.Errorf("request %d is sent at %s, before the one before it is done at %s", i, r.Sent, before.Done)
			}
			if late := (r.Sent - r.Planned) - (before.Sent - before.Planned); late < 15*time.Millisecond-time.Millisecond || late > 16*time.Millisecond {
				t.Errorf("request %d is %s later than the one before, want 15ms more each: 20ms of work every 5ms", i, late)
			}
		}
		if sent(h) != 20 || h.Results.At(19).Done-h.Results.At(0).Sent < 400*time.Millisecond {
			t.Errorf("%d sent in %s", sent(h), h.Results.At(19).Done-h.Results.At(0).Sent)
		}
	})
}

func TestTheServersClockIsNeeded(t *testing.T) {
	silent := decide(func(context.Context, limiter.Request) (limiter.Decision, error) {
		t.Error("something was sent")
		return limiter.Decision{}, nil
	})
	c := config(plan(t, scenarios.Server, "10/1s", straddle...), silent)
	c.ServerClock = nil
	if h, err := runner.Run(t.Context(), c); err == nil || h != nil || !strings.Contains(err.Error(), "server clock") {
		t.Errorf("without a clock: %v and %v", h, err)
	}
	refused := errors.New("connection refused")
	c.ServerClock = func(context.Context) (time.Duration, error) { return 0, refused }
	if h, err := runner.Run(t.Context(), c); !errors.Is(err, refused) || h != nil {
		t.Errorf("with a broken clock: %v and %v", h, err)
	}
}

func TestInterruptWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		p := plan(t, scenarios.Client, "10/1h", "name: a, shape: burst, count: 3")
		begun := time.Now()
		h := run(t, ctx, bubbled(p, decide(admit)))
		if waited := time.Since(begun); sent(h) != 0 || !h.Interrupted || h.Lost != nil || waited > 4*time.Second {
			t.Errorf("%d sent, interrupted %t, lost %v, after %s", sent(h), h.Interrupted, h.Lost, waited)
		}
	})
}

// An interrupt while everybody is busy: whoever gets free sends nothing more.
func TestInterruptWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := plan(t, scenarios.Client, "10/1s", "name: a, for: 100ms, shape: constant, count: 20")
		var calls atomic.Int64
		h := run(t, ctx, bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			if calls.Add(1) == 3 {
				time.Sleep(50 * time.Millisecond) // the next ones are due
				cancel()
				time.Sleep(50 * time.Millisecond)
				if ctx.Err() != nil {
					t.Error("what is in flight is cancelled")
				}
			}
			return admit(ctx, r)
		})))
		checkWall(t, p, h)
		if n := tally(h); n[scenarios.Admitted] != 3 || n[scenarios.Missed] != 17 || !h.Interrupted {
			t.Errorf("%v, interrupted %t; want the three that were sent before", n, h.Interrupted)
		}
	})
}

func TestLostTargetEndsARealTimeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, scenarios.Client, "10/1s", "name: a, for: 100ms, shape: constant, count: 40")
		h := run(t, t.Context(), bubbled(p, decide(func(context.Context, limiter.Request) (limiter.Decision, error) {
			return limiter.Decision{}, limiter.ErrUnknown
		})))
		if n := tally(h); n[scenarios.Unknown] != 10 || n[scenarios.Missed] != 30 || !errors.Is(h.Lost, limiter.ErrUnknown) || h.Attempts != 1 {
			t.Errorf("%v, lost %v, %d attempts", n, h.Lost, h.Attempts)
		}
	})
}

// A server that goes away between two attempts takes nothing back: the attempt
// that was made is returned, so that its keys are known and its counts reported.
func TestClockLostBetweenAttempts(t *testing.T) {
	gone := errors.New("connection refused")
	c := config(plan(t, scenarios.Server, "10/50ms", "name: a, at: edge, shape: burst, count: 2"), decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
		return limiter.Decision{Allowed: true, At: time.UnixMicro(1)}, nil // in a wrong window
	}))
	asked := 0
	c.ServerClock = func(context.Context) (time.Duration, error) {
		if asked++; asked > 1 {
			return 0, gone
		}
		return 0, nil
	}
	h := run(t, t.Context(), c)
	if n := sent(h); !errors.Is(h.Lost, gone) || h.Attempts != 1 || n != 2 || h.Misplaced != 2 || h.Results.Err() != nil {
		t.Errorf("lost %v, %d attempts, %d sent, %d misplaced, log %v", h.Lost, h.Attempts, n, h.Misplaced, h.Results.Err())
	}
}
