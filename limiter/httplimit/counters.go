package httplimit

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rlbench/rlbench/limiter"
)

// Counters count since New what became of requests and what policies said. They
// are safe for concurrent use.
type Counters struct {
	requests [6]atomic.Int64 // by place in outcomes
	policies []policyCounters
}

// policyCounters are of one policy. Failures are rare, so they share a lock.
type policyCounters struct {
	name                                   string
	admitted, denied, wouldDeny, uncharged atomic.Int64
	errors                                 atomic.Int64

	mu       sync.Mutex
	failures map[limiter.Source]int64
}

// PolicyCounts is what one policy has said so far. The first four sum to its
// decisions.
type PolicyCounts struct {
	Policy string
	// Admitted requests were charged to the policy.
	Admitted int64
	// Denied requests were denied by the policy, and maybe by others.
	Denied int64
	// WouldDeny requests were denied by the policy in shadow.
	WouldDeny int64
	// Uncharged requests were admitted by the policy and denied by another, in
	// force or, in a shadow middleware, as if it were.
	Uncharged int64
	// Failures are those of all decisions that a failure policy made, by source.
	Failures map[limiter.Source]int64
	// Errors are requests that got no decision.
	Errors int64
}

func newCounters(policies []limiter.Policy) *Counters {
	c := &Counters{policies: make([]policyCounters, len(policies))}
	for i, p := range policies {
		c.policies[i].name = p.Name
		c.policies[i].failures = map[limiter.Source]int64{limiter.SourceFailOpen: 0, limiter.SourceFailClosed: 0}
	}
	return c
}

// count adds a request; policies are the places of its policies.
func (c *Counters) count(e *Event, policies []int) {
	c.requests[slices.Index(outcomes, e.Outcome)].Add(1)
	if e.Outcome == OutcomeErrored {
		for _, p := range policies {
			c.policies[p].errors.Add(1)
		}
	}
	charged := limiter.Allowed(e.Decisions)
	for i, d := range e.Decisions {
		p := &c.policies[policies[i]]
		switch {
		case d.Allowed && charged:
			p.admitted.Add(1)
		case d.Allowed:
			p.uncharged.Add(1)
		case e.shadow(i):
			p.wouldDeny.Add(1)
		default:
			p.denied.Add(1)
		}
		if d.Cause != nil {
			p.mu.Lock()
			p.failures[d.Source]++
			p.mu.Unlock()
		}
	}
}

// Requests counts the requests with an outcome.
func (c *Counters) Requests(o Outcome) int64 {
	i := slices.Index(outcomes, o)
	if i < 0 {
		return 0
	}
	return c.requests[i].Load()
}

// Policies are the counts of all policies, in the order of Config.Policies.
// Requests that are counted meanwhile may be in some numbers and not in others.
func (c *Counters) Policies() []PolicyCounts {
	counts := make([]PolicyCounts, len(c.policies))
	for i := range c.policies {
		p := &c.policies[i]
		counts[i] = PolicyCounts{
			Policy:    p.name,
			Admitted:  p.admitted.Load(),
			Denied:    p.denied.Load(),
			WouldDeny: p.wouldDeny.Load(),
			Uncharged: p.uncharged.Load(),
			Errors:    p.errors.Load(),
			Failures:  map[limiter.Source]int64{},
		}
		p.mu.Lock()
		for source, n := range p.failures {
			counts[i].Failures[source] = n
		}
		p.mu.Unlock()
	}
	return counts
}
