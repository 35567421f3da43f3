package limiter_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
)

// t0 is a multiple of every window below.
var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const tick = time.Microsecond

// eachModel runs a property on every algorithm.
func eachModel(t *testing.T, property func(*rapid.T, limiter.Algorithm)) {
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { property(t, a) })
		})
	}
}

// Windows of few ticks, so that random instants meet edges and each other.
func drawLimit(t *rapid.T) limiter.Limit {
	return limiter.Limit{
		Max:    rapid.SampledFrom([]int64{1, 2, 3, 7, 10, 100}).Draw(t, "max"),
		Window: rapid.SampledFrom([]time.Duration{time.Millisecond, 3 * time.Millisecond, time.Minute}).Draw(t, "window"),
	}
}

// drawGap is often 0, or an edge of the window, or a tick beside it.
func drawGap(t *rapid.T, l limiter.Limit) time.Duration {
	part := rapid.SampledFrom([]int64{0, 0, 1, 10, 50, 90, 99, 100, 100, 250}).Draw(t, "percent")
	beside := rapid.Int64Range(-1, 1).Draw(t, "beside")
	return max(l.Window*time.Duration(part)/100+time.Duration(beside)*tick, 0).Truncate(tick)
}

func drawCost(t *rapid.T, l limiter.Limit) int64 {
	return rapid.OneOf(rapid.Just(int64(1)), rapid.Int64Range(1, l.Max+1)).Draw(t, "cost")
}

// key is one key under a model.
type key struct {
	a     limiter.Algorithm
	l     limiter.Limit
	state any
}

// try decides without consequences.
func (k *key) try(at time.Time, cost int64) (any, limiter.Decision) {
	return k.a.Model.Step(k.l, k.state, limiter.Request{Key: "k", At: at, Cost: cost})
}

func (k *key) allow(at time.Time, cost int64) limiter.Decision {
	next, d := k.try(at, cost)
	k.state = next
	return d
}

// TestModelInvariants: what holds for every decision, late stamps and changed
// limits included.
func TestModelInvariants(t *testing.T) {
	eachModel(t, func(t *rapid.T, a limiter.Algorithm) {
		k := &key{a: a, l: drawLimit(t), state: a.Model.Init()}
		now := t0
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now = now.Add(drawGap(t, k.l))
			at := now
			if rapid.IntRange(0, 9).Draw(t, "late") == 0 {
				at = now.Add(-drawGap(t, k.l))
			}
			if rapid.IntRange(0, 19).Draw(t, "change") == 0 {
				k.l.Max = rapid.Int64Range(0, 100).Draw(t, "new max")
			}
			cost := drawCost(t, k.l)
			before := fmt.Sprintf("%#v", k.state)
			next, d := k.try(at, cost)
			if after := fmt.Sprintf("%#v", k.state); after != before {
				t.Fatalf("Step changed the state it was given from %s to %s", before, after)
			}
			switch {
			case d.Remaining < 0 || d.Remaining > k.l.Max || d.Limit != k.l.Max:
				t.Fatalf("remaining is outside 0 to the limit %d: %+v", k.l.Max, d)
			case d.Allowed != (d.RetryAfter == 0) || d.RetryAfter < 0:
				t.Fatalf("a wait is positive exactly for a denial: %+v", d)
			case (d.RetryAfter == limiter.Never) != (cost > k.l.Max):
				t.Fatalf("a wait is never exactly for a cost above the limit: cost %d, %+v", cost, d)
			case d.ResetAfter < 0 || d.Allowed && d.ResetAfter == 0:
				t.Fatalf("something used takes time to come back: %+v", d)
			case !d.Allowed && !reflect.DeepEqual(next, k.state):
				t.Fatalf("a denial changed the state from %#v to %#v", k.state, next)
			}
			k.state = next
		}
	})
}

// TestModelWaitsAreExact: RetryAfter and ResetAfter are the first instants at
// which they are true, for any state that a key can get into.
func TestModelWaitsAreExact(t *testing.T) {
	eachModel(t, func(t *rapid.T, a limiter.Algorithm) {
		k := &key{a: a, l: drawLimit(t), state: a.Model.Init()}
		now := t0
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			now = now.Add(drawGap(t, k.l))
			if rapid.IntRange(0, 19).Draw(t, "change") == 0 {
				k.l.Max = rapid.Int64Range(1, 100).Draw(t, "new max")
			}
			cost := drawCost(t, k.l)
			d := k.allow(now, cost)
			k.wantRetry(t, now, cost, d)
			k.wantReset(t, now, d)
		}
	})
}

func (k *key) wantRetry(t *rapid.T, at time.Time, cost int64, d limiter.Decision) {
	if d.Allowed || d.RetryAfter == limiter.Never {
		return
	}
	if _, early := k.try(at.Add(d.RetryAfter-tick), cost); early.Allowed {
		t.Fatalf("limit %s: admitted before RetryAfter of %+v, state %#v", k.l, d, k.state)
	}
	if _, due := k.try(at.Add(d.RetryAfter), cost); !due.Allowed {
		t.Fatalf("limit %s: denied after RetryAfter of %+v, state %#v", k.l, d, k.state)
	}
}

// wantReset asks with a cost above the limit: the denial tells what remains.
func (k *key) wantReset(t *rapid.T, at time.Time, d limiter.Decision) {
	if _, due := k.try(at.Add(d.ResetAfter), k.l.Max+1); due.Remaining != k.l.Max {
		t.Fatalf("limit %s: %d remain after ResetAfter of %+v, state %#v", k.l, due.Remaining, d, k.state)
	}
	if d.ResetAfter == 0 {
		return
	}
	if _, early := k.try(at.Add(d.ResetAfter-tick), k.l.Max+1); early.Remaining == k.l.Max {
		t.Fatalf("limit %s: all is back before ResetAfter of %+v, state %#v", k.l, d, k.state)
	}
}
