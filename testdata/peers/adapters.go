package main

import (
	"context"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	throttling "github.com/throttled/throttled/v2"
	goredisstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	ulule "github.com/ulule/limiter/v3"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// defaults is a client as the documentation of all three makes one: with the options
// of go-redis, but as many connections as our own client has. It is not closed: it
// serves for as long as the server lives, which ends it.
func defaults(s *backend.Server) *redis.Client {
	clientsOf.Lock()
	defer clientsOf.Unlock()
	if c := clients[s]; c != nil {
		return c
	}
	o, err := redis.ParseURL(s.URL())
	if err != nil {
		panic(err) // the URL is ours
	}
	o.PoolSize = s.Client().Options().PoolSize
	clients[s] = redis.NewClient(o)
	return clients[s]
}

var (
	clientsOf sync.Mutex
	clients   = map[*backend.Server]*redis.Client{}
)

func openRedisRate(_ context.Context, s *backend.Server, l limiter.Limit, prefix string) (limiter.Limiter, error) {
	r := redis_rate.NewLimiter(defaults(s))
	limit := redis_rate.Limit{Rate: int(l.Max), Burst: int(l.Max), Period: l.Window}
	return allower(func(ctx context.Context, key string) (limiter.Decision, error) {
		got, err := r.Allow(ctx, prefix+key, limit)
		if err != nil {
			return limiter.Decision{}, err
		}
		return limiter.Decision{
			Allowed: got.Allowed > 0, Limit: l.Max, Remaining: int64(got.Remaining),
			RetryAfter: max(got.RetryAfter, 0), ResetAfter: got.ResetAfter,
		}, nil
	}), nil
}

func openThrottled(_ context.Context, s *backend.Server, l limiter.Limit, prefix string) (limiter.Limiter, error) {
	store, err := goredisstore.NewCtx(defaults(s), prefix)
	if err != nil {
		return nil, err
	}
	// Its burst is what may come on top of the first one.
	r, err := throttling.NewGCRARateLimiterCtx(store, throttling.RateQuota{
		MaxRate: throttling.PerDuration(int(l.Max), l.Window), MaxBurst: int(l.Max) - 1,
	})
	if err != nil {
		return nil, err
	}
	return allower(func(ctx context.Context, key string) (limiter.Decision, error) {
		denied, got, err := r.RateLimitCtx(ctx, key, 1)
		if err != nil {
			return limiter.Decision{}, err
		}
		return limiter.Decision{
			Allowed: !denied, Limit: l.Max, Remaining: int64(got.Remaining), RetryAfter: max(got.RetryAfter, 0), ResetAfter: got.ResetAfter,
		}, nil
	}), nil
}

func openUlule(_ context.Context, s *backend.Server, l limiter.Limit, prefix string) (limiter.Limiter, error) {
	store, err := ululeredis.NewStoreWithOptions(defaults(s), ulule.StoreOptions{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	r := ulule.New(store, ulule.Rate{Period: l.Window, Limit: l.Max})
	return allower(func(ctx context.Context, key string) (limiter.Decision, error) {
		got, err := r.Get(ctx, key)
		if err != nil {
			return limiter.Decision{}, err
		}
		d := limiter.Decision{Allowed: !got.Reached, Limit: l.Max, Remaining: got.Remaining}
		if got.Reached { // it tells no wait, but the second in which its window ends
			d.RetryAfter = max(time.Until(time.Unix(got.Reset, 0)), 0)
		}
		return d, nil
	}), nil
}
