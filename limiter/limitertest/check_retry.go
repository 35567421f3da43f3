package limitertest

import (
	"context"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// checkRetry obeys every wait of random histories in which nobody else uses the
// key, once a tick too early and once to the tick.
func checkRetry(ctx context.Context, s *subject) error {
	const histories, steps = 25, 30
	var f faults
	for n := range uint64(histories) {
		h := newHistory(s.algorithm, s.suite.Seed+1, n)
		l, err := s.fresh(h.limit)
		if err != nil {
			return err
		}
		for range steps {
			if err := obey(asker{ctx, l}, h); err != nil {
				f.addf("history %d, limit %s: %w", n, h.limit, err)
				break
			}
		}
	}
	return f.join()
}

// obey sends one request and, if it has to wait, the same one again.
func obey(a asker, h *history) error {
	at, cost := h.advance(), h.cost()
	if h.IntN(8) == 0 {
		at = h.late() // its wait is measured from its own stamp
	}
	first, err := a.allow("a", at, cost)
	if err != nil {
		return err
	}
	told := row(epoch, limiter.Request{Key: "a", At: at, Cost: cost}, first)
	switch {
	case first.Allowed && first.RetryAfter != 0:
		return fmt.Errorf("admitted, but has a wait: %s", told)
	case first.Allowed:
		return nil
	case (first.RetryAfter == limiter.Never) != (cost > h.limit.Max):
		return fmt.Errorf("a wait is never exactly if the cost is above the limit: %s", told)
	case first.RetryAfter == limiter.Never:
		return nil
	case first.RetryAfter <= 0:
		return fmt.Errorf("denied without a wait: %s", told)
	}

	until := at.Add(first.RetryAfter)
	if until.After(h.now) {
		h.now = until
	}
	early, err := a.allow("a", until.Add(-time.Microsecond), cost)
	if err != nil {
		return err
	}
	if early.Allowed {
		return fmt.Errorf("admitted a tick before the wait was over: %s", told)
	}
	due, err := a.allow("a", until, cost)
	if err != nil {
		return err
	}
	if !due.Allowed {
		return fmt.Errorf("still denied after the wait: %s, then %s", told,
			row(epoch, limiter.Request{Key: "a", At: until, Cost: cost}, due))
	}
	return nil
}
