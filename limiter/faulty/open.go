package faulty

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// edit is one place of a script, and what takes its place.
type edit struct{ from, to string }

// setting is what a specimen without a bare script is built from.
type setting struct {
	client    Client
	options   Options
	algorithm limiter.Algorithm
	// script is the limiter that the specimen would be without its build.
	script *limiter.Redis
	// keys are the names of an identity's keys.
	keys func(identity string) []string
}

// Open makes the limiter. It has Peek where the algorithm that it was copied
// from has it and the bug leaves it. Limiters of one specimen with equal options
// share budgets.
//
// Errors: invalid options, and an edit that does not fit the script any more.
func (s Specimen) Open(client Client, o Options) (limiter.Limiter, error) {
	script, err := s.bare(client, o)
	if err != nil {
		return nil, err
	}
	switch {
	case s.build != nil:
		a, _ := s.algorithm()
		return s.build(setting{client, o, a, script, func(id string) []string { return s.keysOf(script, id) }})
	case s.rename != nil:
		return renamed{script, s.rename}, nil
	}
	return script, nil
}

// Keys are the keys that a call for an identity declares. A specimen can declare
// fewer than it touches, if that is its bug. None of them depends on the instant.
// They are nil if the options are invalid.
func (s Specimen) Keys(o Options, identity string, _ time.Time) []string {
	script, err := s.bare(nowhere{}, o)
	if err != nil {
		return nil
	}
	return s.keysOf(script, identity)
}

func (s Specimen) keysOf(script *limiter.Redis, identity string) []string {
	if s.rename != nil {
		identity = s.rename(identity)
	}
	keys := script.Keys(identity)
	if s.names != nil {
		return s.names(keys[0])
	}
	return keys
}

func (s Specimen) bare(client limiter.Processor, o Options) (*limiter.Redis, error) {
	a, err := s.algorithm()
	if err != nil {
		return nil, fmt.Errorf("open specimen %s: %w", s.Name, err)
	}
	l, err := limiter.New(client, limiter.Config{
		Algorithm: a, Limit: o.Limit, Prefix: o.Prefix, Policy: o.Policy, TTLFloor: o.TTLFloor,
		// Failing silently would be a second bug.
		OnFailure: limiter.FailError,
	})
	if err != nil {
		return nil, fmt.Errorf("open specimen %s: %w", s.Name, err)
	}
	return l, nil
}

// algorithm is the base with the bug in it. Its name is the specimen's, so that
// no two specimens share a key.
func (s Specimen) algorithm() (limiter.Algorithm, error) {
	a := s.base
	a.Name = s.Name
	if s.source != "" {
		a.Script = s.source
	}
	for _, e := range s.edits {
		if n := strings.Count(a.Script, e.from); n != 1 {
			return a, fmt.Errorf("edit the script of %s: %q is in it %d times, want once", s.base.Name, e.from, n)
		}
		a.Script = strings.Replace(a.Script, e.from, e.to, 1)
	}
	return a, nil
}

// renamed is a limiter that mistakes identities for others.
type renamed struct {
	*limiter.Redis
	rename func(string) string
}

func (l renamed) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return l.Redis.Allow(ctx, l.mistaken(r))
}

// Peek answers what Allow would.
func (l renamed) Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return l.Redis.Peek(ctx, l.mistaken(r))
}

// mistaken leaves an empty key empty, which is refused.
func (l renamed) mistaken(r limiter.Request) limiter.Request {
	if r.Key != "" {
		r.Key = l.rename(r.Key)
	}
	return r
}

// nowhere sends nothing.
type nowhere struct{}

func (nowhere) Process(context.Context, redis.Cmder) error {
	return errors.New("there is no client")
}
