package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// crowds times one limiter with one, many and very many identities that Redis knows
// already, in turns, and measures what they take.
func crowds(ctx context.Context, s *backend.Server, c contestant, rounds int) ([]string, error) {
	const many, some, most = 10_000, 100_000, 1_000_000
	l, err := c.open(ctx, s, crowd(most, 0).limit, "crowd:")
	if err != nil {
		return nil, err
	}
	var used [3]int64 // by the first ones, whose connections are there then, and by more
	for i, span := range [][2]int{{0, many}, {many, some}, {some, most}} {
		if err := populate(ctx, l, span[0], span[1]); err != nil {
			return nil, err
		}
		if used[i], err = memory(ctx, s); err != nil {
			return nil, err
		}
	}
	timings := make([]timing, 3)
	for r := range rounds {
		for i, n := range []int{1, many, most} {
			crowd(n, r).round(ctx, l, "", &timings[i])
		}
	}
	row := []string{c.name}
	for i := range timings {
		if timings[i].errors+timings[i].denied > 0 {
			return nil, fmt.Errorf("%s: %d errors, %d denied; want none", c.name, timings[i].errors, timings[i].denied)
		}
		row = append(row, fmt.Sprintf("%.0f, %s of the first", spreadOf(timings[i].rates).median, ratio(timings[i], timings[0])))
	}
	for i, n := range []int{some - many, most - some} {
		row = append(row, fmt.Sprintf("%.0f", float64(used[i+1]-used[i])/float64(n)))
	}
	return row, s.Clear(ctx)
}

// populate lets identities use one unit each.
func populate(ctx context.Context, l limiter.Limiter, from, to int) error {
	var next atomic.Int64
	next.Store(int64(from) - 1)
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := int(next.Add(1)); i < to && failed.Load() == nil; i = int(next.Add(1)) {
				if _, err := l.Allow(ctx, limiter.Request{Key: strconv.Itoa(i)}); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// memory is what the server says that it takes.
func memory(ctx context.Context, s *backend.Server) (int64, error) {
	info, err := s.Client().Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("the server tells no used_memory")
}
