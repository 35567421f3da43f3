package runner_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// An interrupt stops sending and waits for what is in flight.
func TestInterruptWaitsForWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		answers := make(chan struct{})
		var inside atomic.Int64
		c := config(plan(t, scenarios.Virtual, "10/1s", "name: a, shape: burst, count: 10", "name: b, at: 1s, shape: burst, count: 1"), decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			inside.Add(1)
			<-answers
			if ctx.Err() != nil {
				t.Error("the request itself is cancelled")
			}
			return admit(ctx, r)
		}))
		c.MaxInFlight = 4
		done := make(chan struct{})
		go func() {
			defer close(done)
			h, err := runner.Run(ctx, c)
			if err != nil {
				t.Error(err)
				return
			}
			if n := tally(h); n[scenarios.Admitted] != 4 || n[scenarios.Missed] != 7 || !h.Interrupted || h.Lost != nil {
				t.Errorf("%v, interrupted %t, lost %v: want the four that were in flight", n, h.Interrupted, h.Lost)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if inside.Load() != 4 {
			t.Errorf("%d were sent before the first answer, want 4", inside.Load())
		}
		select {
		case <-done:
			t.Error("the run is over although four requests are not")
		default:
		}
		close(answers)
		<-done
	})
}

func TestInterruptStopsASequence(t *testing.T) {
	for _, after := range []int64{0, 1, 5, 9, 10} {
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int64
		c := config(plan(t, scenarios.Virtual, "10/1s", "name: a, for: 1s, shape: constant, count: 10"), decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			if calls.Add(1) == after {
				cancel()
			}
			return admit(ctx, r)
		}))
		if after == 0 {
			cancel()
		}
		h := run(t, ctx, c)
		// An interrupt with the last request changes nothing.
		if got := int64(sent(h)); got != after || h.Interrupted != (after < 10) {
			t.Errorf("interrupted at request %d: %d sent, interrupted %t", after, got, h.Interrupted)
		}
		cancel()
	}
}

func TestLostTarget(t *testing.T) {
	fate := func(err error) func(int64) error { return func(int64) error { return err } }
	refused := errors.New("dial unix: connection refused")
	for _, row := range []struct {
		fate func(n int64) error // of the n-th request, from 1
		sent int
		lost error
		why  string
	}{
		{fate(nil), 40, nil, "nothing fails"},
		{fate(refused), 10, refused, "ten failures in a row are enough"},
		{fate(limiter.ErrUnknown), 10, limiter.ErrUnknown, "lost replies too"},
		{fate(reply("OOM command not allowed")), 40, nil, "a server that answers is there, whatever it says"},
		{func(n int64) error {
			if n%10 == 0 {
				return nil
			}
			return refused
		}, 40, nil, "nine in a row are not enough, again and again"},
		{func(n int64) error {
			if n%10 == 0 {
				return reply("BUSY")
			}
			return refused
		}, 40, nil, "an answer interrupts the row like a decision"},
		{func(n int64) error {
			switch {
			case n <= 20:
				return nil
			case n == 30:
				return io.EOF
			}
			return refused
		}, 30, io.EOF, "the last error is the one that is told"},
		{func(n int64) error {
			if n > 30 {
				return refused
			}
			return nil
		}, 40, refused, "with the last request: nothing is missed, and yet it is lost"},
	} {
		var calls atomic.Int64
		c := config(plan(t, scenarios.Virtual, "10/1s", "name: a, for: 1s, shape: constant, count: 40"), decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
			return limiter.Decision{At: r.At}, row.fate(calls.Add(1))
		}))
		h := run(t, t.Context(), c)
		if sent(h) != row.sent || !errors.Is(h.Lost, row.lost) || (h.Lost == nil) != (row.lost == nil) || h.Interrupted {
			t.Errorf("%s: %d sent, lost %v, interrupted %t; want %d and %v", row.why, sent(h), h.Lost, h.Interrupted, row.sent, row.lost)
		}
	}
}

// In a burst, those that are in flight when the target is given up still finish.
func TestLostTargetInABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(plan(t, scenarios.Virtual, "10/1s", "name: a, shape: burst, count: 100"), decide(func(context.Context, limiter.Request) (limiter.Decision, error) {
			time.Sleep(time.Second)
			return limiter.Decision{}, io.EOF
		}))
		c.MaxInFlight = 6
		h := run(t, t.Context(), c)
		if n := sent(h); n < 10 || n > 15 || !errors.Is(h.Lost, io.EOF) {
			t.Errorf("%d sent, lost %v; want 10 and at most the other five that were in flight", n, h.Lost)
		}
	})
}

// A stall that ends by itself makes many requests fail at once; a target is lost
// when it is silent for long as well.
func TestPatience(t *testing.T) {
	const steady = "name: a, for: 1s, shape: constant, count: "
	first := func(n int64) func(int64) bool { return func(i int64) bool { return i <= n } }
	all := func(int64) bool { return true }
	for _, row := range []struct {
		phases   []string
		each     time.Duration    // that a request takes
		fails    func(int64) bool // the n-th request, from 1
		patience time.Duration
		sent     int
		lost     bool
		why      string
	}{
		{[]string{steady + "100"}, 100 * time.Millisecond, all, 5 * time.Second, 50, true, "many that fail fast: after the five seconds"},
		{[]string{steady + "100"}, time.Second, all, 5 * time.Second, 10, true, "few that fail slowly: after ten"},
		{[]string{steady + "100"}, 300 * time.Millisecond, all, 0, 10, true, "the default is three seconds"},
		{[]string{"name: a, shape: burst, count: 50", "name: b, at: 1s, shape: burst, count: 50"}, time.Second, first(50), 5 * time.Second, 100, false, "a stall: fifty fail in one second, and then it goes on"},
		{[]string{steady + "100"}, 100 * time.Millisecond, first(49), 5 * time.Second, 100, false, "a silence of a tick less than five seconds"},
		{[]string{steady + "100"}, 100 * time.Millisecond, func(n int64) bool { return n%32 != 0 }, 5 * time.Second, 100, false, "an answer now and then begins the silence anew"},
		{[]string{steady + "100"}, 100 * time.Millisecond, func(n int64) bool { return n > 90 }, 5 * time.Second, 100, true, "ten at the end, after which nobody can tell"},
		{[]string{steady + "3"}, time.Millisecond, all, 5 * time.Second, 3, true, "too short a run to be patient, but nobody ever answered"},
		{[]string{steady + "3"}, time.Millisecond, first(2), 5 * time.Second, 3, false, "somebody did"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			c := config(plan(t, scenarios.Virtual, "10/1s", row.phases...), decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
				fails := row.fails(calls.Add(1))
				time.Sleep(row.each)
				if fails {
					return limiter.Decision{}, limiter.ErrUnknown
				}
				return admit(ctx, r)
			}))
			c.Patience = row.patience
			if len(row.phases) > 1 {
				c.MaxInFlight = 50
			}
			if h := run(t, t.Context(), c); sent(h) != row.sent || (h.Lost != nil) != row.lost {
				t.Errorf("%s: %d sent, lost %v; want %d, %t", row.why, sent(h), h.Lost, row.sent, row.lost)
			}
		})
	}
}
