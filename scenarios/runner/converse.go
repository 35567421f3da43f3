package runner

import (
	"context"
	"sync"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// conversation is an agenda in real time, shared by the senders.
type conversation struct {
	*run
	mu    sync.Mutex
	ready []int         // due and not sent
	wake  chan struct{} // something may be due earlier than thought
}

// converse sends in real time what is due as clients learn what became of it.
// As in paced, one sender at a time waits for the next instant.
func (r *run) converse(ctx, sending context.Context) {
	c := &conversation{run: r, wake: make(chan struct{}, 1)}
	turn := make(chan struct{}, 1) // and no mutex: time in a bubble stands still as long as somebody waits for one
	take := func() (int, scenarios.Arrival, bool) {
		turn <- struct{}{}
		defer func() { <-turn }()
		return c.take(ctx)
	}
	var senders sync.WaitGroup
	for range min(r.MaxInFlight, len(r.Plan.Arrivals)) {
		senders.Go(func() {
			for i, arrival, ok := take(); ok; i, arrival, ok = take() {
				result := r.fire(sending, arrival, r.stamp(), r.zero+arrival.At)
				c.tell(i, result)
			}
		})
	}
	senders.Wait()
}

// take waits until something is due. It is false if nothing is left for this
// sender: an answer that is still out makes one request due at most, and whoever
// gets the answer is there to send that.
func (c *conversation) take(ctx context.Context) (int, scenarios.Arrival, bool) {
	for !c.stopped(ctx) {
		i, arrival, at, state := c.look()
		switch state {
		case isDue:
			return i, arrival, true
		case isLater:
			c.waitUntil(ctx, c.zero+at, true, c.wake)
		case isOver:
			return 0, scenarios.Arrival{}, false
		}
	}
	return 0, scenarios.Arrival{}, false
}

type dueness int

const (
	isDue dueness = iota
	isLater
	isOver
)

// look says what is to be done next.
func (c *conversation) look() (int, scenarios.Arrival, time.Duration, dueness) {
	now := c.watch() - c.zero
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.ready) == 0 {
		at, ok := c.agenda.Next()
		switch {
		case !ok:
			return 0, scenarios.Arrival{}, 0, isOver
		case now < at:
			return 0, scenarios.Arrival{}, at, isLater
		}
		c.ready = c.agenda.Take()
		c.results.Grow(len(c.ready))
	}
	i := c.ready[0]
	c.ready = c.ready[1:]
	return i, c.agenda.Arrival(i), 0, isDue
}

// tell passes on what became of a request, and wakes who waits.
func (c *conversation) tell(i int, result scenarios.Result) {
	c.mu.Lock()
	c.results.Set(i, result)
	c.agenda.Tell(i, result.Done-c.zero, result)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
