package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// A contestant is a rate limiter that can be had as a Go module, or one of this
// repository's targets.
type contestant struct {
	name string // in tables
	what string // which algorithm it is
	// tells is what its decisions say besides yes or no.
	tells scenarios.Tells
	// own says that it is this repository's.
	own bool
	// aside says that it is another way to an algorithm that takes part by itself: it
	// is timed, and its decisions are not judged again.
	aside bool
	open  opener
}

// An opener makes a limiter on a server. Its keys, or its identities, start with the
// prefix.
type opener func(ctx context.Context, s *backend.Server, l limiter.Limit, prefix string) (limiter.Limiter, error)

// contestants is the table of all of them. To add one, add its row.
var contestants = []contestant{
	{name: "redis_rate", what: "GCRA", tells: scenarios.Tells{Remaining: true, Retry: time.Microsecond}, open: openRedisRate},
	{name: "throttled", what: "GCRA", tells: scenarios.Tells{Remaining: true, Retry: time.Microsecond}, open: openThrottled},
	{name: "ulule", what: "fixed window from the first request", tells: scenarios.Tells{Remaining: true, Retry: time.Second}, open: openUlule},
	{name: "article log", what: "sliding window log", tells: scenarios.Tells{At: true}, open: openTarget("lua:../lua/article-log.lua")},
	{name: "article counter", what: "sliding window counter", tells: scenarios.Tells{At: true}, open: openTarget("lua:../lua/article-counter.lua")},
	bundled("fixed", "fixed window"),
	bundled("log", "sliding window log"),
	bundled("log-packed", "sliding window log"),
	bundled("counter", "sliding window counter"),
	bundled("gcra", "GCRA"),
	{name: "rlbench log-packed+pipeline", what: "sliding window log", own: true, aside: true, tells: scenarios.TellsAll, open: openTarget("log-packed+pipeline")},
}

func bundled(algorithm, what string) contestant {
	return contestant{name: "rlbench " + algorithm, what: what, own: true, tells: scenarios.TellsAll, open: openTarget(algorithm)}
}

// openTarget opens what rlbench calls by a name, by the clock that fits it.
func openTarget(name string) opener {
	return func(ctx context.Context, s *backend.Server, l limiter.Limit, prefix string) (limiter.Limiter, error) {
		clock := scenarios.Server
		if strings.HasPrefix(name, "lua:") {
			clock = scenarios.Client
		}
		t, err := target.Open(ctx, s, name, target.Options{Limit: l, Clock: clock, Prefix: prefix})
		if err != nil {
			return nil, err
		}
		opened, err := t.Limiter(l)
		if err != nil || clock == scenarios.Server {
			return opened, err
		}
		return stamped{opened}, nil
	}
}

// stamped gives requests the caller's time, as the article does.
type stamped struct{ limiter.Limiter }

func (s stamped) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	if r.At.IsZero() {
		r.At = time.Now()
	}
	d, err := s.Limiter.Allow(ctx, r)
	d.At = r.At
	return d, err
}

// allower is a limiter that is one function.
type allower func(ctx context.Context, key string) (limiter.Decision, error)

// Allow decides. These limiters decide by clocks of their own, and get single units.
func (f allower) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	if r.Cost > 1 || r.Also != "" {
		return limiter.Decision{}, fmt.Errorf("contestant: cost %d and a second name are not for it", r.Cost)
	}
	d, err := f(ctx, r.Key)
	d.Source = limiter.SourceRedis
	return d, err
}
