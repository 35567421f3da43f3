package limitertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// sizes are requests at the ends of what can be asked for. Admitted costs stay
// below 10 000 for those who store every unit.
var sizes = []struct {
	why   string
	limit limiter.Limit
	at    time.Time
	asks  []ask
}{
	{
		"2^31 units",
		limiter.Limit{Max: limiter.MaxMax, Window: time.Second},
		epoch,
		[]ask{{0, 1}, {0, 5}, {time.Microsecond, limiter.MaxMax}, {time.Second - 1, limiter.MaxMax}, {time.Hour, 3}},
	},
	{
		"2^31 units in 31 days",
		limiter.Limit{Max: limiter.MaxMax, Window: limiter.MaxWindow},
		epoch,
		[]ask{{0, 1}, {0, limiter.MaxMax}, {limiter.MaxWindow, 1}},
	},
	{
		"cost 10 000",
		limiter.Limit{Max: 10_000, Window: time.Minute},
		epoch,
		[]ask{{0, 10_000}, {0, 1}, {time.Minute, 10_000}, {2 * time.Minute, 9_999}, {2 * time.Minute, 1}, {2 * time.Minute, 1}},
	},
	{
		"cost 10 000 of which 1 is missing",
		limiter.Limit{Max: 10_000, Window: time.Minute},
		epoch,
		[]ask{{0, 1}, {0, 10_000}, {0, 9_999}, {time.Minute - time.Microsecond, 1}},
	},
	{
		"the shortest window",
		limiter.Limit{Max: 3, Window: limiter.MinWindow},
		epoch,
		[]ask{{0, 3}, {0, 1}, {time.Millisecond - time.Microsecond, 1}, {time.Millisecond, 1}, {2 * time.Millisecond, 2}},
	},
	{
		"a window of no whole milliseconds",
		limiter.Limit{Max: 3, Window: 1501 * time.Microsecond},
		epoch,
		[]ask{{0, 3}, {0, 1}, {1501 * time.Microsecond, 2}, {3002 * time.Microsecond, 3}},
	},
	{
		"the longest window",
		limiter.Limit{Max: 3, Window: limiter.MaxWindow},
		epoch,
		[]ask{{0, 3}, {limiter.MaxWindow - time.Microsecond, 1}, {limiter.MaxWindow, 1}, {2 * limiter.MaxWindow, 3}},
	},
	{
		"limit 0",
		limiter.Limit{Window: time.Minute},
		epoch,
		[]ask{{0, 1}, {0, limiter.MaxMax}, {time.Hour, 1}},
	},
	{
		"limit 1",
		limiter.Limit{Max: 1, Window: time.Minute},
		epoch,
		[]ask{{0, 1}, {0, 1}, {time.Minute, 1}, {time.Minute + time.Microsecond, 1}, {2 * time.Minute, 1}},
	},
	{
		"the first second of 1970",
		limiter.Limit{Max: 2, Window: time.Minute},
		time.Unix(0, 0),
		[]ask{{0, 1}, {time.Microsecond, 1}, {time.Second, 1}, {time.Minute, 1}},
	},
	{
		"the year 2111",
		limiter.Limit{Max: 2, Window: time.Minute},
		time.Date(2111, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
		[]ask{{0, 2}, {0, 1}, {time.Microsecond, 1}, {time.Minute, 1}},
	},
}

type ask struct {
	after time.Duration
	cost  int64
}

func checkSizes(ctx context.Context, s *subject) error {
	var f faults
	for _, row := range sizes {
		l, err := s.fresh(row.limit)
		if refusal := s.algorithm.Validate(row.limit); refusal != nil {
			if err == nil {
				f.addf("%s: limit %s was opened, although %w", row.why, row.limit, refusal)
			}
			continue
		}
		if err == nil {
			err = s.asksAgree(ctx, l, row.limit, row.at, row.asks)
		}
		if err != nil {
			f.addf("%s, limit %s: %w", row.why, row.limit, err)
		}
	}
	return f.join()
}

// asksAgree compares the answers with the model's.
func (s *subject) asksAgree(ctx context.Context, l limiter.Limiter, limit limiter.Limit, at time.Time, asks []ask) error {
	model, err := NewReference(s.algorithm).Limiter(limit)
	if err != nil {
		return err
	}
	for _, ask := range asks {
		r := limiter.Request{Key: "a", At: at.Add(ask.after).Truncate(time.Microsecond), Cost: ask.cost}
		want, err := model.Allow(ctx, r)
		if err != nil {
			return err
		}
		got, err := l.Allow(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", row(at, r, want), err)
		}
		if different(want, got) {
			return fmt.Errorf("want %s\ngot  %s", row(at, r, want), row(at, r, got))
		}
	}
	return nil
}

// checkRequests sends what cannot be decided.
func checkRequests(ctx context.Context, s *subject) error {
	setup := s.setup(limiter.Limit{Max: 5, Window: time.Minute})
	l, err := s.open(setup)
	if err != nil {
		return err
	}
	bad := []struct {
		why string
		r   limiter.Request
	}{
		{"no key", limiter.Request{At: epoch}},
		{"a negative cost would give budget back", limiter.Request{Key: "a", At: epoch, Cost: -1}},
		{"a cost that no limit can have", limiter.Request{Key: "a", At: epoch, Cost: limiter.MaxMax + 1}},
		{"an instant before 1970", limiter.Request{Key: "a", At: time.Unix(-1, 0)}},
		{"an instant that Lua cannot hold", limiter.Request{Key: "a", At: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}},
	}
	var f faults
	for _, b := range bad {
		err := s.frozen(ctx, setup.Policy, func() error {
			d, err := l.Allow(ctx, b.r)
			switch {
			case err == nil:
				return fmt.Errorf("no error, but %+v", d)
			case errors.Is(err, limiter.ErrUnknown):
				return fmt.Errorf("was sent: %w", err)
			}
			return nil
		})
		if err != nil {
			f.addf("%s: %w", b.why, err)
		}
	}
	return f.join()
}
