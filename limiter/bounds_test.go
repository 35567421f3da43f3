package limiter_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
)

// admission is what one request took.
type admission struct {
	at    time.Time
	units int64
}

// drawAdmissions runs a random schedule of a client that asks for all it can get.
func drawAdmissions(t *rapid.T, k *key) (taken []admission) {
	now := t0
	for range rapid.IntRange(1, 50).Draw(t, "requests") {
		now = now.Add(drawGap(t, k.l))
		cost := drawCost(t, k.l)
		d := k.allow(now, cost)
		if !d.Allowed && rapid.Bool().Draw(t, "take what remains") && d.Remaining > 0 {
			cost = d.Remaining
			d = k.allow(now, cost)
		}
		if d.Allowed {
			taken = append(taken, admission{now, cost})
		}
	}
	return taken
}

// mostWithin is the most units in any trailing window (t-W, t].
func mostWithin(taken []admission, w time.Duration) (most int64) {
	for i, last := range taken {
		var sum int64
		for j := i; j >= 0 && last.at.Sub(taken[j].at) < w; j-- {
			sum += taken[j].units
		}
		most = max(most, sum)
	}
	return most
}

// TestWorstHolds: no schedule admits more than Worst in a trailing window.
func TestWorstHolds(t *testing.T) {
	eachModel(t, func(t *rapid.T, a limiter.Algorithm) {
		k := &key{a: a, l: drawLimit(t), state: a.Model.Init()}
		if most := mostWithin(drawAdmissions(t, k), k.l.Window); most > a.Worst(k.l) {
			t.Fatalf("limit %s: %d admitted in a trailing window, Worst is %d", k.l, most, a.Worst(k.l))
		}
	})
}

// TestWorstIsReached: Worst is no looser than it has to be.
func TestWorstIsReached(t *testing.T) {
	// Two bursts of single units: one tick before an edge, and as early as the
	// second is at its largest. For counter-strict and gcra that is the
	// last instant of the window.
	second := map[string]func(limiter.Limit) time.Duration{
		"fixed":      func(limiter.Limit) time.Duration { return 0 },
		"log":        func(limiter.Limit) time.Duration { return 0 },
		"log-packed": func(limiter.Limit) time.Duration { return 0 },
		"counter": func(l limiter.Limit) time.Duration {
			return (l.Window - l.Window/time.Duration(l.Max)).Truncate(tick) + tick
		},
		"counter-strict": func(l limiter.Limit) time.Duration { return l.Window - 2*tick },
		"gcra":           func(l limiter.Limit) time.Duration { return l.Window - 2*tick },
	}
	for _, a := range limiter.Algorithms {
		for _, text := range []string{"1/1ms", "2/1m", "3/250ms", "10/1m", "100/1m", "1000/1m", "600/24h"} {
			l, err := limiter.ParseLimit(text)
			if err != nil {
				t.Fatal(err)
			}
			after, known := second[a.Name]
			if !known {
				t.Fatalf("no schedule is known to reach the worst case of %s", a.Name)
			}
			k := &key{a: a, l: l, state: a.Model.Init()}
			var taken []admission
			for _, at := range []time.Time{t0.Add(-tick), t0.Add(after(l))} {
				for range l.Max {
					if k.allow(at, 1).Allowed {
						taken = append(taken, admission{at, 1})
					}
				}
			}
			if most := mostWithin(taken, l.Window); most != a.Worst(l) {
				t.Errorf("%s, limit %s: the known schedule admits %d in a trailing window, Worst is %d", a.Name, l, most, a.Worst(l))
			}
		}
	}
}

// TestWindowsHold: fixed and the counters admit the limit at most in any one aligned
// window, so their long-run rate is right.
func TestWindowsHold(t *testing.T) {
	for _, a := range []limiter.Algorithm{limiter.Fixed, limiter.Counter, limiter.CounterStrict} {
		t.Run(a.Name, rapid.MakeCheck(func(t *rapid.T) {
			k := &key{a: a, l: drawLimit(t), state: a.Model.Init()}
			sums := map[int64]int64{}
			for _, taken := range drawAdmissions(t, k) {
				window := taken.at.UnixMicro() / k.l.Window.Microseconds()
				if sums[window] += taken.units; sums[window] > k.l.Max {
					t.Fatalf("limit %s: %d admitted in one aligned window", k.l, sums[window])
				}
			}
		}))
	}
}

// TestCounterSpans: within a span s < W the counter admits L + ceil(L s/W) at
// most. For with x the time into the second window of its last admission, p and
// c the counts: c <= L - floor(p (W-x)/W) = L - p + ceil(p x/W).
func TestCounterSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &key{a: limiter.Counter, l: drawLimit(t), state: limiter.Counter.Model.Init()}
		taken := drawAdmissions(t, k)
		w := k.l.Window.Microseconds()
		for i, last := range taken {
			var sum int64
			for j := i; j >= 0; j-- {
				s := last.at.Sub(taken[j].at).Microseconds()
				if s >= w {
					break
				}
				sum += taken[j].units
				if bound := k.l.Max + (k.l.Max*s+w-1)/w; sum > bound {
					t.Fatalf("limit %s: %d admitted within %d µs, the bound is %d", k.l, sum, s, bound)
				}
			}
		}
	})
}

// TestLogIsExact: the log denies exactly what would exceed the limit in the
// trailing window, counted by brute force.
func TestLogIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &key{a: limiter.Log, l: drawLimit(t), state: limiter.Log.Model.Init()}
		var taken []admission
		now := t0
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now = now.Add(drawGap(t, k.l))
			cost := drawCost(t, k.l)
			var trailing int64
			for _, a := range taken {
				if now.Sub(a.at) < k.l.Window {
					trailing += a.units
				}
			}
			d := k.allow(now, cost)
			if want := trailing+cost <= k.l.Max; d.Allowed != want {
				t.Fatalf("limit %s: %d used, cost %d: admitted %t, want %t", k.l, trailing, cost, d.Allowed, want)
			}
			if d.Allowed {
				taken = append(taken, admission{now, cost})
			}
		}
	})
}
