package limiter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rlbench/rlbench/scripts"
)

// Policy is one budget of a Set.
type Policy struct {
	// Name is part of every key and how charges refer to the policy.
	Name      string
	Algorithm Algorithm
	Limit     Limit
	// Shadow policies are decided and charged as if they were in force, but a
	// denial of theirs denies nothing.
	Shadow bool
	// LocalMax is that of a Config.
	LocalMax int64
}

// Charge is what a request takes of one policy.
type Charge struct {
	Policy string // its name
	// Key, Also and Cost are those of a Request.
	Key, Also string
	Cost      int64
}

// Joint is a request that several budgets have to admit.
type Joint struct {
	// At and Slot are those of a Request.
	At      time.Time
	Slot    string
	Charges []Charge // at least one, each of another policy
}

// Allowed reports whether every decision of a joint request admits, those of
// shadow policies aside.
func Allowed(decisions []Decision) bool {
	for _, d := range decisions {
		if !d.Allowed && !d.Shadow {
			return false
		}
	}
	return true
}

// RetryAfter is the exact earliest wait after which a denied joint request is
// admitted if nobody else uses its budgets: each of them only gets emptier as
// time passes, so it is the longest of the waits. 0 if nothing denies.
func RetryAfter(decisions []Decision) time.Duration {
	longest := time.Duration(0)
	for _, d := range decisions {
		if !d.Shadow {
			longest = max(longest, d.RetryAfter)
		}
	}
	return longest
}

// SetConfig says what a Set enforces. Policies and OnFailure are required.
type SetConfig struct {
	Policies []Policy
	// The others are those of a Config, for all policies.
	Prefix    string
	OnFailure Failure
	LocalKeys int
	Timeout   time.Duration
	Circuit   *Circuit
	Counters  *Counters
	Logger    *slog.Logger
	Now       func() time.Time
	TTLFloor  time.Duration
}

// config is a policy as a limiter of its own.
func (c SetConfig) config(p Policy) Config {
	return Config{
		Algorithm: p.Algorithm, Limit: p.Limit, Policy: p.Name, Prefix: c.Prefix, OnFailure: c.OnFailure, LocalMax: p.LocalMax,
		LocalKeys: c.LocalKeys, Timeout: c.Timeout, Circuit: c.Circuit, Counters: c.Counters, Logger: c.Logger, Now: c.Now, TTLFloor: c.TTLFloor,
	}
}

// Set decides requests that have to fit several budgets, all or nothing, in one
// round trip: if one denies, none is charged. It shares state with a Redis of the
// same prefix, policy name, algorithm and window. It is safe for concurrent use
// and needs no closing; the client belongs to the caller.
type Set struct {
	cluster  bool    // keys of several slots cannot be asked for at once
	several  *Script // of all algorithms that take part
	policies map[string]*member
	guard    *guard
	ttlFloor any // boxed once
	nonces   nonces
}

// member is a policy of a set.
type member struct {
	budget
	shadow   bool
	fallback *fallback
}

// NewSet makes a set of policies, or says everything that is wrong with the
// configuration. It sends nothing.
func NewSet(client Processor, c SetConfig) (*Set, error) {
	if c.Prefix == "" {
		c.Prefix = "rl"
	}
	if err := c.validate(client); err != nil {
		return nil, fmt.Errorf("new set of limiters: %w", err)
	}
	s := &Set{
		cluster: isCluster(client), policies: map[string]*member{}, guard: newGuard(client, c.config(Policy{})),
		ttlFloor: milliseconds(c.TTLFloor), nonces: newNonces(),
	}
	used := map[string]bool{}
	var parts []scripts.Part
	for _, p := range c.Policies {
		f := newFallback(s.guard, p.Name, p.Algorithm, c.config(p))
		f.shadow = p.Shadow
		s.policies[p.Name] = &member{newBudget(client, p.Algorithm, p.Limit, c.Prefix, p.Name), p.Shadow, f}
		if !used[p.Algorithm.Name] {
			used[p.Algorithm.Name] = true
			parts = append(parts, scripts.Part{Name: p.Algorithm.Name, Source: p.Algorithm.Script})
		}
	}
	s.several = NewScript(client, scripts.Several(parts))
	return s, nil
}

func (c SetConfig) validate(client Processor) error {
	var errs []error
	if client == nil {
		errs = append(errs, errors.New("no Redis client"))
	}
	if len(c.Policies) == 0 {
		errs = append(errs, errors.New("no policies"))
	}
	seen := map[string]bool{}
	for _, p := range c.Policies {
		if err := errors.Join(append(c.config(p).validateLocal(), validBudget(p.Algorithm, p.Limit, p.Name))...); err != nil {
			errs = append(errs, fmt.Errorf("policy %q: %w", p.Name, err))
		}
		if seen[p.Name] {
			errs = append(errs, fmt.Errorf("two policies are called %q", p.Name))
		}
		seen[p.Name] = true
	}
	errs = append(errs, validKeys(c.Prefix, c.TTLFloor))
	return errors.Join(append(errs, c.config(Policy{}).validateFailure()...)...)
}

// Limit is what a policy enforces; false if there is none of that name.
func (s *Set) Limit(policy string) (Limit, bool) {
	m, ok := s.policies[policy]
	if !ok {
		return Limit{}, false
	}
	return m.limit, true
}

// Keys are the names of all keys that a joint request touches.
func (s *Set) Keys(j Joint) []string {
	keys := make([]string, 0, 2*len(j.Charges))
	for _, c := range j.Charges {
		if m := s.policies[c.Policy]; m != nil {
			keys = m.appendKeys(keys, j.Slot, c.Key, c.Also)
		}
	}
	return keys
}

// Allow decides j, and charges every budget if all policies admit that are in
// force. Shadow policies are charged if they admit themselves and the request is
// admitted. It sends the request to Redis at most once.
//
// The decisions are in the order of the charges. Each says what its policy alone
// says, for a request that Allowed refuses too: then Remaining and ResetAfter of
// policies that would admit are without the charge. When Redis cannot answer,
// the failure policy makes all of them. Errors are those of Redis.Allow.
func (s *Set) Allow(ctx context.Context, j Joint) ([]Decision, error) {
	return s.decide(ctx, j, s.nonces.next())
}

// Peek returns the decisions that Allow would have returned, and changes nothing.
func (s *Set) Peek(ctx context.Context, j Joint) ([]Decision, error) {
	return s.decide(ctx, j, "")
}

func (s *Set) decide(ctx context.Context, j Joint, nonce string) ([]Decision, error) {
	if err := s.check(j); err != nil {
		return nil, err
	}
	if s.cluster {
		if err := together(s.Keys(j)); err != nil {
			return nil, err
		}
	}
	var decisions []Decision
	err := s.guard.ask(ctx, func(ctx context.Context) (err error) {
		decisions, err = s.ask(ctx, j, nonce)
		return err
	})
	if err != nil {
		return s.fall(ctx, j, nonce != "", err)
	}
	for i, c := range j.Charges {
		s.policies[c.Policy].fallback.spared(decisions[i])
	}
	return decisions, nil
}

// Counters are those of the configuration, or its own if it had none.
func (s *Set) Counters() *Counters { return s.guard.counters }

// check reports what makes a joint request impossible to decide.
func (s *Set) check(j Joint) error {
	if len(j.Charges) == 0 {
		return errors.New("joint request: no charges")
	}
	for i, c := range j.Charges {
		if s.policies[c.Policy] == nil {
			return fmt.Errorf("joint request: unknown policy %q", c.Policy)
		}
		for _, before := range j.Charges[:i] {
			if before.Policy == c.Policy {
				return fmt.Errorf("joint request: two charges of policy %q", c.Policy)
			}
		}
		if err := (Request{Key: c.Key, At: j.At, Cost: c.Cost}).Validate(); err != nil {
			return fmt.Errorf("joint request: policy %s: %w", c.Policy, err)
		}
	}
	return nil
}

// fall lets the failure policy decide.
func (s *Set) fall(ctx context.Context, j Joint, charge bool, cause error) ([]Decision, error) {
	budgets, requests := make([]*fallback, len(j.Charges)), make([]Request, len(j.Charges))
	for i, c := range j.Charges {
		budgets[i] = s.policies[c.Policy].fallback
		requests[i] = Request{Key: c.Key, Also: c.Also, Slot: j.Slot, At: j.At, Cost: c.Cost}
	}
	return s.guard.decideAll(ctx, budgets, requests, charge, cause)
}

// ask gets the decisions from Redis.
func (s *Set) ask(ctx context.Context, j Joint, nonce string) ([]Decision, error) {
	reply, err := s.several.Run(ctx, s.Keys(j), s.arguments(j, nonce)...)
	if err != nil {
		return nil, err
	}
	decisions, err := s.read(reply, j)
	if err != nil {
		return nil, &ReplyError{Script: "several", Err: err}
	}
	return decisions, nil
}

// arguments are those of scripts/several.lua.
func (s *Set) arguments(j Joint, nonce string) []any {
	args := append(make([]any, 0, 3+6*len(j.Charges)), instant(j.At), nonce, s.ttlFloor)
	for _, c := range j.Charges {
		m := s.policies[c.Policy]
		names, shadow := "1", "0"
		if c.Also != "" && c.Also != c.Key {
			names = "2"
		}
		if m.shadow {
			shadow = "1"
		}
		args = append(args, m.algorithm.Name, names, m.window, m.max, units(c.Cost), shadow)
	}
	return args
}

func (s *Set) read(reply any, j Joint) ([]Decision, error) {
	values, ok := reply.([]any)
	if !ok || len(values) != len(j.Charges)+1 {
		return nil, fmt.Errorf("want an instant and %d decisions, got %v", len(j.Charges), reply)
	}
	now, ok := values[0].(int64)
	if !ok {
		return nil, fmt.Errorf("the instant is a %T, want an integer: %v", values[0], reply)
	}
	decisions := make([]Decision, len(j.Charges))
	for i, c := range j.Charges {
		m := s.policies[c.Policy]
		var n [4]int64
		if err := integers(values[i+1], n[:]); err != nil {
			return nil, fmt.Errorf("policy %s: %w", c.Policy, err)
		}
		decisions[i] = m.decision(n, now)
		decisions[i].Shadow = m.shadow
	}
	return decisions, nil
}
