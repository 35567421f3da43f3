package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// Drain waits as long as the plan says and then counts what is left in Redis, into
// Left of an examination. After an error that stays as it was.
func Drain(ctx context.Context, s *backend.Server, t *Target, r Traffic, e *scenarios.Examination) error {
	wait := time.NewTimer(r.Plan.Drain)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return fmt.Errorf("wait for keys to expire: %w", ctx.Err())
	}
	usage, err := s.MemoryUsage(ctx, r.Traces(t).Keys())
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("count what is left: %w", err)
	}
	e.Left = &scenarios.Left{Keys: usage.Keys}
	if err == nil {
		e.Left.Bytes = &usage.Bytes
	}
	return nil
}
