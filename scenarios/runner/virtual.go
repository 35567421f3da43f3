package runner

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/rlbench/rlbench/scenarios"
)

// virtual sends the plan as fast as it can, with planned instants. Requests of
// one instant are released together; an instant begins when the one before is
// over, so that time never runs backwards for the limiter.
func (r *run) virtual(ctx context.Context) {
	sending := context.WithoutCancel(ctx)
	if r.agenda != nil {
		r.reactive(ctx, sending)
		return
	}
	arrivals := r.Plan.Arrivals
	for first := 0; first < len(arrivals) && !r.stopped(ctx); {
		next := first + 1
		for next < len(arrivals) && arrivals[next].At == arrivals[first].At {
			next++
		}
		r.saboteur.advance(sending, arrivals[first].At)
		r.together(ctx, sending, arrivals[first:next], first)
		first = next
	}
	r.saboteur.finish(sending)
}

// reactive sends what is due, tells the clients what became of it, and looks
// again: they may want more at the same instant.
func (r *run) reactive(ctx, sending context.Context) {
	defer r.saboteur.finish(sending)
	for !r.stopped(ctx) {
		at, ok := r.agenda.Next()
		if !ok {
			return
		}
		r.saboteur.advance(sending, at)
		numbers := r.agenda.Take()
		first := r.results.Len()
		arrivals := make([]scenarios.Arrival, len(numbers))
		for i, n := range numbers {
			arrivals[i] = r.agenda.Arrival(n)
		}
		r.results.Grow(len(numbers))
		r.together(ctx, sending, arrivals, first)
		for i, n := range numbers {
			if result := r.results.At(first + i); result.Outcome != scenarios.Missed {
				r.agenda.Tell(n, at, result)
			}
		}
	}
}

// together releases arrivals of one instant at once from as many callers as may
// be in flight. All callers exist and wait before the first may send. first is the
// place of the first result.
func (r *run) together(ctx, sending context.Context, arrivals []scenarios.Arrival, first int) {
	if len(arrivals) == 0 {
		return
	}
	at := r.edge.Add(arrivals[0].At)
	if len(arrivals) == 1 {
		r.results.Set(first, r.fire(sending, arrivals[0], at, 0))
		return
	}
	barrier := make(chan struct{})
	var ready, done sync.WaitGroup
	var taken atomic.Int64
	callers := min(len(arrivals), r.MaxInFlight)
	ready.Add(callers)
	for range callers {
		done.Go(func() {
			ready.Done()
			<-barrier
			for !r.stopped(ctx) {
				i := int(taken.Add(1)) - 1
				if i >= len(arrivals) {
					return
				}
				r.results.Set(first+i, r.fire(sending, arrivals[i], at, 0))
			}
		})
	}
	ready.Wait()
	close(barrier)
	done.Wait()
}
