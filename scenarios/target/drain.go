package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// Drain waits and then counts which of the keys are left in Redis, into Left of an
// examination. After an error that stays as it was.
func Drain(ctx context.Context, s *backend.Server, keys []string, after time.Duration, e *scenarios.Examination) error {
	wait := time.NewTimer(after)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return fmt.Errorf("wait for keys to expire: %w", ctx.Err())
	}
	usage, err := s.MemoryUsage(ctx, keys)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("count what is left: %w", err)
	}
	e.Left = &scenarios.Left{Keys: usage.Keys}
	if err == nil {
		e.Left.Bytes = &usage.Bytes
	}
	return nil
}
