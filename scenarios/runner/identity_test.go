package runner_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
)

// Each phase has its limiter, and so have the retries that belong to it.
func TestEachPhaseHasItsLimiter(t *testing.T) {
	p := plan(t, scenarios.Virtual, "1/1m",
		"name: a, shape: burst, count: 1, retry: {mode: obey}", "name: b, at: 1s, shape: burst, count: 2, limit: 7", "name: c, at: 9s, shape: burst, count: 1")
	var mu sync.Mutex
	var got []string
	c := config(p, nil)
	for i := range c.Limiters {
		name := p.Phases[i].Name + " of " + fmt.Sprint(p.Phases[i].Limit.Max)
		c.Limiters[i] = decide(func(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, name)
			return opens(p.Edge().Add(5*time.Second))(ctx, r)
		})
	}
	run(t, t.Context(), c)
	want := []string{"a of 1", "b of 7", "b of 7", "a.retry of 1", "c of 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALimiterForEachPhase(t *testing.T) {
	p := plan(t, scenarios.Virtual, "1/1m", "name: a, shape: burst, count: 1", "name: b, shape: burst, count: 1")
	for _, n := range []int{0, 1, 3} {
		c := config(p, decide(admit))
		c.Limiters = make([]limiter.Limiter, n)
		if h, err := runner.Run(t.Context(), c); h != nil || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d limiters for 2 phases", n)) {
			t.Errorf("%d limiters: %v, %v", n, h, err)
		}
	}
}

// A client under another pseudonym has another name, its retries the same.
func TestPseudonymsHaveTheirNames(t *testing.T) {
	p := plan(t, scenarios.Virtual, "1/1m",
		"name: a, shape: herd, count: 1, retry: {mode: obey}", "name: b, at: 1s, shape: herd, count: 1, pseudonym: 3, retry: {mode: obey}", "name: c, at: 9s, shape: herd, count: 1}\nkeys: {count: 2")
	n := &notebook{Limiter: opens(p.Edge().Add(5 * time.Second)), edge: p.Edge()}
	run(t, t.Context(), config(p, n))
	want := []string{
		"k0.1 0s", "k1.1 0s", "k0.1.3 1s", "k1.1.3 1s",
		"k0.1 5s", "k1.1 5s", "k0.1.3 5s", "k1.1.3 5s", "k0.1 9s", "k1.1 9s",
	}
	if diff := cmp.Diff(want, n.all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every name is asked for once, not at every request.
func TestNamesAreMadeOnce(t *testing.T) {
	p := plan(t, scenarios.Virtual, "1/1m",
		"name: a, shape: burst, count: 9", "name: b, shape: burst, count: 9, pseudonym: 1", "name: c, shape: burst, count: 9, pseudonym: 1}\nkeys: {count: 3")
	c := config(p, decide(admit))
	asked := map[scenarios.Identity]int{}
	c.Identity = func(id scenarios.Identity, attempt int) string {
		if attempt != 1 {
			t.Errorf("attempt %d", attempt)
		}
		asked[id]++
		return fmt.Sprint(id)
	}
	run(t, t.Context(), c)
	want := map[scenarios.Identity]int{{Key: 0}: 1, {Key: 1}: 1, {Key: 2}: 1, {Key: 0, Pseudonym: 1}: 1, {Key: 1, Pseudonym: 1}: 1, {Key: 2, Pseudonym: 1}: 1}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The clock of a phase's senders is wrong by its skew: ahead, or behind.
func TestSkewIsInTheStamp(t *testing.T) {
	p := plan(t, scenarios.Virtual, "1/1m",
		"name: a, shape: burst, count: 1, skew: 20s, retry: {mode: obey}", "name: b, at: 1s, shape: burst, count: 1, skew: 0s-30s", "name: c, at: 2s, shape: burst, count: 1")
	n := &notebook{Limiter: opens(p.Edge().Add(25 * time.Second)), edge: p.Edge()}
	h := run(t, t.Context(), config(p, n))
	// The first is stamped 20 s and told to wait 5 s; by then its clock says 25 s.
	want := []string{"k0.1 20s", "k0.1 -29s", "k0.1 2s", "k0.1 25s"}
	if diff := cmp.Diff(want, n.all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if at := h.Plan.Arrivals[3].At; at != 5*time.Second {
		t.Errorf("the retry was sent at %s, want 5s by the true clock", at)
	}
}

func TestSkewInRealTime(t *testing.T) {
	for _, clock := range []scenarios.Clock{scenarios.Client, scenarios.Server} {
		synctest.Test(t, func(t *testing.T) {
			p := plan(t, clock, "10/1m", "name: a, at: edge + 5s, shape: burst, count: 1, skew: 20s", "name: b, at: edge + 6s, shape: burst, count: 1, skew: 0s-30s")
			skews := []time.Duration{20 * time.Second, -30 * time.Second}
			i := 0
			c := bubbled(p, decide(func(_ context.Context, r limiter.Request) (limiter.Decision, error) {
				now := time.Now()
				switch off := r.At.Sub(now.Add(skews[i%2])); {
				case clock == scenarios.Server && !r.At.IsZero():
					t.Errorf("request %d is stamped %s, although the server decides", i, r.At)
				case clock == scenarios.Client && (off > 0 || off < -time.Millisecond):
					t.Errorf("request %d is stamped %s at %s, want it off by %s", i, r.At, now, skews[i%2])
				}
				i++
				if clock == scenarios.Server {
					r.At = now
				}
				return limiter.Decision{Allowed: true, At: r.At}, nil
			}))
			if h := run(t, t.Context(), c); h.Misplaced != 0 || h.Attempts != 1 || i != 2 {
				t.Errorf("%s: %d misplaced in %d attempts, although all is as planned", clock, h.Misplaced, h.Attempts)
			}
		})
	}
}

// A decision that does not tell its instant was made at that of the request, or
// while it was under way.
func TestInstantsThatNobodyTells(t *testing.T) {
	untold := decide(func(context.Context, limiter.Request) (limiter.Decision, error) {
		time.Sleep(10 * time.Millisecond)
		return limiter.Decision{Allowed: true}, nil
	})
	for _, row := range []struct {
		clock scenarios.Clock
		want  time.Duration // from the edge; the stopwatch takes some microseconds
		why   string
	}{
		{scenarios.Virtual, 25 * time.Second, "as stamped"},
		{scenarios.Client, 25 * time.Second, "as stamped"},
		{scenarios.Server, 5*time.Second + 5*time.Millisecond, "half way between sending and reply"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := plan(t, row.clock, "10/1m", "name: a, at: edge + 5s, shape: burst, count: 1, skew: 20s")
			h := run(t, t.Context(), bubbled(p, untold))
			at := h.Results.At(0).Decision.At
			if off := at.Sub(h.Edge) - row.want; off < 0 || off > time.Millisecond || at.Nanosecond()%1000 != 0 {
				t.Errorf("%s: decided %s after the edge, want %s (%s)", row.clock, at.Sub(h.Edge), row.want, row.why)
			}
		})
	}
}
