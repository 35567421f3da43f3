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
	// Limiters are the limiter of each phase of the plan, by its number.
	Limiters []limiter.Limiter
	Plan     *scenarios.Plan
	// Identity names a client of the plan under one of its pseudonyms. A second
	// attempt at a missed edge asks for other names, so that it finds fresh
	// budgets.
	Identity func(id scenarios.Identity, attempt int) string
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
	// Inject puts a fault of the plan in force, by its number. Plans without faults
	// need none.
	Inject func(ctx context.Context, fault int) (Injected, error)
	// Handled counts requests that are over, for progress. It may be nil.
	Handled *atomic.Int64
}

// Injected is a fault that is in force.
type Injected interface {
	// End lifts it, and returns when all is well again.
	End(ctx context.Context) error
	// Hits is how many operations it hit so far; -1 if it cannot tell.
	Hits() int64
}

// History is what happened. Results.At(i) belongs to Plan.Arrivals[i]; who has judged
// them closes them.
type History struct {
	// Plan is the plan that was run; where clients retry, with their retries, and
	// if it ended early with those that would have been next.
	Plan    *scenarios.Plan
	Results *scenarios.Log
	// Faults[i] is what became of Plan.Faults[i].
	Faults []scenarios.FaultResult
	// Stopwatch tells what time it is on the clock of the results' offsets.
	Stopwatch func() time.Duration
	// Edge is the instant that offsets of the plan refer to, by the clock that
	// decided.
	Edge time.Time
	// Attempts counts tries at hitting the edge; 1 unless an edge was missed.
	Attempts int
	// Misplaced counts decisions of the last attempt that fell into another
	// window than the one their phase was planned for.
	Misplaced int
	// Curbed says that clients wanted to retry more often than they may.
	Curbed bool
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
	if len(c.Plan.Faults) > 0 && c.Inject == nil {
		return nil, fmt.Errorf("run %s: nobody makes its faults", c.Plan.Scenario)
	}
	if len(c.Limiters) != len(c.Plan.Phases) {
		return nil, fmt.Errorf("run %s: %d limiters for %d phases", c.Plan.Scenario, len(c.Limiters), len(c.Plan.Phases))
	}
	if c.Patience == 0 {
		c.Patience = defaultPatience
	}
	if c.Plan.Clock == scenarios.Virtual {
		r := newRun(c, 1)
		r.edge = c.Plan.Edge()
		r.virtual(ctx)
		return r.history(ctx), nil
	}
	return runWall(ctx, c)
}

// run is one attempt.
type run struct {
	Config
	identities map[int32][]string // by pseudonym, then by key
	edge       time.Time
	zero       time.Duration // the edge, by the stopwatch; unused if virtual
	attempt    int
	results    *scenarios.Log
	agenda     *scenarios.Agenda // nil where nobody retries
	watch      func() time.Duration
	failures   atomic.Int64 // in a row
	silent     atomic.Int64 // when the first of them was sent, by the stopwatch
	lost       atomic.Pointer[error]
	saboteur   *saboteur
	cut        int // 1 + where an overload ended the run; 0 is not at all
}

func newRun(c Config, attempt int) *run {
	r := &run{Config: c, attempt: attempt, watch: c.Stopwatch, identities: map[int32][]string{}}
	if c.Plan.Retries() {
		r.agenda, r.results = scenarios.NewAgenda(c.Plan), scenarios.NewLog(0)
	} else {
		r.results = scenarios.NewLog(len(c.Plan.Arrivals))
	}
	if r.watch == nil {
		start := time.Now()
		r.watch = func() time.Duration { return time.Since(start) }
	}
	r.saboteur = newSaboteur(r)
	for _, phase := range c.Plan.Phases {
		r.name(phase.Pseudonym)
		if phase.Also != nil {
			r.name(*phase.Also)
		}
	}
	return r
}

// name makes the names of all clients under one of their pseudonyms.
func (r *run) name(pseudonym int32) {
	if r.identities[pseudonym] != nil {
		return
	}
	names := make([]string, r.Plan.Keys)
	for k := range names {
		names[k] = r.Identity(scenarios.Identity{Key: int32(k), Pseudonym: pseudonym}, r.attempt)
	}
	r.identities[pseudonym] = names
}

// fire sends one request and returns what happened. The context is one that an
// interrupt does not cancel: what was sent is waited for.
func (r *run) fire(ctx context.Context, a scenarios.Arrival, at time.Time, planned time.Duration) scenarios.Result {
	phase := &r.Plan.Phases[a.Phase]
	request := limiter.Request{Key: r.identities[phase.Pseudonym][a.Key], Cost: a.Cost}
	if phase.Also != nil {
		request.Also = r.identities[*phase.Also][a.Key]
	}
	if !at.IsZero() {
		request.At = at.Add(phase.Skew)
	}
	result := scenarios.Result{Planned: planned, Sent: r.watch()}
	decision, err := r.Limiters[a.Phase].Allow(ctx, request)
	result.Done = r.watch()
	if r.Handled != nil {
		r.Handled.Add(1)
	}
	if err != nil {
		r.fail(&result, err)
		return result
	}
	r.failures.Store(0)
	if decision.At.IsZero() {
		decision.At = r.decidedAt(request, result)
	}
	result.Decision, result.Outcome = decision, scenarios.OutcomeOf(decision)
	return result
}

// decidedAt is the instant of a decision that does not tell it: the one that was
// asked for, or else one between sending and reply.
func (r *run) decidedAt(request limiter.Request, result scenarios.Result) time.Time {
	at := request.At
	if at.IsZero() {
		at = r.edge.Add((result.Sent+result.Done)/2 - r.zero)
	}
	return at.Truncate(time.Microsecond)
}

func (r *run) fail(result *scenarios.Result, err error) {
	result.Err = err
	result.Outcome = scenarios.Errored
	if errors.Is(err, limiter.ErrUnknown) {
		result.Outcome = scenarios.Unknown
	}
	// While there is trouble on purpose nobody is lost.
	if limiter.Answered(err) || r.saboteur.busy() {
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
	if r.agenda != nil {
		r.outstanding()
		r.Plan = r.agenda.Plan()
		r.results.Grow(len(r.Plan.Arrivals) - r.results.Len())
	}
	if n := r.cut - 1; n >= 0 {
		r.Plan = r.Plan.Until(n)
		r.results.Cut(n)
	}
	h := &History{
		Plan: r.Plan, Results: r.results, Edge: r.edge, Attempts: r.attempt, Misplaced: r.misplaced(), Stopwatch: r.watch, Faults: r.saboteur.results,
	}
	h.Curbed = r.agenda != nil && r.agenda.Curbed()
	sent := r.results.Told()
	h.Interrupted = ctx.Err() != nil && sent < r.results.Len()
	if err := r.lost.Load(); err != nil {
		h.Lost = *err
	} else if n := int(r.failures.Load()); n >= maxFailures || n > 0 && n == sent {
		// It ended without a word, too soon to say for how long.
		h.Lost = r.lastError()
	}
	return h
}

// outstanding adds what clients would have sent next to the plan of a run that
// ended early, where it counts as missed. Retries that wait are in no plan, and a
// run without them would look complete.
func (r *run) outstanding() {
	for _, ok := r.agenda.Next(); ok; _, ok = r.agenda.Next() {
		if len(r.agenda.Take()) > 0 {
			return
		}
	}
}

func (r *run) lastError() error {
	for i := r.results.Len() - 1; i >= 0; i-- {
		if err := r.results.At(i).Err; err != nil {
			return err
		}
	}
	return nil
}
