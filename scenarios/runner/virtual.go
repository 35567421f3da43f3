package runner

import (
	"context"
	"sync"
	"sync/atomic"
)

// virtual sends the plan as fast as it can, with planned instants. Requests of
// one instant are released together; an instant begins when the one before is
// over, so that time never runs backwards for the limiter.
func (r *run) virtual(ctx context.Context) {
	sending := context.WithoutCancel(ctx)
	arrivals := r.Plan.Arrivals
	for first := 0; first < len(arrivals) && !r.stopped(ctx); {
		next := first + 1
		for next < len(arrivals) && arrivals[next].At == arrivals[first].At {
			next++
		}
		if next == first+1 {
			r.fire(sending, first, r.edge.Add(arrivals[first].At))
		} else {
			r.together(ctx, sending, first, next)
		}
		first = next
	}
}

// together releases the arrivals [first, next) at once from as many callers as
// may be in flight. All callers exist and wait before the first may send.
func (r *run) together(ctx, sending context.Context, first, next int) {
	at := r.edge.Add(r.Plan.Arrivals[first].At)
	barrier := make(chan struct{})
	var ready, done sync.WaitGroup
	var taken atomic.Int64
	taken.Store(int64(first))
	callers := min(next-first, r.MaxInFlight)
	ready.Add(callers)
	for range callers {
		done.Go(func() {
			ready.Done()
			<-barrier
			for !r.stopped(ctx) {
				i := int(taken.Add(1)) - 1
				if i >= next {
					return
				}
				r.fire(sending, i, at)
			}
		})
	}
	ready.Wait()
	close(barrier)
	done.Wait()
}
