package faulty

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// window is a fixed window without a script. Its keys hold what the bundled
// script's do: "<window index> <used>".
type window struct {
	setting
	width int64 // microseconds
}

func newWindow(s setting) window {
	return window{s, s.options.Limit.Window.Microseconds()}
}

// held is the state of a key.
type held struct{ index, used int64 }

// look reads the state of a request's key, rolled to the request's window, and
// its instant.
func (w window) look(ctx context.Context, c redis.Cmdable, r limiter.Request) (h held, now int64, err error) {
	if now, err = instant(ctx, c, r); err != nil {
		return h, now, err
	}
	text, err := c.Get(ctx, w.keys(r.Key)[0]).Result()
	switch {
	case errors.Is(err, redis.Nil):
	case err != nil:
		return h, now, err
	default:
		if _, err := fmt.Sscanf(text, "%d %d", &h.index, &h.used); err != nil {
			return h, now, fmt.Errorf("read a fixed window: %w", err)
		}
	}
	if index := now / w.width; index > h.index {
		h = held{index: index}
	}
	return h, now, nil
}

// decide answers a request, and returns the state after it.
func (w window) decide(h held, r limiter.Request, now int64) (held, limiter.Decision) {
	l := w.options.Limit
	untilEnd := micros((h.index+1)*w.width - now)
	d := limiter.Decision{Limit: l.Max, At: time.UnixMicro(now).UTC(), Source: limiter.SourceRedis}
	switch cost := r.Units(); {
	case cost > l.Max:
		d.RetryAfter = limiter.Never
	case h.used+cost > l.Max:
		d.RetryAfter = untilEnd
	default:
		d.Allowed = true
		h.used += cost
	}
	d.Remaining = max(l.Max-h.used, 0)
	if h.used > 0 {
		d.ResetAfter = untilEnd
	}
	return h, d
}

// ttl is how long a state is kept.
func (w window) ttl(h held, now int64) time.Duration {
	left := micros((h.index+1)*w.width - max(now, h.index*w.width))
	return max(wholeMillis(left)+time.Second, w.options.TTLFloor)
}

// keep writes the state after an admission, and heals the key at a denial.
func (w window) keep(ctx context.Context, c redis.Cmdable, r limiter.Request, h held, d limiter.Decision) error {
	key, ttl := w.keys(r.Key)[0], w.ttl(h, d.At.UnixMicro())
	if d.Allowed {
		return c.Set(ctx, key, fmt.Sprintf("%d %d", h.index, h.used), ttl).Err()
	}
	return mend(ctx, c, key, ttl)
}

// getThenSet leaves a gap between reading and writing.
func getThenSet(s setting) (limiter.Limiter, error) { return gap{newWindow(s)}, nil }

type gap struct{ window }

func (l gap) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	h, d, err := l.ask(ctx, r)
	if err != nil {
		return d, err
	}
	if err := l.keep(ctx, l.client, r, h, d); err != nil {
		return limiter.Decision{}, fate(err)
	}
	return d, nil
}

// Peek answers what Allow would.
func (l gap) Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	_, d, err := l.ask(ctx, r)
	return d, err
}

func (l gap) ask(ctx context.Context, r limiter.Request) (held, limiter.Decision, error) {
	if err := r.Validate(); err != nil {
		return held{}, limiter.Decision{}, err
	}
	h, now, err := l.look(ctx, l.client, r)
	if err != nil {
		return h, limiter.Decision{}, fate(err)
	}
	h, d := l.decide(h, r, now)
	return h, d, nil
}

// watched closes the gap with WATCH, and does the wrong thing if that tells of a
// conflict.
type watched struct {
	window
	open bool // admit then, instead of returning the error
}

func (l *watched) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	if err := r.Validate(); err != nil {
		return limiter.Decision{}, err
	}
	var d limiter.Decision
	err := l.client.Watch(ctx, func(tx *redis.Tx) error {
		h, now, err := l.look(ctx, tx, r)
		if err != nil {
			return err
		}
		if h, d = l.decide(h, r, now); !d.Allowed { // right at the instant of reading
			return l.keep(ctx, tx, r, h, d)
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return l.keep(ctx, p, r, h, d) })
		return err
	}, l.keys(r.Key)[0])
	switch {
	case errors.Is(err, redis.TxFailedErr) && l.open:
		return d, nil
	case errors.Is(err, redis.TxFailedErr): // nothing was counted
		return limiter.Decision{}, fmt.Errorf("decide in Redis: %w", err)
	case err != nil:
		return limiter.Decision{}, fate(err)
	}
	return d, nil
}

// Peek answers what Allow would.
func (l *watched) Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	return gap{l.window}.Peek(ctx, r)
}
