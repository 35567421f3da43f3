package limitertest

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// checkTTL looks at every key after every call, in real time.
func checkTTL(ctx context.Context, s *subject) error {
	windows := []time.Duration{
		time.Millisecond, 1500 * time.Microsecond, time.Second, time.Minute, time.Hour, limiter.MaxWindow,
	}
	var f faults
	for _, w := range windows {
		setup := s.setup(limiter.Limit{Max: 2, Window: w})
		setup.Virtual = false
		l, err := s.open(setup)
		if err != nil {
			return err
		}
		for _, cost := range []int64{1, 1, 1, 3} { // two admissions, then denials
			if err := s.lifetimes(ctx, l, setup, cost); err != nil {
				f.addf("limit %s, cost %d: %w", setup.Limit, cost, err)
			}
		}
	}
	return f.join()
}

// lifetimes sends one request by the server's clock, and holds the times to live
// of the policy's keys against the answer and the algorithm.
func (s *subject) lifetimes(ctx context.Context, l limiter.Limiter, setup Setup, cost int64) error {
	sent := time.Now()
	d, err := asker{ctx, l}.allow("a", time.Time{}, cost)
	if err != nil {
		return err
	}
	lives, err := s.lives(ctx, setup.Policy)
	if err != nil {
		return err
	}
	// Redis counts in milliseconds.
	bound := (s.algorithm.TTL(setup.Limit) + time.Millisecond - 1).Truncate(time.Millisecond)
	longest := time.Duration(0)
	for key, life := range lives {
		longest = max(longest, life)
		switch {
		case life == noTTL:
			return fmt.Errorf("key %q never expires", key)
		case life > bound:
			return fmt.Errorf("key %q lives %s, want %s at most", key, life, bound)
		}
	}
	// The state matters until ResetAfter; the time since the call is not held
	// against the key.
	spent := time.Since(sent) + time.Millisecond
	if longest+spent < d.ResetAfter {
		return fmt.Errorf("the keys live %s, but matter for %s: %+v", longest, d.ResetAfter, d)
	}
	return nil
}

// noTTL is what PTTL says of a key that never expires.
const noTTL = time.Duration(-1)

// lives are the times to live of a policy's keys; those that expire meanwhile
// are left out.
func (s *subject) lives(ctx context.Context, policy string) (map[string]time.Duration, error) {
	keys, err := scan(ctx, s.suite.Client, "*"+policy+"*")
	if err != nil {
		return nil, err
	}
	lives := map[string]time.Duration{}
	for _, key := range keys {
		life, err := s.suite.Client.PTTL(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		if life >= noTTL {
			lives[key] = life
		}
	}
	return lives, nil
}

// checkHeal takes the time to live away before each kind of call.
func checkHeal(ctx context.Context, s *subject) error {
	setup := s.setup(limiter.Limit{Max: 2, Window: time.Hour})
	setup.Virtual = false
	l, err := s.open(setup)
	if err != nil {
		return err
	}
	if err := s.lifetimes(ctx, l, setup, 1); err != nil {
		return err
	}
	calls := []struct {
		why  string
		cost int64
	}{
		{"an admission", 1},
		{"a denial", 1},
		{"a denial that no wait helps", 3},
	}
	var f faults
	for _, c := range calls {
		if err := s.persist(ctx, setup.Policy); err != nil {
			return err
		}
		if err := s.lifetimes(ctx, l, setup, c.cost); err != nil {
			f.addf("after PERSIST and %s: %w", c.why, err)
		}
	}
	return f.join()
}

func (s *subject) persist(ctx context.Context, policy string) error {
	keys, err := scan(ctx, s.suite.Client, "*"+policy+"*")
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return fmt.Errorf("no key contains the policy %q", policy)
	}
	for _, key := range keys {
		if err := s.suite.Client.Persist(ctx, key).Err(); err != nil && err != redis.Nil {
			return err
		}
	}
	return nil
}
