package limiter

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// Circuit stops asking a Redis that does not answer, so that requests do not
// wait for it in vain, and finds out when it answers again. It has no goroutine:
// every Probe interval one request is sent after all, and if it is answered, the
// circuit closes.
//
// It opens after Failures requests in a row that were not answered: no
// connection could be made or came free, no reply came in time, or the
// connection broke. An error that Redis answers with (OOM, READONLY, NOPERM,
// LOADING) costs nobody time and is a sign of life: it opens nothing, and closes
// an open circuit. A request whose own context ended says nothing, or a client
// with short deadlines could open it for everybody.
//
// The zero value works. Set the fields before the first use, share it by
// pointer, and do not copy it. It is safe for concurrent use.
type Circuit struct {
	// Failures in a row open it. Default 5; a negative number never opens it.
	Failures int
	// Probe is how often a request finds out whether Redis is back while the
	// circuit is open. Default 100 ms.
	Probe time.Duration
	// InFlight is how many requests may wait for Redis at once, for a connection
	// or a reply; more are decided by the failure policy, with ErrBusy. It bounds
	// what piles up until the circuit opens. Default 4096; a negative number is
	// no bound.
	InFlight int
	// Now is its clock. Default time.Now.
	Now func() time.Time

	failures atomic.Int64
	inFlight atomic.Int64
	outage   atomic.Pointer[outage] // nil: closed
	opened   atomic.Int64           // how often
	openFor  atomic.Int64           // ns, of outages that are over
}

// The defaults of a Circuit.
const (
	DefaultFailures = 5
	DefaultProbe    = 100 * time.Millisecond
	DefaultInFlight = 4096
)

// ErrCircuitOpen marks a request that was not sent because the circuit is open.
// The error is a *CircuitError.
var ErrCircuitOpen = errors.New("circuit open: Redis is not asked")

// ErrBusy marks a request that was not sent because too many wait for Redis.
var ErrBusy = errors.New("decide in Redis: too many requests wait for it already")

// CircuitError is an ErrCircuitOpen that says more.
type CircuitError struct {
	Since time.Time // when the circuit opened
	// Last is how the last request that was sent ended. CircuitError does not
	// wrap it: it is another request's.
	Last error
}

func (e *CircuitError) Error() string {
	return fmt.Sprintf("%v since %s; the last request got: %v", ErrCircuitOpen, e.Since.UTC().Format(time.RFC3339Nano), e.Last)
}

// Unwrap makes it an ErrCircuitOpen.
func (e *CircuitError) Unwrap() error { return ErrCircuitOpen }

// Open reports whether the circuit is open.
func (c *Circuit) Open() bool { return c.outage.Load() != nil }

func (c *Circuit) validate() []error {
	if c != nil && c.Probe < 0 {
		return []error{fmt.Errorf("probe interval %s of the circuit is negative", c.Probe)}
	}
	return nil
}

func (c *Circuit) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// enter lets a request through to Redis, or says why not. Whoever gets through
// leaves, and hands the generation to failed.
func (c *Circuit) enter() (generation int64, err error) {
	if o := c.outage.Load(); o != nil && !o.probe(c.now(), cmp.Or(c.Probe, DefaultProbe)) {
		return 0, o.cause.Load()
	}
	most := int64(cmp.Or(c.InFlight, DefaultInFlight))
	if n := c.inFlight.Add(1); n > most && most > 0 {
		c.leave()
		return 0, ErrBusy
	}
	return c.opened.Load(), nil
}

func (c *Circuit) leave() { c.inFlight.Add(-1) }

// answered notes a sign of life.
func (c *Circuit) answered(log *slog.Logger) {
	if c.failures.Load() != 0 {
		c.failures.Store(0)
	}
	o := c.outage.Load()
	if o == nil || !c.outage.CompareAndSwap(o, nil) {
		return
	}
	lasted := c.now().Sub(o.since)
	c.openFor.Add(int64(lasted))
	log.Info("rate limiter: Redis answers again", "open_for", lasted,
		"admitted", o.admitted.Load(), "denied", o.denied.Load(), "undecided", o.undecided.Load())
}

// failed notes a request of a generation that was not answered. One that was sent
// before the last outage says nothing about now.
func (c *Circuit) failed(generation int64, err error, log *slog.Logger) {
	if o := c.outage.Load(); o != nil {
		o.cause.Store(&CircuitError{o.since, err})
		return
	}
	most := int64(cmp.Or(c.Failures, DefaultFailures))
	if most < 0 || generation != c.opened.Load() || c.failures.Add(1) < most {
		return
	}
	o := &outage{since: c.now()}
	o.cause.Store(&CircuitError{o.since, err})
	if !c.outage.CompareAndSwap(nil, o) {
		return
	}
	c.opened.Add(1)
	c.failures.Store(0)
	log.Warn("rate limiter: Redis does not answer and is not asked", "failures", most, "error", err)
}

// outage is one time that a circuit is open.
type outage struct {
	since time.Time
	cause atomic.Pointer[CircuitError]
	next  atomic.Int64 // when to probe: ns after since, so that a monotonic clock counts

	admitted, denied, undecided atomic.Int64 // by the failure policies
}

// probe reports whether it is time, to one caller an interval.
func (o *outage) probe(now time.Time, interval time.Duration) bool {
	age, next := int64(now.Sub(o.since)), o.next.Load()
	return age >= max(next, int64(interval)) && o.next.CompareAndSwap(next, age+int64(interval))
}

// decided counts what a failure policy made of a request, for the log.
func (c *Circuit) decided(d Decision, err error) {
	o := c.outage.Load()
	switch {
	case o == nil:
	case err != nil:
		o.undecided.Add(1)
	case d.Allowed:
		o.admitted.Add(1)
	default:
		o.denied.Add(1)
	}
}
