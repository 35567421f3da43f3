package httplimit_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

// drawPolicies draws one to three policies, all algorithms and window lengths
// among them.
func drawPolicies(t *rapid.T) []limiter.Policy {
	drawn := make([]limiter.Policy, rapid.IntRange(1, 3).Draw(t, "policies"))
	for i := range drawn {
		drawn[i] = limiter.Policy{
			Name:      fmt.Sprintf("p%d", i),
			Algorithm: rapid.SampledFrom(limiter.Algorithms).Draw(t, "algorithm"),
			Limit: limiter.Limit{
				Max: rapid.Int64Range(1, 6).Draw(t, "max"),
				Window: rapid.OneOf(
					rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, time.Minute, time.Hour}),
					rapid.Custom(func(t *rapid.T) time.Duration {
						return time.Duration(rapid.Int64Range(1000, 100_000_000).Draw(t, "window_us")) * time.Microsecond
					}),
				).Draw(t, "window"),
			},
		}
	}
	return drawn
}

// A client that obeys Retry-After is admitted the next time, whatever the
// algorithms, costs and jitter; one that comes a second before the unjittered
// value is refused again (B81, B83, B85 to B87, B95).
func TestObedientClientIsNotRefusedTwice(t *testing.T) {
	refusals := 0
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawPolicies(t)
		jitter := rapid.Int64Range(0, 5).Draw(t, "jitter_s")
		added := int64(0)
		decider := newMemory(drawn)
		c := service(decider)
		c.Policies, c.Routes = drawn, nil
		c.Default = httplimit.Route{}
		for _, p := range drawn {
			c.Default.Charges = append(c.Default.Charges, httplimit.Charge{
				Policy: p.Name, Cost: rapid.Int64Range(1, p.Limit.Max).Draw(t, "cost"),
			})
		}
		c.Jitter = time.Duration(jitter) * time.Second
		c.Random = func(n int64) int64 {
			added = rapid.Int64Range(0, n-1).Draw(t, "random")
			return added
		}
		m, err := httplimit.New(c)
		if err != nil {
			t.Fatal(err)
		}
		h := m.Wrap(ok)
		decider.sleep(time.Duration(rapid.Int64Range(0, 120_000_000).Draw(t, "start_us")) * time.Microsecond)
		for range 15 {
			added = 0
			w := send(h, "a", "GET", "/")
			if w.Code == http.StatusNoContent {
				decider.sleep(time.Duration(rapid.Int64Range(0, 3_000_000).Draw(t, "pause_us")) * time.Microsecond)
				continue
			}
			refusals++
			wait, err := strconv.ParseInt(w.Header().Get("Retry-After"), 10, 64)
			if w.Code != http.StatusTooManyRequests || err != nil || wait < 1 {
				t.Fatalf("got %d %v", w.Code, w.Header())
			}
			early := time.Duration(wait-added-1) * time.Second
			decider.sleep(early)
			if w := send(h, "a", "GET", "/"); w.Code != http.StatusTooManyRequests {
				t.Fatalf("admitted %s before %d s and %d s of jitter were over", time.Second, wait, added)
			}
			decider.sleep(time.Duration(wait)*time.Second - early)
			if w := send(h, "a", "GET", "/"); w.Code != http.StatusNoContent {
				t.Fatalf("refused again after %d s: %v", wait, w.Header())
			}
		}
	})
	if refusals == 0 {
		t.Error("no client was ever refused")
	}
}

// Jitter is only ever added, however bad its source.
func TestJitterIsOnlyAdded(t *testing.T) {
	for _, row := range []struct {
		random int64
		want   string
	}{{-100, "60"}, {0, "60"}, {3, "63"}, {5, "65"}, {100, "65"}} {
		c := service(newMemory(policies))
		c.Jitter = 5 * time.Second
		c.Random = func(n int64) int64 {
			if n != 6 {
				t.Errorf("asked for a number below %d, want 6", n)
			}
			return row.random
		}
		h := newLimit(t, c).Wrap(ok)
		for range 30 {
			send(h, "a", "GET", "/api/v1/feed")
		}
		w := send(h, "a", "GET", "/api/v1/feed")
		if got := w.Header().Get("Retry-After"); got != row.want {
			t.Errorf("random number %d: Retry-After %s, want %s", row.random, got, row.want)
		}
		if got := w.Header().Get("X-RateLimit-Reset"); got != row.want {
			t.Errorf("random number %d: Reset %s, want %s", row.random, got, row.want)
		}
		// t is the unjittered wait, so never later than Retry-After.
		if got := w.Header().Get("RateLimit"); got != `"feed";r=0;t=60, "global";r=90` {
			t.Errorf("random number %d: RateLimit %s", row.random, got)
		}
	}
}

// The wait is that of the policy that denies longest.
func TestJointWait(t *testing.T) {
	drawn := []limiter.Policy{
		{Name: "second", Algorithm: limiter.Log, Limit: limiter.Limit{Max: 1, Window: 1500 * time.Millisecond}},
		{Name: "minute", Algorithm: limiter.Log, Limit: limiter.Limit{Max: 2, Window: time.Minute}},
	}
	decider := newMemory(drawn)
	c := service(decider)
	c.Policies, c.Routes = drawn, nil
	c.Default = httplimit.Route{Charges: []httplimit.Charge{{Policy: "second"}, {Policy: "minute"}}}
	h := newLimit(t, c).Wrap(ok)
	var got []string
	for range 4 {
		got = append(got, send(h, "a", "GET", "/").Header().Get("Retry-After"))
		decider.sleep(1400 * time.Millisecond)
	}
	// 0 s admitted; 1.4 s wait 0.1 s; 2.8 s admitted; 4.2 s wait 0.1 s and 55.8 s.
	if want := []string{"", "1", "", "56"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
