package faulty

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// entries is a log without a script.
type entries struct {
	setting
	width int64 // microseconds
}

func newEntries(s setting) entries {
	return entries{s, s.options.Limit.Window.Microseconds()}
}

// live asks for the entries after the instant that is a window before now.
func (l entries) live(ctx context.Context, c redis.Cmdable, key string, now int64) *redis.ZSliceCmd {
	return c.ZRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{Min: "(" + strconv.FormatInt(now-l.width, 10), Max: "+inf"})
}

// decide answers a request, given the entries that are live, oldest first.
func (l entries) decide(live []redis.Z, r limiter.Request, now int64) limiter.Decision {
	limit, used, cost := l.options.Limit.Max, int64(len(live)), r.Units()
	score := func(i int64) int64 { return int64(live[i].Score) }
	d := limiter.Decision{Limit: limit, At: time.UnixMicro(now).UTC(), Source: limiter.SourceRedis}
	newest := int64(0)
	if used > 0 {
		newest = score(used - 1)
	}
	switch {
	case cost > limit:
		d.RetryAfter = limiter.Never
	case used+cost > limit: // until the last of those that are too many has left
		d.RetryAfter = micros(score(used+cost-limit-1) + l.width - now)
	default:
		d.Allowed = true
		used += cost
		newest = max(newest, now)
	}
	d.Remaining = max(limit-used, 0)
	if used > 0 {
		d.ResetAfter = micros(newest + l.width - now)
	}
	return d
}

// add enters every unit of a request, and removes what is no longer live.
func (l entries) add(ctx context.Context, c redis.Pipeliner, key string, members []redis.Z, now int64) {
	c.ZAdd(ctx, key, members...)
	c.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(now-l.width, 10))
	c.PExpire(ctx, key, l.ttl())
}

func (l entries) ttl() time.Duration {
	return max(wholeMillis(l.options.Limit.Window)+time.Second, l.options.TTLFloor)
}

func unitsOf(r limiter.Request, now int64) []redis.Z {
	members, nonce := make([]redis.Z, r.Units()), rand.Text()
	for i := range members {
		members[i] = redis.Z{Score: float64(now), Member: nonce + ":" + strconv.Itoa(i)}
	}
	return members
}

// prepare checks a request and finds its instant.
func (l entries) prepare(ctx context.Context, r limiter.Request) (int64, error) {
	if err := r.Validate(); err != nil {
		return 0, err
	}
	now, err := instant(ctx, l.client, r)
	if err != nil {
		return 0, fate(err)
	}
	return now, nil
}

// countThenAdd leaves a gap between counting and adding.
func countThenAdd(s setting) (limiter.Limiter, error) { return counting{newEntries(s)}, nil }

type counting struct{ entries }

func (l counting) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	d, err := l.Peek(ctx, r)
	if err != nil {
		return d, err
	}
	key, now := l.keys(r.Key)[0], d.At.UnixMicro()
	if d.Allowed {
		_, err = l.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			l.add(ctx, p, key, unitsOf(r, now), now)
			return nil
		})
	} else {
		err = mend(ctx, l.client, key, l.ttl())
	}
	if err != nil {
		return limiter.Decision{}, fate(err)
	}
	return d, nil
}

// Peek answers what Allow would.
func (l counting) Peek(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	now, err := l.prepare(ctx, r)
	if err != nil {
		return limiter.Decision{}, err
	}
	live, err := l.live(ctx, l.client, l.keys(r.Key)[0], now).Result()
	if err != nil {
		return limiter.Decision{}, fate(err)
	}
	return l.decide(live, r, now), nil
}

// addThenCount adds before it knows whether it may.
func addThenCount(s setting) (limiter.Limiter, error) { return adding{newEntries(s)}, nil }

type adding struct{ entries }

func (l adding) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	now, err := l.prepare(ctx, r)
	if err != nil {
		return limiter.Decision{}, err
	}
	key := l.keys(r.Key)[0]
	if r.Units() > l.options.Limit.Max { // never fits, so nothing has to be known
		live, err := l.live(ctx, l.client, key, now).Result()
		if err != nil {
			return limiter.Decision{}, fate(err)
		}
		return l.decide(live, r, now), nil
	}
	var before *redis.ZSliceCmd
	_, err = l.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		before = l.live(ctx, p, key, now)
		l.add(ctx, p, key, unitsOf(r, now), now)
		return nil
	})
	if err != nil {
		return limiter.Decision{}, fate(err)
	}
	return l.decide(before.Val(), r, now), nil
}
