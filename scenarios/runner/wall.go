package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

const (
	// headroom is the least time between finding an edge and the first request.
	headroom = 50 * time.Millisecond
	// coarse is how long before a request the runtime's timers are left for a
	// nap, and spin how long before it the nap is left for watching the clock:
	// each ends late by about that much.
	coarse = 2 * time.Millisecond
	spin   = 100 * time.Microsecond
)

// runWall sends in real time, around an edge that is really ahead. Whether each
// decision fell on the right side is only known afterwards; if one did not, the
// attempt is repeated with fresh budgets.
func runWall(ctx context.Context, c Config) (*History, error) {
	begin := time.Now()
	var h *History // of the attempt before
	for attempt := 1; ; attempt++ {
		// What takes long with a long plan comes before the edge is chosen.
		r := newRun(c, attempt)
		offset, err := clockOffset(ctx, c)
		switch {
		case err != nil && h == nil:
			return nil, err
		case err != nil:
			h.Lost = err
			return h, nil
		case h != nil: // nobody will need what it found
			h.Results.Close()
			if c.Handled != nil {
				c.Handled.Add(-int64(h.Results.Len()))
			}
		}
		first, _ := c.Plan.Span()
		r.edge = nextEdge(time.Now().Add(offset+headroom-first), c.Plan.Limit.Window)
		if c.Waiting != nil {
			c.Waiting(r.edge, attempt)
		}
		r.paced(ctx, r.edge.Add(-offset))
		h = r.history(ctx)
		again := attempt < minAttempts || attempt < maxAttempts && time.Since(begin) < retryBudget
		// An interrupt that came with the last request cut nothing short, but another
		// attempt would have no request at all.
		if h.Misplaced == 0 || !again || ctx.Err() != nil || h.Lost != nil {
			return h, nil
		}
	}
}

func clockOffset(ctx context.Context, c Config) (time.Duration, error) {
	if c.Plan.Clock != scenarios.Server {
		return 0, nil
	}
	if c.ServerClock == nil {
		return 0, errors.New("run: the server clock is not known for this target")
	}
	offset, err := c.ServerClock(ctx)
	if err != nil {
		return 0, fmt.Errorf("run: find the server's window edge: %w", err)
	}
	return offset, nil
}

// nextEdge is the first multiple of the window at or after an instant.
func nextEdge(after time.Time, window time.Duration) time.Time {
	width := window.Microseconds()
	return time.UnixMicro((after.UnixMicro() + width - 1) / width * width).UTC()
}

// paced sends each arrival at its instant. Who is late is sent late, and the
// delay is recorded as the difference between planned and sent; the schedule
// itself never moves. What has piled up is not sent all at once: see catchUp.
//
// The senders take turns: one waits for the next instant and then sends by
// itself, while the others wait for the turn. Note: tried one pacer that hands
// requests to waiting senders; waking a sender took up to a millisecond.
func (r *run) paced(ctx context.Context, edge time.Time) {
	sending := context.WithoutCancel(ctx)
	// Read both clocks once, so that instants become offsets of the stopwatch.
	start, base := r.watch(), time.Now()
	r.zero = start + edge.Sub(base)
	defer r.saboteur.inRealTime(ctx, sending)()
	if r.agenda != nil {
		r.converse(ctx, sending)
		return
	}
	turn := make(chan struct{}, 1) // and no mutex: time in a bubble stands still as long as somebody waits for one
	next := 0
	behind := newCatchUp(r.Plan)
	take := func() (int, bool) {
		turn <- struct{}{}
		defer func() { <-turn }()
		if next == len(r.Plan.Arrivals) {
			return 0, false
		}
		at, now, gap := r.Plan.Arrivals[next].At, r.watch(), spin
		if next > 0 {
			gap = at - r.Plan.Arrivals[next-1].At
		}
		planned := r.zero + at
		if r.Plan.Overload > 0 && now-planned > r.Plan.Overload {
			r.cut = next + 1 // nobody who comes after is less late
			return 0, false
		}
		if !r.waitUntil(ctx, behind.due(planned, gap, now), gap >= spin, nil) {
			return 0, false
		}
		behind.sent = r.watch()
		next++
		return next - 1, true
	}
	var senders sync.WaitGroup
	for range min(r.MaxInFlight, len(r.Plan.Arrivals)) {
		senders.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				arrival := r.Plan.Arrivals[i]
				r.results.Set(i, r.fire(sending, arrival, r.stamp(), r.zero+arrival.At))
			}
		})
	}
	senders.Wait()
}

// stamp is the instant that a request carries: none if the server decides.
func (r *run) stamp() time.Time {
	if r.Plan.Clock == scenarios.Client {
		return time.Now()
	}
	return time.Time{}
}

// waitUntil returns at an instant of the stopwatch, or before it when it is woken,
// or false if there is nothing more to send. Who is not exact may return a nap late:
// where requests are dense, watching the clock would take a core from the target.
func (r *run) waitUntil(ctx context.Context, at time.Duration, exact bool, wake <-chan struct{}) bool {
	if r.stopped(ctx) {
		return false
	}
	if d := at - r.watch() - coarse; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-wake:
			return !r.stopped(ctx)
		case <-ctx.Done():
			return false
		}
	}
	if !exact && wake == nil {
		if d := at - r.watch(); d > 0 {
			nap(d)
		}
		return !r.stopped(ctx)
	}
	if r.doze(at, wake) {
		return !r.stopped(ctx)
	}
	for r.watch() < at {
		runtime.Gosched()
	}
	return !r.stopped(ctx)
}

// doze naps until shortly before an instant, or in small pieces if somebody may
// wake it; it reports whether somebody did.
func (r *run) doze(at time.Duration, wake <-chan struct{}) bool {
	for d := at - r.watch() - spin; d > 0; d = at - r.watch() - spin {
		if wake == nil {
			nap(d)
			return false
		}
		nap(min(d, spin))
		select {
		case <-wake:
			return true
		default:
		}
	}
	return false
}
