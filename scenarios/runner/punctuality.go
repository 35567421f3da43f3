package runner

import (
	"context"
	"time"
)

// Punctuality is how late the pacer of a run is on this machine: it waits n times for
// an instant, as it waits for a request, every gap. The server gets nothing. It ends
// early with the context.
func Punctuality(ctx context.Context, n int, gap time.Duration) []time.Duration {
	start := time.Now()
	r := &run{watch: func() time.Duration { return time.Since(start) }}
	late := make([]time.Duration, 0, n)
	for i := range n {
		at := time.Duration(i+1) * gap
		if !r.waitUntil(ctx, at, true, nil) {
			break
		}
		late = append(late, r.watch()-at)
	}
	return late
}

// Stalls watches the clock for a time and returns how much of it passed in jumps
// longer than one, and the longest jump: what somebody else had the core for.
func Stalls(ctx context.Context, length, jump time.Duration) (lost, longest time.Duration) {
	start := time.Now()
	for before := time.Duration(0); before < length && ctx.Err() == nil; {
		now := time.Since(start)
		if gap := now - before; gap > jump {
			lost += gap
			longest = max(longest, gap)
		}
		before = now
	}
	return lost, longest
}
