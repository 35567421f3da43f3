package limiter_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
)

// policies gives each run of a property keys of its own on a shared server.
var policies atomic.Uint64

func openOn(t *testing.T, client limiter.Processor, c limiter.Config) *limiter.Redis {
	t.Helper()
	c.OnFailure = limiter.FailError
	l, err := limiter.New(client, c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func freshPolicy() string { return fmt.Sprintf("names-%d", policies.Add(1)) }

// TestTwoNames: a client whose pseudonym changes, and whose servers change it at
// different moments, is decided exactly as if it had one name, as long as each
// request tells both. So a rotation gives nobody a fresh budget.
func TestTwoNames(t *testing.T) {
	client := managed(t).Client()
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				limit := drawLimit(t)
				l, err := limiter.New(client, limiter.Config{
					Algorithm: a, Limit: limit, Policy: freshPolicy(), OnFailure: limiter.FailError, TTLFloor: time.Hour,
				})
				if err != nil {
					t.Fatal(err)
				}
				k := &key{a: a, l: limit, state: a.Model.Init()}
				names := []string{"yesterday", "today"}
				now := t0
				for i := range rapid.IntRange(1, 25).Draw(t, "requests") {
					now = now.Add(drawGap(t, limit))
					own := rapid.IntRange(0, 1).Draw(t, "name")
					r := limiter.Request{Key: names[own], Also: names[1-own], At: now, Cost: drawCost(t, limit)}
					if peeked, err := l.Peek(context.Background(), r); err != nil {
						t.Fatal(err)
					} else if _, want := k.try(r.At, r.Cost); !same(peeked, want) {
						t.Fatalf("request %d, peek at %s of cost %d: %+v, want %+v", i, r.At.Sub(t0), r.Cost, peeked, want)
					}
					got, err := l.Allow(context.Background(), r)
					if err != nil {
						t.Fatal(err)
					}
					if want := k.allow(r.At, r.Cost); !same(got, want) {
						t.Fatalf("request %d at %s of cost %d: %+v, want %+v", i, r.At.Sub(t0), r.Cost, got, want)
					}
				}
			})
		})
	}
}

// same compares what both a model and a Redis say.
func same(a, b limiter.Decision) bool {
	return a.Allowed == b.Allowed && a.Limit == b.Limit && a.Remaining == b.Remaining &&
		a.RetryAfter == b.RetryAfter && a.ResetAfter == b.ResetAfter && a.At.Equal(b.At)
}

// TestRotationWithoutTheOtherName is what Also is for: a full budget under either
// name at one instant.
func TestRotationWithoutTheOtherName(t *testing.T) {
	for _, row := range []struct {
		also string
		want int
	}{{"", 6}, {"yesterday", 3}} {
		for _, a := range limiter.Algorithms {
			l := openOn(t, embedded(t).Client(), limiter.Config{Algorithm: a, Limit: limiter.Limit{Max: 3, Window: time.Minute}, Policy: freshPolicy()})
			admitted := 0
			for _, r := range []limiter.Request{{Key: "yesterday"}, {Key: "today", Also: row.also}} {
				for range 3 {
					r.At = t0
					d, err := l.Allow(t.Context(), r)
					if err != nil {
						t.Fatal(err)
					}
					if d.Allowed {
						admitted++
					}
				}
			}
			if admitted != row.want {
				t.Errorf("%s, also %q: admitted %d at one instant, want %d", a.Name, row.also, admitted, row.want)
			}
		}
	}
}

// TestOtherNameIsOnlyRead: nothing of yesterday's name is changed, not even its
// time to live.
func TestOtherNameIsOnlyRead(t *testing.T) {
	client := managed(t).Client()
	for _, a := range limiter.Algorithms {
		l := openOn(t, client, limiter.Config{Algorithm: a, Limit: limiter.Limit{Max: 3, Window: time.Minute}, Policy: freshPolicy()})
		if _, err := l.Allow(t.Context(), limiter.Request{Key: "yesterday"}); err != nil {
			t.Fatal(err)
		}
		old := l.Keys("yesterday")[0]
		before := client.Dump(t.Context(), old).Val()
		client.Persist(t.Context(), old)
		for range 4 {
			if _, err := l.Allow(t.Context(), limiter.Request{Key: "today", Also: "yesterday"}); err != nil {
				t.Fatal(err)
			}
		}
		if after, ttl := client.Dump(t.Context(), old).Val(), client.TTL(t.Context(), old).Val(); after != before || ttl != -1 {
			t.Errorf("%s: the other name's key changed (same value: %t, TTL %s)", a.Name, after == before, ttl)
		}
		if err := l.Reset(t.Context(), limiter.Request{Key: "today", Also: "yesterday"}); err != nil {
			t.Fatal(err)
		}
		if n := client.Exists(t.Context(), old, l.Keys("today")[0]).Val(); n != 0 {
			t.Errorf("%s: %d keys are left after a reset", a.Name, n)
		}
	}
}

// TestSlots: names of one client can be asked for together on a cluster if they
// share a slot, and are refused with a remedy if they do not.
func TestSlots(t *testing.T) {
	client := cluster(t)
	for _, a := range limiter.Algorithms {
		l := openOn(t, client, limiter.Config{Algorithm: a, Limit: limiter.Limit{Max: 3, Window: time.Minute}, Policy: freshPolicy()})
		r := limiter.Request{Key: "today", Also: "yesterday"}
		if _, err := l.Allow(t.Context(), r); err == nil || !strings.Contains(err.Error(), "set Slot") {
			t.Errorf("%s: error %v, want one that says to set Slot", a.Name, err)
		}
		r.Slot = "7f"
		if d, err := l.Allow(t.Context(), r); err != nil || !d.Allowed {
			t.Errorf("%s in one slot: %+v, %v", a.Name, d, err)
		}
		keys := l.KeysOf(r)
		if len(keys) != 2 || limiter.Slot(keys[0]) != limiter.Slot(keys[1]) || keys[0] == keys[1] {
			t.Errorf("%s: keys %q", a.Name, keys)
		}
	}
}
