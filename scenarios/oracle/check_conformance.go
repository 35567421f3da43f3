package oracle

import (
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// conformance demands that every decision equals the model's, remaining and
// waits included, for some order of the requests that their times allow.
func conformance(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	if c.Algorithm == nil || j.Measures.Admitted+j.Measures.Denied == 0 {
		return nil
	}
	if f, ok := answers(c); !ok {
		return []scenarios.Finding{f}
	}
	if !c.Tells.At {
		return []scenarios.Finding{{
			Check: "conformance", Verdict: scenarios.Inconclusive, Warn: true,
			Message: c.Name + ": not judged by its model, because it does not tell by which instant it decides",
		}}
	}
	h := operations(c)
	unordered, open := false, false
	for _, id := range h.decided {
		// Where it is known when a lost request would have been decided, both fates
		// can be tried.
		replies := h.lost(id)
		undecided := h.doubtful[id] && len(replies) == 0
		ops, exact := lives(c, append(h.of(id), replies...))
		for _, life := range ops {
			s := newSearch(c.Algorithm.Model, c.Tells, life, c.Plan.Clock == scenarios.Server)
			switch outcome := s.run(); {
			case outcome == explained:
			case outcome == gaveUp:
				unordered = true
			case undecided || !exact:
				open = true
			default:
				// One identity that contradicts the model is enough, whatever the others do.
				return []scenarios.Finding{{
					Check: "conformance", Verdict: scenarios.Fail,
					Message:  fmt.Sprintf("%s is not what it claims: a decision differs from the model %q", c.Name, c.Algorithm.Name),
					Evidence: s.explain(c),
				}}
			}
		}
	}
	switch {
	case unordered:
		return []scenarios.Finding{inconclusive(j, "conformance", "order-unknown",
			fmt.Sprintf("%s: too many concurrent requests to find the order in which they were decided", c.Name),
			"lower --max-in-flight or use --clock virtual")}
	case open && accidents(j.Measures) == 0:
		// What the scenario does on purpose is no reason to doubt all the rest.
		return []scenarios.Finding{{
			Check: "conformance", Verdict: scenarios.Inconclusive, Warn: true,
			Message: c.Name + ": not judged by its model, because replies were lost on purpose, and in real time nobody knows what became of those requests",
		}}
	case open:
		return []scenarios.Finding{inconclusive(j, "conformance", "unknown-outcomes",
			fmt.Sprintf("%s: requests of unknown fate leave an identity's decisions open", c.Name),
			"raise --timeout so that fewer replies are lost")}
	}
	n := j.Measures.Admitted + j.Measures.Denied - j.Measures.Elsewhere()
	message := fmt.Sprintf("all %d decisions equal the model's", n)
	if n == 1 {
		message = "the one decision equals the model's"
	}
	return []scenarios.Finding{{Check: "conformance", Verdict: scenarios.Pass, Message: message}}
}

// answers reports a decision that is about another instant than it was asked
// for. Only under the virtual clock is it known which that was.
func answers(c *Case) (scenarios.Finding, bool) {
	if c.Plan.Clock != scenarios.Virtual {
		return scenarios.Finding{}, true
	}
	for i, r := range c.Results.All() {
		if asked := stamp(c, c.Plan.Arrivals[i]); r.Outcome.Decided() && !r.Decision.At.Equal(asked) {
			return scenarios.Finding{
				Check: "conformance", Verdict: scenarios.Fail,
				Message:  fmt.Sprintf("%s decided about another instant than it was asked for", c.Name),
				Evidence: []string{"asked:   " + offset(c, asked), "decided: " + offset(c, r.Decision.At)},
			}, false
		}
	}
	return scenarios.Finding{}, true
}

// stamp is the instant that the sender of an arrival tells under the virtual clock.
func stamp(c *Case, a scenarios.Arrival) time.Time {
	return c.Edge.Add(a.At + c.Plan.Phases[a.Phase].Skew)
}

// operation is one decided request of an identity.
type operation struct {
	sent, done time.Duration
	at         int64 // of the decision, microseconds
	cost       int64
	limit      limiter.Limit
	decision   limiter.Decision
	// lost says that no reply came: the limiter may have decided it or not, and
	// then nobody knows how.
	lost bool
}

// lost reports whether nobody knows if the limiter has counted a request, whoever
// decided in the end.
func lost(r scenarios.Result) bool {
	return r.Outcome == scenarios.Unknown || byPolicy(r) && errors.Is(r.Decision.Cause, limiter.ErrUnknown)
}

// explain shows the request at which every order ended.
func (s *search) explain(c *Case) []string {
	op := s.deepest.op
	_, want := s.model.Step(op.limit, s.deepest.state, op.request())
	return []string{
		fmt.Sprintf("after %s in agreement, a request of cost %d at %s", scenarios.Counted(s.deepest.depth, "decision"), op.cost, offset(c, op.decision.At)),
		"limiter: " + describe(op.decision, s.tells),
		"model:   " + describe(want, s.tells),
	}
}

// describe writes what a limiter tells of a decision.
func describe(d limiter.Decision, t scenarios.Tells) string {
	text := "denied"
	if d.Allowed {
		text = "allowed"
	}
	if t.Remaining {
		text += fmt.Sprintf(", remaining %d", d.Remaining)
	}
	if t.Retry > 0 {
		text += ", retry after " + wait(d.RetryAfter)
	}
	if t.Reset > 0 {
		text += ", reset after " + wait(d.ResetAfter)
	}
	return text
}

func wait(d time.Duration) string {
	if d == limiter.Never {
		return "never"
	}
	return limiter.FormatDuration(d)
}
