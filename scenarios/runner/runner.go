// Package runner sends a plan to a limiter, at the right times, and writes down
// what happened.
package runner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// Config is one run of one plan against one limiter.
type Config struct {
	Limiter limiter.Limiter
	Plan    *scenarios.Plan
	// Identity names a key of the plan. A second attempt at a missed edge asks
	// for other names, so that it finds fresh budgets.
	Identity func(key int32, attempt int) string
	// MaxInFlight bounds concurrent requests. It never changes what is planned.
	MaxInFlight int
	// ServerClock is the clock of the Redis server minus this machine's. The
	// server clock needs it to find the edge.
	ServerClock func(context.Context) (time.Duration, error)
	// Patience is how long a target may answer nothing before it counts as lost.
	// Default 3 s.
	Patience time.Duration
	// Stopwatch is monotonic time; nil is real time. Only tests set it.
	Stopwatch func() time.Duration
	// Waiting is told which edge an attempt waits for; it may be nil.
	Waiting func(edge time.Time, attempt int)
	// Handled counts requests that are over, for progress. It may be nil.
	Handled *atomic.Int64
}

// History is what happened. Results[i] belongs to Plan.Arrivals[i].
type History struct {
	Results []scenarios.Result
	// Edge is the instant that offsets of the plan refer to, by the clock that
	// decided.
	Edge time.Time
	// Attempts counts tries at hitting the edge; 1 unless an edge was missed.
	Attempts int
	// Misplaced counts decisions of the last attempt that fell into another
	// window than the one their phase was planned for.
	Misplaced int
	// Interrupted says that the context ended before everything was sent.
	Interrupted bool
	// Lost is the error after which the target was given up.
	Lost error
}

// Limits of persistence.
const (
	// A missed edge is tried again at least minAttempts times in all, and up to
	// maxAttempts as long as that takes less than retryBudget: with short windows
	// a try costs little, and a busy machine misses often.
	minAttempts = 3
	maxAttempts = 10
	retryBudget = time.Minute
	// A target counts as lost when so many requests in a row have failed in
	// transport, over so long: a stall that ends by itself makes many requests
	// fail at once. What is left of the plan is missed.
	maxFailures     = 10
	defaultPatience = 3 * time.Second
)

// Run sends the plan. Cancelling the context stops sending and waits for what is
// in flight; the history is returned either way. An error means that nothing
// was sent.
func Run(ctx context.Context, c Config) (*History, error) {
	if c.MaxInFlight < 1 {
		return nil, fmt.Errorf("run %s: max in flight is %d; want at least 1", c.Plan.Scenario, c.MaxInFlight)
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	if c.Plan.Clock == scenarios.Virtual {
		r := newRun(c, c.Plan.Edge(), 1)
		r.virtual(ctx)
		return r.history(ctx), nil
	}
	return runWall(ctx, c)
}

// run is one attempt.
type run struct {
	Config
	identities []string
	edge       time.Time
	attempt    int
	results    []scenarios.Result
	watch      func() time.Duration
	failures   atomic.Int64 // in a row
	silent     atomic.Int64 // when the first of them was sent, by the stopwatch
	lost       atomic.Pointer[error]
}

func newRun(c Config, edge time.Time, attempt int) *run {
	r := &run{Config: c, edge: edge, attempt: attempt, results: make([]scenarios.Result, len(c.Plan.Arrivals)), watch: c.Stopwatch}
	if r.watch == nil {
		start := time.Now()
		r.watch = func() time.Duration { return time.Since(start) }
	}
	r.identities = make([]string, c.Plan.Keys)
	for k := range r.identities {
		r.identities[k] = c.Identity(int32(k), attempt)
	}
	return r
}

// fire sends one request and records its five facts. The context is one that
// an interrupt does not cancel: what was sent is waited for.
func (r *run) fire(ctx context.Context, i int, at time.Time) {
	arrival := r.Plan.Arrivals[i]
	request := limiter.Request{Key: r.identities[arrival.Key], At: at, Cost: arrival.Cost}
	result := &r.results[i]
	result.Sent = r.watch()
	decision, err := r.Limiter.Allow(ctx, request)
	result.Done = r.watch()
	if r.Handled != nil {
		r.Handled.Add(1)
	}
	if err != nil {
		r.fail(result, err)
		return
	}
	r.failures.Store(0)
	result.Decision = decision
	result.Outcome = scenarios.Denied
	if decision.Allowed {
		result.Outcome = scenarios.Admitted
	}
}

func (r *run) fail(result *scenarios.Result, err error) {
	result.Err = err
	result.Outcome = scenarios.Errored
	if errors.Is(err, limiter.ErrUnknown) {
		result.Outcome = scenarios.Unknown
	}
	if limiter.Answered(err) {
		r.failures.Store(0)
		return
	}
	n := r.failures.Add(1)
	if n == 1 {
		r.silent.Store(int64(result.Sent))
	}
	if n >= maxFailures && result.Done-time.Duration(r.silent.Load()) >= r.Patience {
		r.lost.CompareAndSwap(nil, &err)
	}
}

// stopped reports whether no more should be sent.
func (r *run) stopped(ctx context.Context) bool {
	return ctx.Err() != nil || r.lost.Load() != nil
}

// history closes the attempt.
func (r *run) history(ctx context.Context) *History {
	h := &History{Results: r.results, Edge: r.edge, Attempts: r.attempt, Misplaced: r.misplaced()}
	sent := 0
	for _, result := range r.results {
		if result.Outcome != scenarios.Missed {
			sent++
		}
	}
	h.Interrupted = ctx.Err() != nil && sent < len(r.results)
	if err := r.lost.Load(); err != nil {
		h.Lost = *err
	} else if n := int(r.failures.Load()); n >= maxFailures || n > 0 && n == sent {
		// It ended without a word, too soon to say for how long.
		h.Lost = r.lastError()
	}
	return h
}

func (r *run) lastError() error {
	for i := len(r.results) - 1; i >= 0; i-- {
		if r.results[i].Err != nil {
			return r.results[i].Err
		}
	}
	return nil
}
