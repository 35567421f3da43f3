package runner

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// liftTimeout bounds the making and the lifting of one fault.
const liftTimeout = 30 * time.Second

// saboteur makes the faults of a plan at their instants. Its methods are called
// by one goroutine at a time, but for busy.
type saboteur struct {
	run     *run
	events  []scenarios.FaultEvent // that are still to come
	forced  []Injected
	results []scenarios.FaultResult
	active  atomic.Int64 // faults between begin and end
}

func newSaboteur(r *run) *saboteur {
	n := len(r.Plan.Faults)
	return &saboteur{run: r, events: r.Plan.FaultEvents(), forced: make([]Injected, n), results: make([]scenarios.FaultResult, n)}
}

// busy reports whether a fault is in force, or being made or lifted.
func (s *saboteur) busy() bool { return s.active.Load() > 0 }

// advance does what is due at an instant, before anything is sent at it.
func (s *saboteur) advance(ctx context.Context, to time.Duration) {
	for len(s.events) > 0 && s.events[0].At <= to {
		s.next(ctx)
	}
}

// next does the next event.
func (s *saboteur) next(ctx context.Context) {
	e := s.events[0]
	s.events = s.events[1:]
	ctx, cancel := context.WithTimeout(ctx, liftTimeout)
	defer cancel()
	result := &s.results[e.Fault]
	if !e.Ends {
		s.active.Add(1)
		result.Made = true
		result.Hits = -1
		result.Begin = s.run.watch()
		s.forced[e.Fault], result.Err = s.run.Inject(ctx, e.Fault)
		result.Failed = result.Err != nil
		result.Force = s.run.watch()
		return
	}
	result.Lift = s.run.watch()
	if f := s.forced[e.Fault]; f != nil && result.Err == nil {
		result.Err = f.End(ctx)
		result.Hits = f.Hits()
	}
	result.End = s.run.watch()
	s.run.failures.Store(0)
	s.active.Add(-1)
}

// finish lifts what is in force, and leaves out what has not begun.
func (s *saboteur) finish(ctx context.Context) {
	s.events = slices.DeleteFunc(s.events, func(e scenarios.FaultEvent) bool { return !e.Ends || !s.results[e.Fault].Made })
	for len(s.events) > 0 {
		s.next(ctx)
	}
}

// inRealTime makes the faults beside the senders. The function that it returns is
// to be called when everything was sent; it lifts the rest.
func (s *saboteur) inRealTime(ctx, sending context.Context) (finish func()) {
	if len(s.events) == 0 {
		return func() {}
	}
	ctx, sent := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		for len(s.events) > 0 {
			timer := time.NewTimer(s.run.zero + s.events[0].At - s.run.watch())
			select {
			case <-timer.C:
				s.next(sending)
			case <-ctx.Done():
				timer.Stop()
				s.finish(sending)
				return
			}
		}
	})
	return func() {
		sent()
		beside.Wait()
	}
}

// delayed reports whether a request was in flight while there was trouble.
func (s *saboteur) delayed(r scenarios.Result) bool {
	return slices.ContainsFunc(s.results, func(f scenarios.FaultResult) bool { return f.Touches(r, scenarios.Aftermath) })
}
