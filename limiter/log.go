package limiter

import (
	"slices"
	"sort"
	"time"

	"github.com/rlbench/rlbench/scripts"
)

// Log remembers the instant of every admitted unit. It is exact, and pays for
// it with memory: up to Limit.Max entries a key.
var Log = Algorithm{
	Name:      "log",
	Doc:       "sliding window log: exact, one sorted-set entry per admitted unit",
	Script:    scripts.Log,
	Model:     Model{Init: func() any { return logState(nil) }, Step: logStep},
	Worst:     func(l Limit) int64 { return l.Max },
	AfterEdge: func(l Limit, _ time.Duration) int64 { return l.Max },
	TTL:       func(l Limit) time.Duration { return l.Window + time.Second },
	nonce:     true,
}

// logState holds the admitted instants in microseconds, oldest first.
type logState []int64

func logStep(l Limit, state any, r Request) (any, Decision) {
	all := state.(logState)
	now, width := r.At.UnixMicro(), l.Window.Microseconds()
	expired := sort.Search(len(all), func(i int) bool { return all[i] > now-width })
	live := all[expired:]

	d := Decision{Limit: l.Max, At: r.At}
	next, cost := all, r.Units()
	switch free := l.Max - int64(len(live)); {
	case cost > l.Max:
		d.RetryAfter = Never
	case cost > free:
		// cost-free entries have to leave; the last of them decides.
		d.RetryAfter = micros(live[cost-free-1] + width - now)
	default:
		d.Allowed = true
		at := sort.Search(len(live), func(i int) bool { return live[i] > now })
		added := slices.Repeat([]int64{now}, int(cost))
		live = slices.Concat(live[:at], added, live[at:])
		next = live
	}
	d.Remaining = max(l.Max-int64(len(live)), 0)
	if n := len(live); n > 0 {
		d.ResetAfter = micros(live[n-1] + width - now)
	}
	return next, d
}
