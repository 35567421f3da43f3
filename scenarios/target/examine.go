package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// Traffic is a run that is over, as far as its traces in Redis go.
type Traffic struct {
	Plan    *scenarios.Plan
	Results scenarios.Results // Results.At(i) belongs to Plan.Arrivals[i]
	// Edge is that of the last attempt, to which the results belong too.
	Edge time.Time
	// Name is how a client was called in an attempt, Attempts how many there were.
	Name     func(id scenarios.Identity, attempt int) string
	Attempts int
	// Stopwatch is the clock of the results' offsets.
	Stopwatch func() time.Duration
	// Mark is part of the names of all keys of this run, and of no other's.
	Mark string
	// Untouched says that the keys are to stay as they are: nobody is asked again.
	Untouched bool
}

// mostIdentities bounds how many are looked at, evenly spread.
const mostIdentities = 200

// Examine looks at the traces that traffic left in Redis and, under the virtual clock, asks
// the limiter about some identities again. Errors are the server's; what had
// been found until then is returned with them.
func Examine(ctx context.Context, s *backend.Server, t *Target, r Traffic, traces Traces) (*scenarios.Examination, error) {
	e := &scenarios.Examination{Sample: evenly(traces.identities, mostIdentities), Split: traces.split}
	if err := survey(ctx, s, r, traces, e); err != nil {
		return e, fmt.Errorf("examine what %s left in Redis: %w", t.Name, err)
	}
	if err := undeclared(ctx, s, t, r, traces, e); err != nil {
		return e, fmt.Errorf("look for keys that %s does not name: %w", t.Name, err)
	}
	if r.Plan.Clock != scenarios.Virtual || r.Untouched {
		return e, nil
	}
	for _, id := range evenly(traces.identities, mostInterviews) {
		answers, err := interview(ctx, s, t, r, traces, id)
		e.Interviews = append(e.Interviews, answers)
		if err != nil {
			return e, fmt.Errorf("ask %s again: %w", t.Name, err)
		}
	}
	// Whoever makes up keys made some more when it was asked.
	if len(e.Strays) > 0 {
		found, err := sweep(ctx, s, t, r)
		if err != nil {
			return e, fmt.Errorf("look for keys that %s does not name: %w", t.Name, err)
		}
		e.Strays = found
	}
	return e, nil
}

// sweep lists the keys that can be of this run: all on a private server, on a
// shared one those that carry the run's mark, and none where ours are all known:
// sweeping costs the others.
func sweep(ctx context.Context, s *backend.Server, t *Target, r Traffic) ([]string, error) {
	const most = 100_000
	pattern := "*"
	if s.Flavour() == backend.Live {
		if r.Mark == "" || !t.Foreign {
			return nil, nil
		}
		pattern = "*" + r.Mark + "*"
	}
	found, _, err := s.Scan(ctx, pattern, most)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil // too many to sweep
	}
	return found, err
}

// survey reads the keys of the sample. One that several identities share is the
// first one's.
func survey(ctx context.Context, s *backend.Server, r Traffic, traces Traces, e *scenarios.Examination) error {
	owner := map[string]scenarios.Identity{}
	var names []string
	for _, id := range e.Sample {
		for _, key := range traces.keys[id] {
			if _, taken := owner[key]; !taken {
				owner[key] = id
				names = append(names, key)
			}
		}
	}
	states, err := s.Inspect(ctx, names)
	if err != nil {
		return err
	}
	e.Read = r.Stopwatch()
	for _, k := range states {
		// The mark is the user's, and may look like anything.
		text := strings.ReplaceAll(k.Name, r.Mark, " ") + "\n" + k.Content
		e.Keys = append(e.Keys, scenarios.KeyState{
			Name: k.Name, Identity: owner[k.Name], TTL: k.TTL, Read: e.Read,
			Elements: k.Elements, Collection: k.Collection, Address: addressIn(text),
		})
	}
	e.Total = len(states)
	if len(e.Sample) < len(traces.identities) {
		usage, err := s.MemoryUsage(ctx, traces.latest())
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		e.Total = usage.Keys
	}
	return nil
}

// addressIn is an IP address that is written out in a text, or "".
func addressIn(text string) string {
	a, ok := audit.Text(text)
	if !ok {
		return ""
	}
	return a.String()
}

// undeclared looks for keys that nobody named: all that there are on a private
// server, and those that carry the mark of this run on a shared one.
func undeclared(ctx context.Context, s *backend.Server, t *Target, r Traffic, traces Traces, e *scenarios.Examination) error {
	const told = 10
	found, err := sweep(ctx, s, t, r)
	for _, key := range found {
		if traces.all[key] {
			continue
		}
		e.Strays = append(e.Strays, key)
		if !r.earlier(t, traces, key) && len(e.Undeclared) < told {
			e.Undeclared = append(e.Undeclared, key)
		}
	}
	return err
}

// earlier reports whether a key may have been named by an attempt before the
// last one. Such keys are known, unless they depend on the instant: those
// attempts had edges of their own, of which nothing is left.
func (r Traffic) earlier(t *Target, traces Traces, key string) bool {
	if !t.Timed || r.Attempts <= 1 {
		return false
	}
	carries := func(attempt int) bool {
		return slices.ContainsFunc(traces.everybody, func(id scenarios.Identity) bool {
			return strings.Contains(key, r.Name(id, attempt))
		})
	}
	if carries(r.Attempts) { // the names of a tenth attempt hold those of the first
		return false
	}
	for attempt := 1; attempt < r.Attempts; attempt++ {
		if carries(attempt) {
			return true
		}
	}
	return false
}
