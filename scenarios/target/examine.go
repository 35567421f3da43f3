package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// Traffic is a run that is over, as far as its traces in Redis go.
type Traffic struct {
	Plan    *scenarios.Plan
	Results []scenarios.Result // Results[i] belongs to Plan.Arrivals[i]
	Edge    time.Time
	// Name is how a client was called in an attempt, Attempts how many there were.
	Name     func(id scenarios.Identity, attempt int) string
	Attempts int
	// Stopwatch is the clock of the results' offsets.
	Stopwatch func() time.Duration
	// Mark is part of the names of all keys of this run, and of no other's.
	Mark string
}

// mostIdentities bounds how many are looked at, evenly spread.
const mostIdentities = 200

// Examine looks at what traffic left in Redis and, under the virtual clock, asks
// the limiter about some identities again. Errors are the server's; what had
// been found until then is returned with them.
func Examine(ctx context.Context, s *backend.Server, t *Target, r Traffic) (*scenarios.Examination, error) {
	traces := r.Traces(t)
	e := &scenarios.Examination{Sample: evenly(traces.identities, mostIdentities), Split: traces.split}
	if err := survey(ctx, s, r, traces, e); err != nil {
		return e, fmt.Errorf("examine what %s left in Redis: %w", t.Name, err)
	}
	if err := undeclared(ctx, s, r, traces, e); err != nil {
		return e, fmt.Errorf("look for keys that %s does not name: %w", t.Name, err)
	}
	if r.Plan.Clock == scenarios.Virtual {
		for _, id := range evenly(traces.identities, mostInterviews) {
			e.Interviews = append(e.Interviews, interview(ctx, s, t, r, traces, id))
		}
	}
	return e, nil
}

// Traces are the keys that traffic can have left.
type Traces struct {
	identities []scenarios.Identity
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

// Traces names the keys of every request that was sent.
func (r Traffic) Traces(t *Target) Traces {
	out := Traces{keys: map[scenarios.Identity][]string{}, last: map[scenarios.Identity]visit{}, all: map[string]bool{}}
	for i, result := range r.Results {
		if result.Outcome == scenarios.Missed && r.Attempts <= 1 {
			continue
		}
		arrival := r.Plan.Arrivals[i]
		phase := r.Plan.Phases[arrival.Phase]
		id := scenarios.Identity{Key: arrival.Key, Pseudonym: phase.Pseudonym}
		at := result.Decision.At
		if at.IsZero() {
			at = r.Edge.Add(arrival.At + phase.Skew)
		}
		seen, known := out.last[id]
		if !known {
			out.identities = append(out.identities, id)
		}
		if !known || !at.Before(seen.at) {
			out.last[id] = visit{at, arrival.Phase}
		}
		if known && !t.Timed {
			continue
		}
		for attempt := 1; attempt <= max(r.Attempts, 1); attempt++ {
			keys := t.Keys(r.Name(id, attempt), at)
			if out.split == nil && !oneSlot(keys) {
				out.split = keys
			}
			for _, key := range keys {
				if attempt == r.Attempts && !out.all[key] {
					out.keys[id] = append(out.keys[id], key)
				}
				out.all[key] = true
			}
		}
	}
	slices.SortFunc(out.identities, func(a, b scenarios.Identity) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Pseudonym, b.Pseudonym))
	})
	return out
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

// survey reads the keys of the sample.
func survey(ctx context.Context, s *backend.Server, r Traffic, traces Traces, e *scenarios.Examination) error {
	owner := map[string]scenarios.Identity{}
	var names []string
	for _, id := range e.Sample {
		for _, key := range traces.keys[id] {
			owner[key] = id
			names = append(names, key)
		}
	}
	states, err := s.Inspect(ctx, names)
	if err != nil {
		return err
	}
	e.Read = r.Stopwatch()
	for _, k := range states {
		e.Keys = append(e.Keys, scenarios.KeyState{
			Name: k.Name, Identity: owner[k.Name], TTL: k.TTL, Read: e.Read,
			Elements: k.Elements, Collection: k.Collection, Address: address(k.Name + "\n" + k.Content),
		})
	}
	e.Total = len(states)
	if len(names) < len(traces.all) {
		usage, err := s.MemoryUsage(ctx, traces.Keys())
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		e.Total = usage.Keys
	}
	return nil
}

// undeclared looks for keys that nobody named: all that there are on a private
// server, and those that carry the mark of this run on a shared one.
func undeclared(ctx context.Context, s *backend.Server, r Traffic, traces Traces, e *scenarios.Examination) error {
	const most, told = 100_000, 10
	pattern := "*"
	if s.Flavour() == backend.Live {
		pattern = "*" + r.Mark + "*"
	}
	found, _, err := s.Scan(ctx, pattern, most)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // too many to sweep
	}
	for _, key := range found {
		if !traces.all[key] && len(e.Undeclared) < told {
			e.Undeclared = append(e.Undeclared, key)
		}
	}
	return err
}
