package edge_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
)

// TestSameSeedSameDecisions: and another seed decides otherwise.
func TestSameSeedSameDecisions(t *testing.T) {
	run := func(seed uint64) string {
		c := plain(5)
		c.Machines, c.Seed, c.Sync = 4, seed, 100*time.Millisecond
		b := open(t, c)
		said := ""
		for i := range 100 {
			said += fmt.Sprintf("%t ", over(t, b, t0.Add(time.Duration(i)*7*time.Millisecond), 0, uint64(i)))
		}
		return said
	}
	once, again, other := run(1), run(1), run(2)
	if once != again {
		t.Error("the same seed decided otherwise")
	}
	if once == other {
		t.Error("another seed decided the same")
	}
}

// TestKeysAndLocationsAreApart: nothing that one key or location does is seen by
// another, whatever time they have to speak.
func TestKeysAndLocationsAreApart(t *testing.T) {
	c := plain(1)
	c.Locations = 2
	b := open(t, c)
	for _, key := range []string{"a", "b"} {
		for location := range 2 {
			for i, want := range []bool{true, false} {
				d, err := b.Allow(edge.WithConnection(background, location, 0), limiter.Request{Key: key, At: t0.Add(time.Duration(i) * 30 * time.Second)})
				if err != nil || d.Allowed != want {
					t.Errorf("key %s at %d, request %d: %t, %v", key, location, i, d.Allowed, err)
				}
			}
		}
	}
	if b.Keys() != 4 {
		t.Errorf("%d keys, want 4", b.Keys())
	}
}

// TestForgets: what no decision needs is dropped, at the edge of the period and
// not a microsecond before.
func TestForgets(t *testing.T) {
	for _, row := range []struct {
		why   string
		kind  edge.Kind
		after time.Duration
		keys  int // remembered, the two that ask then among them
	}{
		{"the last instant of the period", edge.FixedWindow, time.Minute - tick, 101},
		{"a fixed window forgets at its edge", edge.FixedWindow, time.Minute, 2},
		{"a sliding window needs the one before", edge.SlidingWindow, time.Minute, 101},
		{"until it is over too", edge.SlidingWindow, 2*time.Minute - tick, 101},
		{"and then forgets", edge.SlidingWindow, 2 * time.Minute, 2},
		{"an hour later", edge.SlidingWindow, time.Hour, 2},
		{"a clock that is a period late is waited for", edge.FixedWindow, -tick, 101},
		{"a clock that was set back begins afresh", edge.FixedWindow, -time.Minute - tick, 2},
	} {
		c := plain(10)
		c.Kind = row.kind
		b := open(t, c)
		for i := range 100 {
			if _, err := b.Allow(background, limiter.Request{Key: fmt.Sprint(i), At: t0}); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []string{"k", "7"} {
			if _, err := b.Allow(background, limiter.Request{Key: key, At: t0.Add(row.after)}); err != nil {
				t.Fatal(err)
			}
		}
		if b.Keys() != row.keys {
			t.Errorf("%s: %d keys are remembered, want %d", row.why, b.Keys(), row.keys)
		}
	}
}

// TestMaxKeys: a key that finds no room is admitted uncounted, those that found
// some stay limited, and the next period has room again.
func TestMaxKeys(t *testing.T) {
	for _, kind := range kinds {
		c := plain(1)
		c.Kind, c.MaxKeys = kind, 2
		b := open(t, c)
		ask := func(key string, at time.Time) bool {
			d, err := b.Allow(background, limiter.Request{Key: key, At: at})
			if err != nil {
				t.Fatal(err)
			}
			return d.Allowed
		}
		for _, row := range []struct {
			why  string
			key  string
			at   time.Time
			want bool
		}{
			{"room", "a", t0, true},
			{"the last room", "b", t0, true},
			{"no room: permissive", "c", t0, true},
			{"still uncounted", "c", t0, true},
			{"a flood of names sets nobody free", "a", t0, false},
			{"room in the next period", "c", t0.Add(2 * time.Minute), true},
			{"and so counted", "c", t0.Add(2 * time.Minute), false},
		} {
			if got := ask(row.key, row.at); got != row.want {
				t.Errorf("%s, %s: admitted %t", kind, row.why, got)
			}
		}
		if b.Uncounted() != 2 {
			t.Errorf("%s: %d uncounted, want 2", kind, b.Uncounted())
		}
		for i := range 1000 {
			ask(fmt.Sprint(i), t0.Add(time.Duration(i)*time.Second))
		}
		if b.Keys() > 4 {
			t.Errorf("%s: %d keys are remembered with room for 2 in each of two periods", kind, b.Keys())
		}
	}
}

// TestConcurrent: callers at once are counted one by one.
func TestConcurrent(t *testing.T) {
	c := plain(100)
	c.Machines, c.Sync = 4, time.Millisecond
	b := open(t, c)
	var admitted atomic.Int64
	var callers sync.WaitGroup
	for n := range uint64(8) {
		callers.Go(func() {
			for range 200 {
				d, err := b.Allow(edge.WithConnection(background, 0, n), limiter.Request{Key: "k", At: t0})
				if err != nil {
					t.Error(err)
				}
				if d.Allowed {
					admitted.Add(1)
				}
				b.Keys()
			}
		})
	}
	callers.Wait()
	if n := admitted.Load(); n < c.Pinned() || n > c.Burst() || n%c.Pinned() != 0 {
		t.Errorf("admitted %d, want 100 for each machine that was met, of 4", n)
	}
}

// BenchmarkKey: what a key costs in memory.
func BenchmarkKey(b *testing.B) {
	for _, machines := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(machines), func(b *testing.B) {
			c := plain(10)
			c.Machines, c.MaxKeys = machines, b.N+1
			binding := open(b, c)
			b.ReportAllocs()
			for i := range b.N {
				_, _ = binding.Allow(background, limiter.Request{Key: fmt.Sprintf("%024d", i), At: t0})
			}
		})
	}
}
