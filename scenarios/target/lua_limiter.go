package target

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// luaLimiter is a script with a limit.
type luaLimiter struct {
	*script
	limit limiter.Limit
}

var _ limiter.Limiter = (*luaLimiter)(nil)

// Allow has the script decide, in one round trip and at most once.
//
// Errors: a request that the script cannot take, which is not sent; those of
// limiter.Script; and a *limiter.ReplyError for a reply that is no decision.
func (l *luaLimiter) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	if err := r.Validate(); err != nil {
		return limiter.Decision{}, err
	}
	c, err := l.callFor(r)
	if err != nil {
		return limiter.Decision{}, fmt.Errorf("call script %s: %w", l.name, err)
	}
	args := make([]any, len(l.args))
	for i, t := range l.args {
		args[i] = t.fill(c)
	}
	reply, err := l.lua.Run(ctx, l.keysOf(c), args...)
	if err != nil {
		return limiter.Decision{}, err
	}
	t, err := l.reply.read(reply, c)
	if err != nil {
		return limiter.Decision{}, &limiter.ReplyError{Script: l.name, Err: err}
	}
	l.seen.note(t)
	return t.Decision, nil
}

// callFor is what the templates need to know about a request.
func (l *luaLimiter) callFor(r limiter.Request) (call, error) {
	c := call{
		limit: l.limit, identity: l.prefix + r.Key, cost: r.Units(), ttlFloor: l.ttlFloor,
		member: l.instance + strconv.FormatUint(l.requests.Add(1), 36),
	}
	if !r.At.IsZero() && l.clock != serverClock {
		c.at, c.timed = r.At.UnixMicro(), true
	}
	switch {
	case !c.timed && l.clock == callerClock:
		return c, errors.New("the request has no instant, and the script is given the time by its caller")
	case c.cost > 1 && !l.takesCosts():
		return c, fmt.Errorf("the request costs %d units, and the script is not told", c.cost)
	}
	return c, nil
}

// instance is a name for this opening of a script.
func instance() string {
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// seen sums up what decisions told, as the Tells of a target. A part that a
// loose reply left out once is not told, and decimals are finer than a unit.
type seen struct {
	mu          sync.Mutex
	tells       *scenarios.Tells
	loose       bool
	noRemaining bool
	noRetry     bool
	noReset     bool
}

func (s *seen) note(t told) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loose {
		s.noRemaining = s.noRemaining || !t.remaining
		s.noRetry = s.noRetry || !t.Allowed && t.retry == 0 // an admission has none
		s.noReset = s.noReset || t.reset == 0
		s.tells.Remaining = !s.noRemaining
	}
	s.tells.Retry = finer(s.tells.Retry, t.retry, s.noRetry)
	s.tells.Reset = finer(s.tells.Reset, t.reset, s.noReset)
}

// finer is the smaller of two units; 0 is none.
func finer(a, b time.Duration, never bool) time.Duration {
	switch {
	case never:
		return 0
	case a == 0 || b != 0 && b < a:
		return b
	}
	return a
}
