package oracle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// steps is a plan of three seconds at 10, 20 and 40 requests a second, and its results:
// those of each step wait so long.
func steps(t *testing.T, waits ...time.Duration) *oracle.Case {
	t.Helper()
	s, err := scenarios.Read(strings.NewReader(`
version: 1
name: steps
limit: 1000/1s
clock: client
overload: 50ms
phases:
  - {name: slow, for: 1s, shape: constant, count: 10}
  - {name: fast, for: 1s, shape: constant, count: 20}
  - {name: faster, for: 1s, shape: constant, count: 40}
`), "steps.yaml", scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	p, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	c := &oracle.Case{Plan: p, Name: "x", Edge: p.Edge()}
	for _, a := range p.Arrivals {
		c.Results = append(held(c), scenarios.Result{
			Planned: a.At, Sent: a.At, Done: a.At + waits[a.Phase], Outcome: scenarios.Admitted,
			Decision: limiter.Decision{Allowed: true, At: p.Edge().Add(a.At), Source: limiter.SourceRedis},
		})
	}
	return c
}

// TestCapacity: the fastest step that everybody waited little in, before the first of
// which that is not true, however fast those behind it are again.
func TestCapacity(t *testing.T) {
	const ok, slow = 20 * time.Millisecond, 60 * time.Millisecond
	for _, row := range []struct {
		why   string
		waits []time.Duration
		cut   int // the run ended behind so many requests
		want  scenarios.Capacity
		says  string
		worse bool // inconclusive
	}{
		{"all of it", []time.Duration{ok, ok, ok}, 0, scenarios.Capacity{PerSecond: 40, P50: ok, P99: ok}, "keeps up with 40 requests a second, which is the highest rate", false},
		{"the last is too fast", []time.Duration{ok, ok, slow}, 0, scenarios.Capacity{PerSecond: 20, Overload: 40, P50: ok, P99: ok}, "keeps up with 20 requests a second, and not with 40", false},
		{"what comes behind does not count", []time.Duration{ok, slow, ok}, 0, scenarios.Capacity{PerSecond: 10, Overload: 20, P50: ok, P99: ok}, "keeps up with 10", false},
		{"cut in the middle of a step", []time.Duration{ok, ok, ok}, 50, scenarios.Capacity{PerSecond: 20, Overload: 40, P50: ok, P99: ok}, "and not with 40", false},
		{"cut in the second step", []time.Duration{ok, ok, ok}, 20, scenarios.Capacity{PerSecond: 10, Overload: 20, P50: ok, P99: ok}, "and not with 20", false},
		{"too fast at once", []time.Duration{slow, slow, slow}, 0, scenarios.Capacity{Overload: 10}, "at the lowest rate already", true},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := steps(t, row.waits...)
			if row.cut > 0 {
				c.Plan, c.Results = c.Plan.Until(row.cut), held(c)[:row.cut]
			}
			j := judge(t, c)
			if got := j.Measures.Capacity; got == nil || *got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
			want := scenarios.Pass
			if row.worse {
				want = scenarios.Inconclusive
			}
			said := ""
			for _, f := range j.Findings {
				if f.Check == "capacity" {
					said = string(f.Verdict) + ": " + f.Message
				}
			}
			if !strings.HasPrefix(said, string(want)) || !strings.Contains(said, row.says) {
				t.Errorf("said %q, want %s: … %s", said, want, row.says)
			}
			if j.Verdict != want {
				t.Errorf("%s: %+v", j.Verdict, j.Findings)
			}
		})
	}
	c := steps(t, ok, ok, ok)
	c.Plan.Overload = 0
	if j := judge(t, c); j.Measures.Capacity != nil {
		t.Errorf("nobody asked: %+v", j.Measures.Capacity)
	}
}
