package faulty

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// instant is the request's instant, or the server's if it has none.
func instant(ctx context.Context, c redis.Cmdable, r limiter.Request) (int64, error) {
	if !r.At.IsZero() {
		return r.At.UnixMicro(), nil
	}
	now, err := c.Time(ctx).Result()
	if err != nil {
		return 0, err
	}
	return now.UnixMicro(), nil
}

// mend gives a key that lost its time to live one.
func mend(ctx context.Context, c redis.Cmdable, key string, ttl time.Duration) error {
	life, err := c.PTTL(ctx, key).Result()
	if err == nil && life == -1 {
		err = c.PExpire(ctx, key, ttl).Err()
	}
	return err
}

// wholeMillis rounds up to what Redis counts in.
func wholeMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// fate marks an error that is no answer of the server: what was sent may have
// been counted.
func fate(err error) error {
	if limiter.Answered(err) || errors.Is(err, limiter.ErrUnknown) {
		return fmt.Errorf("decide in Redis: %w", err)
	}
	return fmt.Errorf("decide in Redis: %w: %w", limiter.ErrUnknown, err)
}
