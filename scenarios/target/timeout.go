package target

import (
	"context"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// bounded gives each decision so much time. It is for limiters of others: to a
// bundled one this would be the deadline of its caller, which says nothing about
// Redis and so opens no circuit.
type bounded struct {
	limiter.Limiter
	timeout time.Duration
}

func (l bounded) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	return l.Limiter.Allow(ctx, r)
}

// boundedPeeker is one that can be peeked at.
type boundedPeeker struct {
	bounded
	peeker
}

// hurried opens the same limiters with a timeout.
func hurried(open func(limiter.Limit) (limiter.Limiter, error), timeout time.Duration) func(limiter.Limit) (limiter.Limiter, error) {
	return func(l limiter.Limit) (limiter.Limiter, error) {
		opened, err := open(l)
		if err != nil {
			return nil, err
		}
		if p, ok := opened.(peeker); ok {
			return boundedPeeker{bounded{opened, timeout}, p}, nil
		}
		return bounded{opened, timeout}, nil
	}
}
