package oracle

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rlbench/rlbench/scenarios"
)

// histories are the requests that the limiter met, by identity. What is known of one
// is put together when it is asked for: all of them at once would take more memory
// than the results do.
type histories struct {
	c *Case
	// requests are the places in Case.Results of what was decided or lost, in order.
	requests map[scenarios.Identity][]int32
	// doubtful are the identities for which something of unknown fate was sent.
	doubtful map[scenarios.Identity]bool
	// decided are those for which something was decided, in order: a map has none, and
	// the same case has to be judged in the same words.
	decided []scenarios.Identity
}

// operations splits what the limiter decided by identity. Names of one client that
// the limiter is told together are one identity.
func operations(c *Case) histories {
	if c.identities.requests == nil {
		c.identities = historiesBy(c, c.pseudonyms())
	}
	return c.identities
}

// pseudonyms are under which of its pseudonyms a client counts in each phase.
func (c *Case) pseudonyms() []int32 {
	if c.first == nil {
		c.first = make([]int32, len(c.Plan.Phases))
		for i := range c.first {
			c.first[i] = c.Plan.Identity(scenarios.Arrival{Phase: int32(i)}).Pseudonym
		}
	}
	return c.first
}

// names splits it by name: each has a key of its own, whoever counts them together.
func names(c *Case) histories {
	own := make([]int32, len(c.Plan.Phases))
	for i, phase := range c.Plan.Phases {
		own[i] = phase.Pseudonym
	}
	return historiesBy(c, own)
}

// historiesBy splits it by client and by the pseudonym that counts for each phase.
func historiesBy(c *Case, pseudonyms []int32) histories {
	h := histories{c: c, requests: map[scenarios.Identity][]int32{}, doubtful: map[scenarios.Identity]bool{}}
	sure := map[scenarios.Identity]bool{}
	for i, r := range c.Results.All() {
		a := c.Plan.Arrivals[i]
		id := scenarios.Identity{Key: a.Key, Pseudonym: pseudonyms[a.Phase]}
		switch {
		case lost(r):
			h.doubtful[id] = true
		case elsewhere(r) || !r.Outcome.Decided():
			continue
		default:
			sure[id] = true
		}
		h.requests[id] = append(h.requests[id], int32(i))
	}
	h.decided = identities(sure)
	return h
}

// identities are the keys of a map, sorted.
func identities[T any](m map[scenarios.Identity]T) []scenarios.Identity {
	return slices.SortedFunc(maps.Keys(m), func(a, b scenarios.Identity) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Pseudonym, b.Pseudonym))
	})
}

// of are the decided requests of an identity, in the order of sending. They are the
// caller's.
func (h histories) of(id scenarios.Identity) []operation {
	ops := make([]operation, 0, len(h.requests[id]))
	for _, i := range h.requests[id] {
		if r := h.c.Results.At(int(i)); !lost(r) {
			op := h.operation(i, r)
			op.done, op.at, op.decision = r.Done, r.Decision.At.UnixMicro(), r.Decision
			ops = append(ops, op)
		}
	}
	return ops
}

// lost are the others, where the instant is known by which the limiter would have
// decided: virtual time is planned.
func (h histories) lost(id scenarios.Identity) (ops []operation) {
	if h.c.Plan.Clock != scenarios.Virtual || !h.doubtful[id] {
		return nil
	}
	for _, i := range h.requests[id] {
		if r := h.c.Results.At(int(i)); lost(r) {
			op := h.operation(i, r)
			op.done, op.at, op.lost = 1<<63-1, stamp(h.c, h.c.Plan.Arrivals[i]).UnixMicro(), true
			ops = append(ops, op)
		}
	}
	return ops
}

// operation is what was asked, without what became of it.
func (h histories) operation(i int32, r scenarios.Result) operation {
	a := h.c.Plan.Arrivals[i]
	return operation{sent: r.Sent, cost: a.Cost, limit: h.c.Plan.Phases[a.Phase].Limit}
}
