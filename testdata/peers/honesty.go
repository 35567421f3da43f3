package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// honesty is what became of clients who believed what they were told.
type honesty struct {
	told     bool          // a wait at all
	admitted bool          // who waited that long
	wasted   time.Duration // how much less would have been enough, to a fiftieth of a window
}

func (h honesty) String() string {
	switch {
	case !h.told:
		return "tells none"
	case !h.admitted:
		return "too short"
	case h.wasted > 0:
		return fmt.Sprintf("%s too long", h.wasted.Round(time.Millisecond))
	}
	return "true"
}

// askAfter uses a budget up, waits as long as the denial says, and asks again; and a
// second client waits less and less, until it is denied. Requests come evenly over a
// tenth of a window, so that the budget does not come back all at once.
func askAfter(ctx context.Context, s *backend.Server, c contestant, l limiter.Limit) (h honesty, err error) {
	opened, err := c.open(ctx, s, l, "honest:")
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, s.Clear(ctx)) }()
	wait, admitted, err := after(ctx, opened, l, "full", 0)
	h = honesty{told: wait > 0, admitted: admitted}
	if err != nil || !h.told || !h.admitted {
		return h, err
	}
	step := l.Window / 50
	for less := step; less < wait; less *= 2 {
		_, admitted, err := after(ctx, opened, l, fmt.Sprintf("less-%s", less), less)
		if err != nil {
			return h, err
		}
		if !admitted {
			break
		}
		h.wasted = less
	}
	return h, nil
}

// after uses up the budget of a new client, waits less than the denial says by so
// much, and reports the wait that was told and whether the client is admitted then.
func after(ctx context.Context, asked limiter.Limiter, l limiter.Limit, key string, less time.Duration) (time.Duration, bool, error) {
	begin := time.Now()
	for i := range l.Max {
		time.Sleep(time.Until(begin.Add(l.Window / 10 * time.Duration(i) / time.Duration(l.Max))))
		if _, err := asked.Allow(ctx, limiter.Request{Key: key}); err != nil {
			return 0, false, err
		}
	}
	for range 10 * l.Max {
		d, err := asked.Allow(ctx, limiter.Request{Key: key})
		if err != nil {
			return 0, false, err
		}
		if d.Allowed { // a bucket has got some back meanwhile
			continue
		}
		wait := d.RetryAfter - less
		time.Sleep(wait)
		again, err := asked.Allow(ctx, limiter.Request{Key: key})
		return d.RetryAfter, again.Allowed, err
	}
	return 0, false, fmt.Errorf("nothing was denied after %d requests", 11*l.Max)
}

// lifetimes are the shortest and the longest time to live of a full identity's keys,
// in windows; -1 is for ever.
type lifetimes struct {
	shortest, longest float64
	keys              int
	bytes             int64 // of all of them
}

func (t lifetimes) String() string {
	switch {
	case t.keys == 0:
		return "no key"
	case t.shortest < 0:
		return "for ever"
	case t.longest-t.shortest < 0.05:
		return fmt.Sprintf("%.1f W", t.longest)
	}
	return fmt.Sprintf("%.1f to %.1f W", t.shortest, t.longest)
}

// examine uses a budget up and looks at what is in Redis then.
func examine(ctx context.Context, s *backend.Server, c contestant, l limiter.Limit) (t lifetimes, err error) {
	opened, err := c.open(ctx, s, l, "rl:")
	if err != nil {
		return t, err
	}
	for range l.Max {
		if _, err := opened.Allow(ctx, limiter.Request{Key: "203.0.113.7"}); err != nil {
			return t, err
		}
	}
	keys, _, err := s.Scan(ctx, "*", 1000)
	if err != nil {
		return t, err
	}
	for i, key := range keys {
		left, err := s.Client().PTTL(ctx, key).Result()
		if err != nil {
			return t, err
		}
		bytes, err := s.Client().MemoryUsage(ctx, key, 0).Result()
		if err != nil {
			return t, err
		}
		windows := left.Seconds() / l.Window.Seconds()
		if left < 0 {
			windows = -1
		}
		if i == 0 || windows < t.shortest {
			t.shortest = windows
		}
		t.longest = max(t.longest, windows)
		t.bytes += bytes
	}
	t.keys = len(keys)
	return t, s.Clear(ctx)
}
