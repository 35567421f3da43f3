package limitertest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// frozen runs a call that must leave the policy's state as it is.
func (s *subject) frozen(ctx context.Context, policy string, call func() error) error {
	before, err := digest(ctx, s.suite.Client, policy)
	if err != nil {
		return err
	}
	if err := call(); err != nil {
		return err
	}
	after, err := digest(ctx, s.suite.Client, policy)
	if err != nil {
		return err
	}
	if !maps.Equal(before, after) {
		return fmt.Errorf("state changed from %.300q to %.300q", before, after)
	}
	return nil
}

// checkDenial uses part of a limit and then sends what must be denied.
func checkDenial(ctx context.Context, s *subject) error {
	minute := limiter.Limit{Max: 5, Window: time.Minute}
	rows := []struct {
		why   string
		used  int64
		then  limiter.Limit
		after time.Duration
		units int64
	}{
		{why: "over the limit", used: 5, then: minute, after: time.Second, units: 1},
		{why: "more than is left", used: 3, then: minute, after: time.Second, units: 3},
		{why: "more than the limit", used: 3, then: minute, after: time.Second, units: 6},
		{why: "more than the limit on an unused key", then: minute, units: 6},
		{why: "a limit of 0", then: limiter.Limit{Window: time.Minute}, units: 1},
		{why: "more than the limit after the state went stale", used: 5, then: minute, after: time.Hour, units: 6},
		{why: "after a cut", used: 5, then: limiter.Limit{Max: 2, Window: time.Minute}, after: time.Second, units: 1},
		{why: "a stamp from before", used: 5, then: minute, after: -time.Second, units: 1},
	}
	var f faults
	for _, r := range rows {
		setup := s.setup(minute)
		l, err := s.open(setup)
		if err != nil {
			return err
		}
		if r.used > 0 {
			if _, err := (asker{ctx, l}).allow("a", epoch, r.used); err != nil {
				return err
			}
		}
		setup.Limit = r.then
		if l, err = s.open(setup); err != nil {
			return err
		}
		err = s.frozen(ctx, setup.Policy, func() error {
			d, err := asker{ctx, l}.allow("a", epoch.Add(r.after), r.units)
			if err == nil && d.Allowed {
				err = fmt.Errorf("admitted: %+v", d)
			}
			return err
		})
		if err != nil {
			f.addf("%s: %w", r.why, err)
		}
	}
	return f.join()
}

// checkPeek peeks before every request of some random histories.
func checkPeek(ctx context.Context, s *subject) error {
	const histories, steps = 6, 15
	for n := range uint64(histories) {
		h := newHistory(s.algorithm, s.suite.Seed+2, n)
		setup := s.setup(h.limit)
		l, err := s.open(setup)
		if err != nil {
			return err
		}
		peeker, ok := l.(Peeker)
		if !ok {
			return Skip("the limiter has no Peek")
		}
		for range steps {
			r := limiter.Request{Key: "a", At: h.advance(), Cost: h.cost()}
			var peeked limiter.Decision
			err := s.frozen(ctx, setup.Policy, func() (err error) {
				peeked, err = peeker.Peek(ctx, r)
				return err
			})
			if err != nil {
				return fmt.Errorf("peek %s: %w", asked(r), err)
			}
			d, err := l.Allow(ctx, r)
			if err != nil {
				return err
			}
			if different(peeked, d) {
				return fmt.Errorf("limit %s: peeked %s\nallowed %s", h.limit, row(epoch, r, peeked), row(epoch, r, d))
			}
		}
	}
	return nil
}

// checkReset uses two keys up and resets one.
func checkReset(ctx context.Context, s *subject) error {
	setup := s.setup(limiter.Limit{Max: 3, Window: time.Minute})
	l, err := s.open(setup)
	if err != nil {
		return err
	}
	resetter, ok := l.(Resetter)
	if !ok {
		return Skip("the limiter has no Reset")
	}
	a := asker{ctx, l}
	for _, key := range []string{"a", "b"} {
		if _, err := a.allow(key, epoch, 3); err != nil {
			return err
		}
	}
	for _, key := range []string{"a", "a", "never used"} {
		if err := resetter.Reset(ctx, limiter.Request{Key: key}); err != nil {
			return fmt.Errorf("reset %q: %w", key, err)
		}
	}
	fresh, err := a.allow("a", epoch, 3)
	if err != nil {
		return err
	}
	other, err := a.allow("b", epoch, 1)
	if err != nil {
		return err
	}
	if !fresh.Allowed || other.Allowed {
		return fmt.Errorf("after a reset of key a: a admitted %t, want true; b admitted %t, want false", fresh.Allowed, other.Allowed)
	}
	return nil
}
