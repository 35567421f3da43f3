package httplimit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Outcome is what became of a request as a whole.
type Outcome string

// The outcomes of a request. In shadow mode they are those that it would have had.
const (
	// OutcomeAdmitted requests were admitted by all policies in force.
	OutcomeAdmitted Outcome = "admitted"
	// OutcomeDenied requests were denied by one.
	OutcomeDenied Outcome = "denied"
	// OutcomeErrored requests could not be decided.
	OutcomeErrored Outcome = "errored"
	// OutcomeUnidentified requests had no name and were refused for it.
	OutcomeUnidentified Outcome = "unidentified"
	// OutcomeUnpriced requests had an impossible cost.
	OutcomeUnpriced Outcome = "unpriced"
	// OutcomeGone requests were cancelled by their client.
	OutcomeGone Outcome = "gone"
)

var outcomes = []Outcome{
	OutcomeAdmitted, OutcomeDenied, OutcomeErrored, OutcomeUnidentified, OutcomeUnpriced, OutcomeGone,
}

// Event is what became of one request. It carries no identity, with one
// exception: Err may be an error of Config.Identify, whose text is its author's.
type Event struct {
	// Pattern is of the route that ServeMux would have picked; empty for the
	// default route.
	Pattern string
	Outcome Outcome
	// Policies and Decisions belong together. Without a decision there are none
	// of the latter.
	Policies  []string
	Decisions []limiter.Decision
	// RetryAfter is the exact wait of a denied request for all policies that
	// denied it: limiter.Never when no wait helps, 0 when nobody knows.
	RetryAfter time.Duration
	// Status is what the request is refused with, 0 if it is passed on. In
	// shadow mode it is passed on all the same.
	Status int
	// Unidentified requests had no name. They may have shared a policy.
	Unidentified bool
	// Shadow says that the whole middleware refuses nothing.
	Shadow bool
	// Err is why there is no decision, no name or no cost.
	Err error
}

// shadow reports whether decision i is of a policy that is not in force.
func (e *Event) shadow(i int) bool { return e.Shadow || e.Decisions[i].Shadow }

// Log observes by writing to l: refusals as Info, what could not be decided as
// Warn, the rest as Debug. It writes patterns, policies and sources and never a
// path, a key or the text of an error, all of which may hold an identity. That a
// failure policy decides is told once an outage by the Logger of the limiter, and
// not with every request.
func Log(l *slog.Logger) func(context.Context, Event) {
	return func(ctx context.Context, e Event) {
		level := e.level()
		if !l.Enabled(ctx, level) {
			return
		}
		attrs := []slog.Attr{
			slog.String("route", e.Pattern),
			slog.String("outcome", string(e.Outcome)),
			slog.Int("status", e.Status),
			slog.Bool("shadow", e.Shadow),
		}
		if denied := e.deniedBy(); len(denied) > 0 {
			attrs = append(attrs, slog.Any("denied_by", denied))
		}
		if e.Outcome == OutcomeDenied && e.RetryAfter != limiter.Never {
			attrs = append(attrs, slog.Duration("retry_after", e.RetryAfter))
		}
		if source := e.failedTo(); source != "" {
			attrs = append(attrs, slog.String("decided_by", string(source)))
		}
		if e.Outcome == OutcomeErrored {
			attrs = append(attrs, slog.String("error", kind(e.Err)))
		}
		l.LogAttrs(ctx, level, "rate limit", attrs...)
	}
}

func (e *Event) level() slog.Level {
	switch {
	case e.Outcome == OutcomeErrored || e.Outcome == OutcomeUnpriced:
		return slog.LevelWarn
	case e.Outcome == OutcomeAdmitted && len(e.deniedBy()) == 0 || e.Outcome == OutcomeGone:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

// deniedBy are the policies that denied, those in shadow too.
func (e *Event) deniedBy() []string {
	var names []string
	for i, d := range e.Decisions {
		if !d.Allowed {
			names = append(names, e.Policies[i])
		}
	}
	return names
}

// failedTo is the source of the first decision that a failure policy made.
func (e *Event) failedTo() limiter.Source {
	for _, d := range e.Decisions {
		if d.Cause != nil {
			return d.Source
		}
	}
	return ""
}

// kind is all that may be told of an error: its text can name hosts and keys.
func kind(err error) string {
	switch {
	case errors.Is(err, limiter.ErrUnknown):
		return "fate unknown"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, errMixedSlots):
		return errMixedSlots.Error()
	case errors.Is(err, errMiscounted):
		return errMiscounted.Error()
	default:
		return "undecided"
	}
}
