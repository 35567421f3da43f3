package limiter_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
)

// TestDenyCacheDecidesAsRedis: several processes with a cache each decide random
// traffic on shared keys as the model does. Where all requests cost 1, to the last
// field.
func TestDenyCacheDecidesAsRedis(t *testing.T) {
	client := managed(t).Client()
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			var repeated, asked int
			rapid.Check(t, func(t *rapid.T) {
				limit := drawLimit(t)
				policy := freshPolicy()
				var processes []*limiter.Redis
				for range rapid.IntRange(1, 3).Draw(t, "processes") {
					l, err := limiter.New(client, limiter.Config{
						Algorithm: a, Limit: limit, Policy: policy, OnFailure: limiter.FailError, TTLFloor: time.Hour,
						DenyCache: &limiter.DenyCache{Keys: rapid.SampledFrom([]int{0, 1}).Draw(t, "remembered")},
					})
					if err != nil {
						t.Fatal(err)
					}
					processes = append(processes, l)
				}
				one := rapid.Bool().Draw(t, "all cost one")
				models := map[string]*key{}
				now := t0
				for i := range rapid.IntRange(1, 80).Draw(t, "requests") {
					now = now.Add(drawGap(t, limit) / time.Duration(rapid.SampledFrom([]int{1, 10, 100}).Draw(t, "slower"))).Truncate(tick)
					r := limiter.Request{Key: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"), At: now, Cost: 1}
					if !one {
						r.Cost = drawCost(t, limit)
					}
					if models[r.Key] == nil {
						models[r.Key] = &key{a: a, l: limit, state: a.Model.Init()}
					}
					want := models[r.Key].allow(r.At, r.Cost)
					got, err := rapid.SampledFrom(processes).Draw(t, "process").Allow(context.Background(), r)
					if err != nil {
						t.Fatal(err)
					}
					asked++
					if got.Source == limiter.SourceDenyCache {
						repeated++
						if !one { // others may have used what was left
							if got.Allowed || got.RetryAfter > want.RetryAfter || !got.At.Equal(want.At) || got.Limit != want.Limit {
								t.Fatalf("request %d at %s of cost %d: %+v, want %+v", i, r.At.Sub(t0), r.Cost, got, want)
							}
							got = want
						}
					}
					if !same(got, want) {
						t.Fatalf("request %d at %s of cost %d: %+v, want %+v", i, r.At.Sub(t0), r.Cost, got, want)
					}
				}
			})
			if repeated < asked/50 {
				t.Errorf("%d of %d decisions came from a cache: this shows nothing", repeated, asked)
			}
		})
	}
}

// TestDenyCacheInRealTime: by the server's clock, with many callers, nobody who waits
// as told is refused again, and the promise is kept.
func TestDenyCacheInRealTime(t *testing.T) {
	client := managed(t).Client()
	limit := limiter.Limit{Max: 3, Window: 150 * time.Millisecond}
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			l := openOn(t, client, limiter.Config{Algorithm: a, Limit: limit, Policy: freshPolicy(), DenyCache: new(limiter.DenyCache)})
			repeated := 0
			for range 30 {
				d, err := l.Allow(t.Context(), limiter.Request{Key: "k"})
				if err != nil {
					t.Fatal(err)
				}
				if d.Source == limiter.SourceDenyCache {
					repeated++
				}
				if d.Allowed {
					continue
				}
				again, err := l.Allow(t.Context(), limiter.Request{Key: "k"})
				if err != nil || again.Allowed && again.Source == limiter.SourceDenyCache {
					t.Fatalf("%+v, %v", again, err)
				}
				if again.Source == limiter.SourceDenyCache {
					repeated++
				}
				if again.Allowed {
					continue
				}
				time.Sleep(again.RetryAfter)
				if d, err = l.Allow(t.Context(), limiter.Request{Key: "k"}); err != nil || !d.Allowed {
					t.Fatalf("waited %s as told: %+v, %v", again.RetryAfter, d, err)
				}
			}
			if repeated == 0 {
				t.Error("nothing came from the cache")
			}
		})
	}
}

// TestDenyCacheForgets: another limit, a reset and the other kind of clock.
func TestDenyCacheForgets(t *testing.T) {
	client := managed(t).Client()
	denials, policy := new(limiter.DenyCache), freshPolicy()
	open := func(most int64) *limiter.Redis {
		return openOn(t, client, limiter.Config{
			Algorithm: limiter.Log, Limit: limiter.Limit{Max: most, Window: time.Minute}, Policy: policy, DenyCache: denials,
		})
	}
	low, high := open(1), open(2)
	r := limiter.Request{Key: "k"}
	want := func(l *limiter.Redis, r limiter.Request, allowed bool, source limiter.Source, why string) {
		t.Helper()
		d, err := l.Allow(t.Context(), r)
		if err != nil || d.Allowed != allowed || d.Source != source {
			t.Errorf("%s: %+v, %v", why, d, err)
		}
	}
	want(low, r, true, limiter.SourceRedis, "the first")
	want(low, r, false, limiter.SourceRedis, "the second")
	want(low, r, false, limiter.SourceDenyCache, "the third")
	want(low, limiter.Request{Key: "other"}, true, limiter.SourceRedis, "another identity")
	want(low, limiter.Request{Key: "k", Slot: "s"}, true, limiter.SourceRedis, "another slot, so another key")
	want(low, limiter.Request{Key: "new", Also: "k"}, false, limiter.SourceRedis, "another name of the same")
	want(low, limiter.Request{Key: "new", Also: "k"}, false, limiter.SourceDenyCache, "and again")
	want(low, limiter.Request{Key: "k", At: time.Now()}, false, limiter.SourceRedis, "by its own stamp")
	want(high, r, true, limiter.SourceRedis, "a higher limit admits at once")
	want(low, r, false, limiter.SourceDenyCache, "the lower one does not")
	if d, err := low.Allow(t.Context(), limiter.Request{Key: "k", Cost: 2}); err != nil || d.RetryAfter != limiter.Never {
		t.Errorf("above the limit: %+v, %v", d, err)
	}
	if _, err := low.Allow(t.Context(), limiter.Request{Key: "k", Cost: -1}); err == nil {
		t.Error("a negative cost is decided")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := low.Allow(ctx, r); err == nil {
		t.Errorf("who has gone gets %+v", d)
	}
	if err := low.Reset(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want(low, r, true, limiter.SourceRedis, "after a reset")
}

// TestDenyCacheResets: whatever was denied, under whichever name, limit or clock, a
// reset lets Redis be asked again.
func TestDenyCacheResets(t *testing.T) {
	client := managed(t).Client()
	stamped := limiter.Request{Key: "k", At: time.Now()}
	for _, row := range []struct {
		denied, reset limiter.Request
		why           string
	}{
		{stamped, limiter.Request{Key: "k"}, "by its stamp"},
		{limiter.Request{Key: "k"}, limiter.Request{Key: "k", Also: "old"}, "one of a pair"},
		{limiter.Request{Key: "new", Also: "k"}, limiter.Request{Key: "k"}, "the name that counts too"},
	} {
		c := limiter.Config{
			Algorithm: limiter.Log, Limit: limiter.Limit{Max: 1, Window: time.Hour}, Policy: freshPolicy(), DenyCache: new(limiter.DenyCache),
		}
		l := openOn(t, client, c)
		c.Limit.Max = 2
		other := openOn(t, client, c)
		use := row.denied
		use.Key, use.Also = "k", ""
		for i, r := range []limiter.Request{use, row.denied, row.denied} {
			if d, err := l.Allow(t.Context(), r); err != nil || d.Allowed != (i == 0) || i == 2 && d.Source != limiter.SourceDenyCache {
				t.Errorf("%s, request %d: %+v, %v", row.why, i, d, err)
			}
		}
		if err := other.Reset(t.Context(), row.reset); err != nil {
			t.Fatal(err)
		}
		if d, err := l.Allow(t.Context(), row.denied); err != nil || !d.Allowed {
			t.Errorf("%s, after a reset: %+v, %v", row.why, d, err)
		}
	}
}

// TestDenyCacheForgetsWhatIsOver: of requests by stamps and by the server's clock, the
// denials that are over go first.
func TestDenyCacheForgetsWhatIsOver(t *testing.T) {
	denials := &limiter.DenyCache{Keys: 640}
	open := func(window time.Duration) *limiter.Redis {
		return openOn(t, managed(t).Client(), limiter.Config{
			Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 0, Window: window}, Policy: freshPolicy(), DenyCache: denials,
		})
	}
	if d, err := open(time.Hour).Allow(t.Context(), limiter.Request{Key: "k"}); err != nil || d.Allowed || denials.Len() != 0 {
		t.Errorf("a limit of 0 needs no memory: %+v, %v", d, err)
	}
	use := func(l *limiter.Redis, key string, at time.Time) limiter.Source {
		t.Helper()
		d, err := l.Allow(t.Context(), limiter.Request{Key: key, At: at})
		if err != nil {
			t.Fatal(err)
		}
		return d.Source
	}
	short := openOn(t, managed(t).Client(), limiter.Config{
		Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 1, Window: time.Millisecond}, Policy: freshPolicy(), DenyCache: denials, TTLFloor: time.Hour,
	})
	long := openOn(t, managed(t).Client(), limiter.Config{
		Algorithm: limiter.Log, Limit: limiter.Limit{Max: 1, Window: time.Hour}, Policy: freshPolicy(), DenyCache: denials,
	})
	for i := range 2000 {
		key := fmt.Sprint("over", i)
		use(short, key, t0)
		use(short, key, t0)
	}
	for i := range 100 {
		key := fmt.Sprint("live", i)
		use(long, key, time.Time{})
		use(long, key, time.Time{})
	}
	repeated := 0
	for i := range 100 {
		if use(long, fmt.Sprint("live", i), time.Time{}) == limiter.SourceDenyCache {
			repeated++
		}
	}
	if repeated < 90 || denials.Len() > 640 {
		t.Errorf("%d of 100 live denials were kept, %d are remembered", repeated, denials.Len())
	}
}

// TestDenyCacheCosts: a small cost may fit where a large one was denied.
func TestDenyCacheCosts(t *testing.T) {
	l := openOn(t, managed(t).Client(), limiter.Config{
		Algorithm: limiter.Counter, Limit: limiter.Limit{Max: 10, Window: time.Hour}, Policy: freshPolicy(), DenyCache: new(limiter.DenyCache),
	})
	for i, step := range []struct {
		cost    int64
		allowed bool
		source  limiter.Source
	}{
		{6, true, limiter.SourceRedis},
		{5, false, limiter.SourceRedis},
		{5, false, limiter.SourceDenyCache},
		{7, false, limiter.SourceDenyCache},
		{3, true, limiter.SourceRedis},
		{2, false, limiter.SourceRedis},
		{2, false, limiter.SourceDenyCache},
		{5, false, limiter.SourceDenyCache},
		{1, true, limiter.SourceRedis},
		{1, false, limiter.SourceRedis},
		{1, false, limiter.SourceDenyCache},
	} {
		d, err := l.Allow(t.Context(), limiter.Request{Key: "k", Cost: step.cost})
		if err != nil || d.Allowed != step.allowed || d.Source != step.source {
			t.Errorf("request %d of cost %d: %+v, %v", i, step.cost, d, err)
		}
	}
}

// TestDenyCacheIsBounded: with more denied identities than it remembers, and many
// callers, decisions stay right.
func TestDenyCacheIsBounded(t *testing.T) {
	for keys, want := range map[int]int{1: 1, 10: 10, 100: 64} {
		few := &limiter.DenyCache{Keys: keys}
		l := openOn(t, managed(t).Client(), limiter.Config{
			Algorithm: limiter.Log, Limit: limiter.Limit{Max: 1, Window: time.Hour}, Policy: freshPolicy(), DenyCache: few,
		})
		for i := range 2000 {
			if _, err := l.Allow(t.Context(), limiter.Request{Key: fmt.Sprint("k", i/2)}); err != nil {
				t.Fatal(err)
			}
		}
		if n := few.Len(); n != want {
			t.Errorf("%d denials are remembered with Keys %d, want %d", n, keys, want)
		}
	}
	denials := &limiter.DenyCache{Keys: 128}
	l := openOn(t, managed(t).Client(), limiter.Config{
		Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 1, Window: time.Hour}, Policy: freshPolicy(), DenyCache: denials,
	})
	var admitted, repeated atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for i := range 3000 {
				d, err := l.Allow(t.Context(), limiter.Request{Key: fmt.Sprint("k", i%1000)})
				if err != nil {
					t.Error(err)
					return
				}
				if d.Allowed {
					admitted.Add(1)
				}
				if d.Source == limiter.SourceDenyCache {
					repeated.Add(1)
				}
			}
		})
	}
	callers.Wait()
	if admitted.Load() < 1000 || admitted.Load() > 2000 || repeated.Load() == 0 {
		t.Errorf("%d of 1000 identities were admitted once, %d requests refused from the cache", admitted.Load(), repeated.Load())
	}
	if n := denials.Len(); n < 64 || n > 128 {
		t.Errorf("%d denials are remembered, want at most 128", n)
	}
}

// TestDenyCacheCounts: a denial from the cache is counted as one, and costs no
// allocation and no command.
func TestDenyCacheCounts(t *testing.T) {
	server := managed(t)
	counters := new(limiter.Counters)
	l := openOn(t, server.Client(), limiter.Config{
		Algorithm: limiter.LogPacked, Limit: limiter.Limit{Max: 1, Window: time.Hour}, Policy: freshPolicy(), DenyCache: new(limiter.DenyCache), Counters: counters,
	})
	r := limiter.Request{Key: "k", At: t0}
	for range 2 {
		if _, err := l.Allow(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	before, err := server.CommandStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _, _ = l.Allow(ctx, r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	after, err := server.CommandStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := after["evalsha"].Calls - before["evalsha"].Calls; n != 0 {
		t.Errorf("%d commands", n)
	}
	if n := counters.Snapshot().Policies[0].Denied[limiter.SourceDenyCache]; n != 101 {
		t.Errorf("%d are counted, want 101", n)
	}
}
