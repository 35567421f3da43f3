package main

import (
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

func managed(t *testing.T) *backend.Server {
	t.Helper()
	s, err := backend.Open(t.Context(), "managed", backend.Options{Timeout: 10 * time.Second, PoolSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestContestants: each one, through its adapter, admits its limit and denies what comes
// behind, says what it tells, and keeps identities apart.
func TestContestants(t *testing.T) {
	s := managed(t)
	for _, c := range contestants {
		t.Run(c.name, func(t *testing.T) {
			l := limiter.Limit{Max: 5, Window: time.Hour}
			opened, err := c.open(t.Context(), s, l, strings.NewReplacer(" ", "-", "+", "-").Replace(c.name)+":")
			if err != nil {
				t.Fatal(err)
			}
			for i := range l.Max + 3 {
				d, err := opened.Allow(t.Context(), limiter.Request{Key: "a"})
				if err != nil || d.Allowed != (i < l.Max) {
					t.Fatalf("request %d: %+v, %v", i+1, d, err)
				}
				if left := max(l.Max-1-i, 0); c.tells.Remaining && d.Remaining != left {
					t.Errorf("request %d: %d remain, want %d", i+1, d.Remaining, left)
				}
				if c.tells.Retry > 0 && (d.RetryAfter > 0) == d.Allowed {
					t.Errorf("request %d: %+v", i+1, d)
				}
			}
			if d, err := opened.Allow(t.Context(), limiter.Request{Key: "b"}); err != nil || !d.Allowed {
				t.Errorf("another identity: %+v, %v", d, err)
			}
		})
	}
}

// TestComparisons: what is printed is what was measured, with a row for each contestant.
func TestComparisons(t *testing.T) {
	s := managed(t)
	var out strings.Builder
	p := &page{Writer: &out}
	w := admitted(4, 300)
	entrants, err := enter(t.Context(), s, w, func(contestant) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	timings, err := race(t.Context(), s, w, entrants, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range timings {
		if len(r.rates) != 2 || r.rates[0] <= 0 || r.denied+r.errors > 0 {
			t.Errorf("%+v", r)
		}
	}
	p.timings(w, timings, plain, pipelined)
	for _, c := range contestants {
		if !strings.Contains(out.String(), "| "+c.name+" | ") {
			t.Errorf("no row for %s:\n%s", c.name, out.String())
		}
	}
	if got := ratio(timing{rates: []float64{2, 9, 4}}, timing{rates: []float64{1, 3, 1}}); got != (spread{3, 2, 4}) {
		t.Errorf("ratios %+v, want 3 (2 to 4)", got)
	}
	full, err := examine(t.Context(), s, contestantNamed("rlbench log"), limiter.Limit{Max: 3, Window: time.Minute})
	if err != nil || full.keys != 1 || full.bytes < 50 || full.String() != "1.0 W" {
		t.Errorf("%+v %s, %v", full, full, err)
	}
	h, err := askAfter(t.Context(), s, contestantNamed("rlbench gcra"), limiter.Limit{Max: 2, Window: 500 * time.Millisecond})
	if err != nil || h.String() != "true" {
		t.Errorf("%+v %s, %v", h, h, err)
	}
	if err := compare(t.Context(), p, 1, []string{"sped"}); err == nil || !strings.Contains(err.Error(), `unknown part "sped"`) {
		t.Errorf("got %v", err)
	}
}
