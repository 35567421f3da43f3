package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// startTimeout bounds how long a managed server may take to get ready. It
// takes tens of milliseconds on an idle machine.
const startTimeout = 10 * time.Second

// settle returns when the client of a replaced server has found the new one.
func settle(ctx context.Context, client *redis.Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("the client does not find the new server"))
	defer cancel()
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(askAgain):
		}
	}
}

// settle returns when the server answers, and its client has found it.
func (s *Server) settle(ctx context.Context) error {
	if err := settle(ctx, s.manager); err != nil {
		return err
	}
	return settle(ctx, s.client)
}

// await asks until the answer is yes, an error, or too late.
func await(ctx context.Context, most time.Duration, what string, ask func(ctx context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not within %s: %s", most, what))
	defer cancel()
	for {
		yes, err := ask(ctx)
		switch {
		case ctx.Err() != nil && !yes:
			return errors.Join(context.Cause(ctx), err)
		case yes || err != nil:
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(askAgain):
		}
	}
}
