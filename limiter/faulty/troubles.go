package faulty

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// troubles show when Redis is in trouble, or when a client changes its name.
var troubles = []Specimen{
	{
		Name:  "client-retries",
		Doc:   "the client sends again what it has got no reply to, as Redis clients do by default, and counts it again",
		build: resend,
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "lost-reply", Check: "checks",
	},
	{
		Name:  "noscript-unhandled",
		Doc:   "a script is loaded once and run by its digest; when the server forgets it, every request fails",
		build: loadOnce,
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "script-flush", Check: "checks",
	},
	{
		Name:   "policy-ignored",
		Doc:    "whatever it is told to do when Redis cannot answer, it admits",
		build:  func(s setting) (limiter.Limiter, error) { return heedless{s.script}, nil },
		policy: true,
		base:   limiter.Fixed, Claims: limiter.Fixed, Scenario: "redis-outage-closed", Check: "policy",
	},
	{
		Name:   "cause-withheld",
		Doc:    "it denies when Redis cannot answer, and does not say why",
		build:  func(s setting) (limiter.Limiter, error) { return silent{s.script, s.options.OnFailure}, nil },
		policy: true,
		base:   limiter.Fixed, Claims: limiter.Fixed, Scenario: "redis-outage-closed", Check: "policy", Only: true,
	},
	{
		Name:        "forgets-on-rotation",
		Doc:         "when the pseudonym of a client rotates, what it used under the old one is forgotten",
		build:       func(s setting) (limiter.Limiter, error) { return forgetful{s.script}, nil },
		secondNames: true,
		base:        limiter.Log, Claims: limiter.Log, Scenario: "midnight-rotation", Check: "promise",
	},
}

// resending has its requests sent by a client that retries. Each has a client of its
// own, since a limiter is never closed.
type resending struct{ called }

func resend(s setting) (limiter.Limiter, error) { return resending{called{setting: s}}, nil }

func (l resending) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return l.retrying(func(c called) (limiter.Decision, error) { return c.Allow(ctx, r) })
}

// Peek answers what Allow would.
func (l resending) Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return l.retrying(func(c called) (limiter.Decision, error) { return c.Peek(ctx, r) })
}

func (l resending) retrying(ask func(called) (limiter.Decision, error)) (limiter.Decision, error) {
	tuned, ok := l.client.(*redis.Client)
	if !ok {
		return limiter.Decision{}, fmt.Errorf("decide in Redis: no such client as %T", l.client)
	}
	o := *tuned.Options() // with its dialer
	o.MaxRetries, o.MinRetryBackoff, o.MaxRetryBackoff = 3, -1, -1
	o.PoolSize = 1
	client := redis.NewClient(&o)
	defer client.Close()
	c := l.called
	c.script = repeatable{client, redis.NewScript(l.algorithm.Script)}
	return ask(c)
}

// repeatable is a script that the client may run again.
type repeatable struct {
	client *redis.Client
	script *redis.Script
}

func (s repeatable) Run(ctx context.Context, keys []string, args ...any) (any, error) {
	reply, err := s.script.Run(ctx, s.client, keys, args...).Result()
	if err != nil {
		return nil, fate(err)
	}
	return reply, nil
}

// digested is a script that is sent once.
type digested struct {
	client Client
	source string
	mu     sync.Mutex
	sha    string // "" before it was sent
}

func loadOnce(s setting) (limiter.Limiter, error) {
	return &called{setting: s, script: &digested{client: s.client, source: s.algorithm.Script}}, nil
}

func (s *digested) Run(ctx context.Context, keys []string, args ...any) (any, error) {
	sha, err := s.load(ctx)
	if err != nil {
		return nil, fate(err)
	}
	reply, err := s.client.EvalSha(ctx, sha, keys, args...).Result()
	if err != nil {
		return nil, fate(err)
	}
	return reply, nil
}

func (s *digested) load(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sha != "" {
		return s.sha, nil
	}
	sha, err := s.client.ScriptLoad(ctx, s.source).Result()
	s.sha = sha
	return sha, err
}

// heedless admits what Redis does not decide.
type heedless struct{ *limiter.Redis }

func (l heedless) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	d, err := l.Redis.Allow(ctx, r)
	if undecided(ctx, r, err) {
		return limiter.Decision{Allowed: true, Limit: l.Limit().Max, At: r.At, Source: limiter.SourceFailOpen, Cause: err}, nil
	}
	return d, err
}

// silent follows its policy without a word about the cause.
type silent struct {
	*limiter.Redis
	chosen limiter.Failure
}

func (l silent) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	d, err := l.Redis.Allow(ctx, r)
	source := map[limiter.Failure]limiter.Source{
		limiter.FailOpen: limiter.SourceFailOpen, limiter.FailClosed: limiter.SourceFailClosed,
	}[l.chosen]
	if source == "" || !undecided(ctx, r, err) {
		return d, err
	}
	return limiter.Decision{Allowed: l.chosen == limiter.FailOpen, Limit: l.Limit().Max, At: r.At, Source: source}, nil
}

// undecided reports whether it is for the failure policy to decide.
func undecided(ctx context.Context, r limiter.Request, err error) bool {
	return err != nil && r.Validate() == nil && !errors.Is(ctx.Err(), context.Canceled)
}

// forgetful does not look at second names.
type forgetful struct{ *limiter.Redis }

func (l forgetful) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	r.Also = ""
	return l.Redis.Allow(ctx, r)
}

// Peek answers what Allow would.
func (l forgetful) Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	r.Also = ""
	return l.Redis.Peek(ctx, r)
}
