package runner_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// Without anybody who makes them nothing is sent.
func TestFaultsNeedSomebodyWhoMakesThem(t *testing.T) {
	for _, clock := range []scenarios.Clock{scenarios.Virtual, scenarios.Server, scenarios.Client} {
		p := faulted(t, clock, 1, "at: a, kind: stall")
		h, err := runner.Run(t.Context(), config(p, decide(func(context.Context, limiter.Request) (limiter.Decision, error) {
			t.Error("something was sent")
			return limiter.Decision{}, nil
		})))
		if err == nil || h != nil || err.Error() != "run test: nobody makes its faults" {
			t.Errorf("%s clock: %v and %v", clock, h, err)
		}
	}
}

// In real time faults are made beside the requests, at their instants, however long
// the making takes.
func TestFaultsInRealTime(t *testing.T) {
	for _, clock := range []scenarios.Clock{scenarios.Server, scenarios.Client} {
		for _, takes := range []time.Duration{0, 400 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				p := faulted(t, clock, 12, "at: 1s, for: 1s, kind: outage", "at: 500ms, kind: script-flush", "at: 2600ms, for: 1h, kind: reset", "at: 1h, kind: restart")
				d := newDiary(p)
				var zero time.Time
				c := bubbled(p, answers(0))
				c.Waiting = func(at time.Time, _ int) { zero = at }
				var begun []time.Duration
				c.Inject = func(ctx context.Context, fault int) (runner.Injected, error) {
					begun = append(begun, time.Since(zero))
					time.Sleep(takes)
					return d.inject(ctx, fault)
				}
				h := run(t, t.Context(), c)
				checkWall(t, p, h)
				if want := "begin1 end1 begin0 end0 begin2 end2"; d.text() != want {
					t.Errorf("%s clock: %s, want %s", clock, d.text(), want)
				}
				for i, want := range []time.Duration{500 * time.Millisecond, time.Second, 2600 * time.Millisecond} {
					if late := begun[i] - want; late < 0 || late > 2*time.Millisecond {
						t.Errorf("%s clock: begun at %s after the edge, want %s", clock, begun[i], want)
					}
				}
				if f := h.Faults[0]; f.Force-f.Begin < takes || f.Lift-f.Begin < time.Second || f.Lift-f.Begin > time.Second+2*time.Millisecond {
					t.Errorf("%s clock, making takes %s: %+v", clock, takes, f)
				}
				if h.Faults[3].Made || h.Attempts != 1 || sent(h) != 12 {
					t.Errorf("%s clock: %+v, %d attempts, %d sent", clock, h.Faults[3], h.Attempts, sent(h))
				}
				for i, r := range h.Results.All() {
					if late := r.Sent - r.Planned; late > 2*time.Millisecond {
						t.Errorf("%s clock: request %d is %s late, though making a fault takes nobody's time", clock, i, late)
					}
				}
			})
		}
	}
}

// In real time too an interrupt lifts what is in force and ends at once.
func TestInterruptLiftsFaultsInRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := faulted(t, scenarios.Server, 12, "at: 400ms, for: 1h, kind: reset", "at: 2s, for: 1h, kind: outage")
		d := newDiary(p)
		calls := 0
		c := bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			if calls++; calls == 4 {
				cancel()
			}
			return answers(0)(ctx, r)
		}))
		c.Inject = d.inject
		h := run(t, ctx, c)
		if d.text() != "begin0 end0" || !h.Interrupted || sent(h) != 4 || h.Faults[0].Err != nil || h.Faults[1].Made {
			t.Errorf("%s, interrupted %t, %d sent, %+v", d.text(), h.Interrupted, sent(h), h.Faults)
		}
		if f := h.Faults[0]; f.End-f.Begin > time.Second {
			t.Errorf("it was in force for %s", f.End-f.Begin)
		}
	})
}

// Who is lost although there is no trouble leaves no fault behind, and none is made
// any more.
func TestLostBeforeAFaultInRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := faulted(t, scenarios.Server, 40, "at: 9s, for: 1s, kind: outage")
		d := newDiary(p)
		c := bubbled(p, decide(func(context.Context, limiter.Request) (limiter.Decision, error) { return limiter.Decision{}, io.EOF }))
		c.Inject = d.inject
		if h := run(t, t.Context(), c); h.Lost == nil || sent(h) != 10 || d.text() != "" || h.Faults[0].Made {
			t.Errorf("lost %v, %d sent, %q, %+v", h.Lost, sent(h), d.text(), h.Faults)
		}
	})
}

// A decision that a fault delayed into the next window is no missed edge.
func TestDelayedOnPurposeIsNotMisplaced(t *testing.T) {
	for _, row := range []struct {
		faults   []string
		attempts int
		why      string
	}{
		{[]string{"at: 1s, for: 1s, kind: stall"}, 1, "late on purpose"},
		{[]string{"at: 2500ms, for: 1s, kind: stall"}, 3, "late, and the fault came later"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := faulted(t, scenarios.Server, 12, row.faults...)
			d := newDiary(p)
			calls := 0
			c := bubbled(p, decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
				decision, err := answers(0)(ctx, r)
				if calls++; calls%12 == 6 {
					decision.At = decision.At.Add(p.Limit.Window)
				}
				return decision, err
			}))
			c.Inject = d.inject
			if h := run(t, t.Context(), c); h.Attempts != row.attempts || (h.Misplaced > 0) != (row.attempts > 1) {
				t.Errorf("%s: %d attempts, %d misplaced", row.why, h.Attempts, h.Misplaced)
			}
		})
	}
}
