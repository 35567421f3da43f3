package target

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// Traces are the keys that traffic can have left.
type Traces struct {
	identities []scenarios.Identity            // that sent something in the last attempt, sorted
	everybody  []scenarios.Identity            // and those that sent something in any, in no order
	keys       map[scenarios.Identity][]string // of the last attempt
	last       map[scenarios.Identity]visit
	all        map[string]bool // of all attempts
	split      []string        // keys of one call in different slots
}

// visit is the latest stamp of an identity, and the phase it belongs to.
type visit struct {
	at    time.Time
	phase int32
}

// Keys are all of them, sorted.
func (t Traces) Keys() []string { return slices.Sorted(maps.Keys(t.all)) }

// Identities counts those that sent something in the last attempt.
func (t Traces) Identities() int { return len(t.identities) }

// latest are the keys of the last attempt, sorted.
func (t Traces) latest() []string {
	names := map[string]bool{}
	for _, keys := range t.keys {
		for _, key := range keys {
			names[key] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Traces names the keys of every request that was sent. What the last attempt
// missed may have been sent by one before.
func (r Traffic) Traces(t *Target) Traces {
	out := Traces{keys: map[scenarios.Identity][]string{}, last: map[scenarios.Identity]visit{}, all: map[string]bool{}}
	attempts := max(r.Attempts, 1)
	named := map[scenarios.Identity]int{} // attempts whose keys are named
	owned := map[ownedKey]bool{}
	for i, result := range r.Results.All() {
		through := attempts
		if result.Outcome == scenarios.Missed {
			through--
		}
		arrival := r.Plan.Arrivals[i]
		id := scenarios.Identity{Key: arrival.Key, Pseudonym: r.Plan.Phases[arrival.Phase].Pseudonym}
		at := r.instant(i, result)
		if through == attempts {
			out.visited(id, visit{at, arrival.Phase})
		}
		from := named[id] + 1
		if t.Timed {
			from = 1
		}
		for attempt := from; attempt <= through; attempt++ {
			keys := t.Keys(r.Name(id, attempt), at)
			if out.split == nil && !oneSlot(keys) {
				out.split = keys
			}
			for _, key := range keys {
				out.all[key] = true
				if attempt == attempts && !owned[ownedKey{id, key}] {
					owned[ownedKey{id, key}] = true
					out.keys[id] = append(out.keys[id], key)
				}
			}
		}
		if through > 0 {
			named[id] = max(named[id], through)
		}
	}
	out.everybody = slices.Collect(maps.Keys(named))
	slices.SortFunc(out.identities, func(a, b scenarios.Identity) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Pseudonym, b.Pseudonym))
	})
	return out
}

// ownedKey is a key of an identity. Limiters that are wrong share keys.
type ownedKey struct {
	id  scenarios.Identity
	key string
}

// visited notes a request, the later one of two with one stamp.
func (t *Traces) visited(id scenarios.Identity, v visit) {
	seen, known := t.last[id]
	if !known {
		t.identities = append(t.identities, id)
	}
	if !known || !v.at.Before(seen.at) {
		t.last[id] = v
	}
}

// instant is the one that a request asked about. Under the virtual clock it is
// known, whatever the limiter says. A request in real time that got no decision
// was stamped when it was sent, which may have been late.
func (r Traffic) instant(i int, result scenarios.Result) time.Time {
	arrival := r.Plan.Arrivals[i]
	asked := r.Edge.Add(arrival.At + r.Plan.Phases[arrival.Phase].Skew)
	switch {
	case r.Plan.Clock == scenarios.Virtual || result.Outcome == scenarios.Missed:
		return asked
	case result.Decision.At.IsZero():
		return asked.Add(result.Sent - result.Planned)
	}
	return result.Decision.At
}

// evenly takes at most so many, the first and the last among them.
func evenly(ids []scenarios.Identity, most int) []scenarios.Identity {
	if len(ids) <= most {
		return ids
	}
	some := make([]scenarios.Identity, most)
	for i := range some {
		some[i] = ids[i*(len(ids)-1)/(most-1)]
	}
	return some
}
