package httplimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Middleware limits requests. It is safe for concurrent use and needs no
// closing; the Decider belongs to the caller.
type Middleware struct {
	config   Config
	routes   *routes
	fields   *fields
	counters *Counters
}

var (
	errNoKey      = errors.New("identify: no key")
	errMixedSlots = errors.New("identify: the names of one request have different slots")
	errMiscounted = errors.New("decide: not one decision for each charge")
	errCost       = errors.New("cost is negative or too high")
)

// New makes a middleware, or says everything that is wrong with the configuration.
func New(c Config) (*Middleware, error) {
	routes, routesErr := newRoutes(c)
	fields, fieldsErr := newFields(c.Dialects, c.Policies)
	if err := errors.Join(c.validate(), routesErr, fieldsErr); err != nil {
		return nil, fmt.Errorf("new HTTP limit: %w", err)
	}
	if c.Random == nil {
		c.Random = rand.Int64N
	}
	if c.Refuse == nil {
		c.Refuse = func(w http.ResponseWriter, r *http.Request, p Problem) { p.Write(w, r) }
	}
	return &Middleware{config: c, routes: routes, fields: fields, counters: newCounters(c.Policies)}, nil
}

// Counters are the middleware's own.
func (m *Middleware) Counters() *Counters { return m.counters }

// Wrap puts the middleware in front of a handler. Handlers wrapped by the same
// middleware share budgets and counters. A request that passes through two is
// charged twice.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.admit(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}

// admit sets the response's fields and reports whether the handler is to run;
// if not, the response is written.
func (m *Middleware) admit(w http.ResponseWriter, r *http.Request) bool {
	if m.config.Skip != nil && m.config.Skip(r) {
		return true
	}
	e, policies := m.decide(r)
	if e.Outcome == "" {
		return true // nothing to charge
	}
	m.counters.count(&e, policies)
	if m.config.Observe != nil {
		m.config.Observe(r.Context(), e)
	}
	if m.config.Shadow {
		return true
	}
	retry := m.retrySeconds(&e)
	m.fields.set(w.Header(), &e, policies, retry)
	if e.Status == 0 {
		return true
	}
	// RFC 6585, section 4: a cache must not store a 429. Nor should it a 503.
	w.Header().Set("Cache-Control", "no-store")
	m.config.Refuse(w, r, newProblem(&e, retry))
	return false
}

// decide charges a request. policies are the places of the event's policies in
// Config.Policies. Without charges the event is zero.
func (m *Middleware) decide(r *http.Request) (e Event, policies []int) {
	var room [4]*entry
	found := m.routes.find(r, room[:0])
	charges, policies, err := price(found, r)
	if len(charges) == 0 && err == nil {
		return Event{}, nil
	}
	e = Event{Pattern: found[0].pattern, Shadow: m.config.Shadow, Err: err}
	if err != nil {
		e.Outcome, e.Status = OutcomeUnpriced, http.StatusBadRequest
		return e, nil
	}
	joint, err := m.identify(r, charges)
	if err != nil && !errors.Is(err, errMixedSlots) {
		e.Unidentified = true
		if m.config.OnUnidentified.Policy == "" {
			e.Outcome, e.Status, e.Err = OutcomeUnidentified, m.config.OnUnidentified.Status, err
			return e, nil
		}
		joint, policies = m.shared(charges)
		err = nil
	}
	e.Policies = names(joint.Charges)
	if err != nil {
		m.fail(&e, err)
		return e, policies
	}
	m.ask(r.Context(), joint, &e)
	return e, policies
}

// ask lets the decider decide, unless nobody waits for the answer.
func (m *Middleware) ask(ctx context.Context, j limiter.Joint, e *Event) {
	if gone(ctx, e) {
		return
	}
	decisions, err := m.config.Decider.Allow(ctx, j)
	switch {
	case err != nil:
		m.fail(e, err)
	case len(decisions) != len(j.Charges):
		m.fail(e, errMiscounted)
	default:
		e.Decisions = decisions
		e.conclude()
	}
	gone(ctx, e)
}

// gone concludes a request whose client went away. Its handler does not run.
// The status is for those who cancel a request and still read its response: an
// empty one would be taken for a success.
func gone(ctx context.Context, e *Event) bool {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	e.Outcome, e.Status, e.Err = OutcomeGone, http.StatusServiceUnavailable, ctx.Err()
	return true
}

func (m *Middleware) fail(e *Event, err error) {
	e.Outcome, e.Err = OutcomeErrored, err
	if m.config.OnError == ErrorRefuses {
		e.Status = http.StatusServiceUnavailable
	}
}

// conclude works out the joint answer. The longest wait is the wait for all:
// while nobody else comes, a policy that admits goes on admitting.
func (e *Event) conclude() {
	e.Outcome = OutcomeAdmitted
	guessed, unknown := true, false
	for i := range e.Decisions {
		d := &e.Decisions[i]
		if d.Allowed || d.Shadow {
			continue
		}
		e.Outcome = OutcomeDenied
		guessed = guessed && d.Source == limiter.SourceFailClosed
		unknown = unknown || d.RetryAfter <= 0
		e.RetryAfter = max(e.RetryAfter, d.RetryAfter)
	}
	if e.Outcome == OutcomeAdmitted {
		return
	}
	e.Status = http.StatusTooManyRequests
	if guessed {
		e.Status = http.StatusServiceUnavailable // no quota is known to be exceeded
	}
	if unknown && e.RetryAfter != limiter.Never {
		e.RetryAfter = 0
	}
}

// retrySeconds is the value of Retry-After, 0 for none: whole seconds, rounded
// up, and jitter on top.
func (m *Middleware) retrySeconds(e *Event) int64 {
	if e.Outcome != OutcomeDenied || e.RetryAfter <= 0 || e.RetryAfter == limiter.Never {
		return 0
	}
	s := seconds(e.RetryAfter)
	if jitter := int64(m.config.Jitter / time.Second); jitter > 0 {
		s += min(max(m.config.Random(jitter+1), 0), jitter)
	}
	return s
}
