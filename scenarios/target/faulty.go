package target

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/limiter/faulty"
	"github.com/rlbench/rlbench/scenarios"
)

const faultyPrefix = "faulty:"

// faultyKind opens limiters with a known bug.
var faultyKind = kind{
	name: "faulty:NAME", doc: "a limiter with one known bug, to see it caught; rlbench list specimens",
	matches: func(name string) bool { return strings.HasPrefix(name, faultyPrefix) },
	check: func(name string, n Needs, _ string) error {
		s, err := specimen(name)
		if err != nil {
			return err
		}
		for _, l := range n.Limits {
			if err := s.Validate(l); err != nil {
				return fmt.Errorf("limiter %s: %w", name, err)
			}
		}
		if s.TakesPolicy() {
			n.Policy = ""
		}
		n.Names = n.Names && !s.TakesSecondNames()
		return n.bundledOnly(name)
	},
	claims: faultyClaims,
	open:   openFaulty,
}

func faultyClaims(name, _ string) *limiter.Algorithm {
	s, err := specimen(name)
	if err != nil || s.Claims.Name == "" {
		return nil
	}
	return &s.Claims
}

func specimen(name string) (faulty.Specimen, error) {
	s, ok := faulty.Named(strings.TrimPrefix(name, faultyPrefix))
	if !ok {
		return s, scenarios.UnknownName("specimen", strings.TrimPrefix(name, faultyPrefix), faulty.Names())
	}
	return s, nil
}

// Specimens are the names of all limiters with a known bug, as targets, with a
// line each.
func Specimens() [][2]string {
	rows := make([][2]string, len(faulty.Specimens))
	for i, s := range faulty.Specimens {
		rows[i] = [2]string{faultyPrefix + s.Name, s.Doc}
	}
	return rows
}

func openFaulty(_ context.Context, s *backend.Server, name string, o Options) (*Target, error) {
	one, err := specimen(name)
	if err != nil {
		return nil, err
	}
	t := &Target{Name: name, Algorithm: faultyClaims(name, ""), Tells: scenarios.TellsAll, Costs: true, Foreign: true, Strict: true}
	options := func(l limiter.Limit) faulty.Options {
		return faulty.Options{Limit: l, Prefix: o.Prefix, Policy: "rlbench", OnFailure: limiter.Failure(o.OnFailure)}
	}
	t.Limiter = func(l limiter.Limit) (limiter.Limiter, error) {
		opened, err := one.Open(s.Client(), options(l))
		if err != nil {
			return nil, fmt.Errorf("open target %s: %w", name, err)
		}
		return opened, nil
	}
	t.Keys = func(identity string, at time.Time) []string { return one.Keys(options(o.Limit), identity, at) }
	t.LongestTTL = func(l limiter.Limit) time.Duration {
		if t.Algorithm != nil {
			return t.Algorithm.TTL(l)
		}
		return 2*l.Window + time.Second
	}
	return t, nil
}
