package target

import (
	"context"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

func isAlgorithm(name string) bool {
	_, ok := limiter.Named(name)
	return ok
}

func claimsAlgorithm(name, _ string) *limiter.Algorithm {
	a, _ := limiter.Named(name)
	return &a
}

func checkAlgorithm(name string, n Needs, _ string) error {
	a, _ := limiter.Named(name)
	for _, l := range n.Limits {
		if err := a.Validate(l); err != nil {
			return fmt.Errorf("algorithm %s: %w", name, err)
		}
	}
	return nil
}

// virtualTTL is how long keys live when instants are virtual and say nothing
// about real time. It only matters for keys of a run that was killed.
const virtualTTL = time.Hour

// Failing is what a bundled limiter is told of a failure policy of scenarios, and the
// circuit that goes with it: who wants to see errors wants to see all of them.
func Failing(policy string) (limiter.Failure, *limiter.Circuit) {
	if !scenarios.FallsBack(policy) {
		return limiter.FailError, &limiter.Circuit{Failures: -1}
	}
	return limiter.Failure(policy), new(limiter.Circuit)
}

func openAlgorithm(_ context.Context, s *backend.Server, name string, o Options) (*Target, error) {
	return bundled{algorithm: name, client: s.Client()}.open(name, o)
}

// bundled is an algorithm of this repository, and how it is reached.
type bundled struct {
	algorithm string
	client    limiter.Processor
	denials   *limiter.DenyCache // nil is none
}

func (b bundled) open(name string, o Options) (*Target, error) {
	a, _ := limiter.Named(b.algorithm)
	t := &Target{Name: name, Algorithm: &a, Tells: scenarios.TellsAll, Costs: true, Strict: true}
	if o.Clock == scenarios.Virtual {
		t.TTLFloor = virtualTTL
	}
	t.LongestTTL = func(l limiter.Limit) time.Duration { return max(a.TTL(l), t.TTLFloor) }
	failure, circuit := Failing(o.OnFailure)
	open := func(l limiter.Limit) (*limiter.Redis, error) {
		opened, err := limiter.New(b.client, limiter.Config{
			Algorithm: a, Limit: l, Prefix: o.Prefix, Policy: "rlbench", TTLFloor: t.TTLFloor,
			OnFailure: failure, Timeout: o.Timeout, Circuit: circuit, DenyCache: b.denials,
		})
		if err != nil {
			return nil, fmt.Errorf("open target %s: %w", name, err)
		}
		return opened, nil
	}
	first, err := open(o.Limit)
	if err != nil {
		return nil, err
	}
	t.Limiter = func(l limiter.Limit) (limiter.Limiter, error) {
		if l.Window != o.Limit.Window { // it would use keys of other names
			return nil, fmt.Errorf("open target %s: limit %s: its window is not that of %s", name, l, o.Limit)
		}
		opened, err := open(l)
		if err != nil {
			return nil, err
		}
		return opened, nil
	}
	// The window is part of a key, the count is not.
	t.Keys = func(identity string, _ time.Time) []string { return first.Keys(identity) }
	return t, nil
}
