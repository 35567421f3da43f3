package scenarios_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

func TestPlannedPhases(t *testing.T) {
	p := planned(t, scenario(t, "10/1m",
		"name: before, at: edge - window/60, for: window/60, shape: constant, count: limit",
		"name: at, shape: burst, count: 3",
		"name: none, shape: burst, count: 0",
		"name: after, for: 2*window, shape: constant, rate: 1/7s"))
	limit := limiter.Limit{Max: 10, Window: time.Minute}
	want := []scenarios.PlannedPhase{
		{Name: "before", Shape: "constant", Start: -time.Second, End: 0, Span: time.Second, Planned: 10, Wanted: 10, Limit: limit},
		{Name: "at", Shape: "burst", Planned: 3, Wanted: 3, Limit: limit},
		{Name: "none", Shape: "burst", Limit: limit},
		{Name: "after", Shape: "constant", Start: 0, End: 2 * time.Minute, Span: 2 * time.Minute, Planned: 18, Wanted: 18, Limit: limit},
	}
	if diff := cmp.Diff(want, p.Phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if first, last := p.Span(); first != -time.Second || last != 17*7*time.Second {
		t.Errorf("span %s to %s, want -1s to 1m59s", first, last)
	}
}

// A phase keeps what its requests have in common; behind one whose clients retry
// comes one for the retries.
func TestPlannedPhasesOfOtherClients(t *testing.T) {
	p := planned(t, scenario(t, "10/1m",
		"name: cut, at: 1s, shape: burst, count: 1, limit: limit/5, skew: -5s, pseudonym: 3",
		"name: eager, for: 30s, shape: constant, count: 2, limit: 0, skew: window/60, jitter: 2s, repeat: {times: 2, every: 1h}, retry: {mode: constant, wait: 2s, jitter: 1s}",
		"name: polite, at: 5s, shape: burst, count: 1, retry: {mode: obey, round: 1s, within: 2*window}",
		"name: last, shape: burst, count: 1"))
	end := time.Hour + 33*time.Second // 1 s, then an hour, 30 s and the jitter
	limit := func(n int64) limiter.Limit { return limiter.Limit{Max: n, Window: time.Minute} }
	want := []scenarios.PlannedPhase{
		{Name: "cut", Shape: "burst", Start: time.Second, End: time.Second, Planned: 1, Wanted: 1, Limit: limit(2), Skew: -5 * time.Second, Pseudonym: 3},
		{
			Name: "eager", Shape: "constant", Start: time.Second, End: end, Span: 32 * time.Second, Period: time.Hour, Planned: 4, Wanted: 4, Limit: limit(0), Skew: time.Second,
			// Five windows after the end of the phase.
			Retry: &scenarios.RetryPlan{Mode: "constant", Wait: 2 * time.Second, Round: time.Microsecond, Jitter: time.Second, Within: end - time.Second + 5*time.Minute},
		},
		{Name: "eager.retry", Shape: "retry", Start: time.Second, End: end + 5*time.Minute, Limit: limit(0), Skew: time.Second, RetryOf: "eager"},
		{
			Name: "polite", Shape: "burst", Start: 5 * time.Second, End: 5 * time.Second, Planned: 1, Wanted: 1, Limit: limit(10),
			Retry: &scenarios.RetryPlan{Mode: "obey", Round: time.Second, Within: 2 * time.Minute},
		},
		{Name: "polite.retry", Shape: "retry", Start: 5 * time.Second, End: 125 * time.Second, Limit: limit(10), RetryOf: "polite"},
		{Name: "last", Shape: "burst", Start: 5 * time.Second, End: 5 * time.Second, Planned: 1, Wanted: 1, Limit: limit(10)},
	}
	if diff := cmp.Diff(want, p.Phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if got := p.Arrivals[len(p.Arrivals)-1].Phase; got != 1 || !p.Retries() {
		t.Errorf("the last arrival is of phase %d, retries %t", got, p.Retries())
	}
	checkPlan(t, p)
}

// Only real time can drain, for an hour at most, whatever limit it is for.
func TestDrain(t *testing.T) {
	for _, row := range []struct {
		drain string
		clock scenarios.Clock
		limit limiter.Limit
		want  time.Duration // below zero if it is refused
		why   string
	}{
		{"2*window", scenarios.Server, limiter.Limit{Max: 1, Window: time.Second}, 2 * time.Second, "computed for the limit"},
		{"1h", scenarios.Client, limiter.Limit{Max: 1, Window: time.Second}, time.Hour, "the longest"},
		{"0s", scenarios.Virtual, limiter.Limit{Max: 1, Window: time.Second}, 0, "nothing takes no time"},
		{"2*window", scenarios.Server, limiter.Limit{Max: 1, Window: time.Hour}, -1, "too long for the limit of the command line"},
		{"3s - window", scenarios.Server, limiter.Limit{Max: 1, Window: time.Minute}, -1, "negative for it"},
		{"1s", scenarios.Virtual, limiter.Limit{Max: 1, Window: time.Second}, -1, "keys do not expire in virtual time"},
	} {
		s := scenario(t, "1/1s", "name: a, shape: burst, count: 1}\ndrain: "+row.drain+"\nkeys: {count: 1")
		s.Clock, s.Limit = row.clock, row.limit
		p, err := scenarios.NewPlan(s)
		switch {
		case row.want < 0 && (err == nil || !strings.HasPrefix(err.Error(), "plan scenario test: drain")):
			t.Errorf("%s, %s clock, %s: accepted as %+v, %v (%s)", row.drain, row.clock, row.limit, p, err, row.why)
		case row.want >= 0 && (err != nil || p.Drain != row.want):
			t.Errorf("%s, %s clock, %s: %v, want %s (%s)", row.drain, row.clock, row.limit, err, row.want, row.why)
		}
	}
}

// How late is late is computed for the limit of the run, too.
func TestLate(t *testing.T) {
	s := scenario(t, "1/1s", "name: a, shape: burst, count: 1}\nlate: window/4\nkeys: {count: 1")
	for _, row := range []struct {
		window, want time.Duration
		why          string
	}{
		{time.Second, 250 * time.Millisecond, "of the file"},
		{time.Minute, 15 * time.Second, "of the command line"},
		{4 * time.Hour, time.Hour, "the latest"},
		{8 * time.Hour, -1, "too late"},
	} {
		s.Limit.Window = row.window
		p, err := scenarios.NewPlan(s)
		if row.want < 0 && err == nil || row.want >= 0 && (err != nil || p.Late != row.want) {
			t.Errorf("window %s: %+v and %v, want %s (%s)", row.window, p, err, row.want, row.why)
		}
	}
}

// A scenario that no file was read for is refused as a file would be.
func TestScenariosThatNoFileGives(t *testing.T) {
	for _, row := range []struct {
		phase scenarios.Phase
		want  string
	}{
		{scenarios.Phase{Name: "a", Shape: "constant", Count: expr(t, "1")}, `plan scenario s: phase a: constant needs a "for"`},
		{scenarios.Phase{Name: "a", Shape: "drip", For: expr(t, "1s")}, `plan scenario s: phase a: drip needs an "every"`},
		{scenarios.Phase{Name: "a", Shape: "ramp", For: expr(t, "1s"), From: expr(t, "1/s")}, `plan scenario s: phase a: ramp needs a "to"`},
		{scenarios.Phase{Name: "a", Shape: "square"}, `plan scenario s: phase a: unknown shape "square"; known: burst, herd, constant, saturate, drip, ramp, poisson, replay`},
	} {
		s := &scenarios.Scenario{Name: "s", Limit: limiter.Limit{Max: 1, Window: time.Second}, Keys: scenarios.Keys{Count: 1}, Phases: []scenarios.Phase{row.phase}}
		if _, err := scenarios.NewPlan(s); err == nil || err.Error() != row.want {
			t.Errorf("got %v, want %s", err, row.want)
		}
	}
}

// What is fine by itself can be too much together, or for another limit.
func TestScenariosThatCannotBePlanned(t *testing.T) {
	t.Parallel()
	decade := "for: 3650d, shape: constant, count: 1"
	var century []string
	for i := range 40 {
		century = append(century, fmt.Sprintf("name: p%d, %s", i, decade))
	}
	for _, row := range []struct {
		phases []string
		limit  limiter.Limit // instead of that of the file
		why    string
	}{
		{century, limiter.Limit{}, "phases one after the other that end in four hundred years, where time overflows"},
		{century[:10], limiter.Limit{}, "phases that end after the last instant that a limiter can decide"},
		{
			[]string{"name: a, shape: burst, count: limit/2"},
			limiter.Limit{Max: 5, Window: time.Second},
			"a count that is not whole for the limit of the command line",
		},
		{
			[]string{"name: a, shape: burst, count: limit - 50"},
			limiter.Limit{Max: 5, Window: time.Second},
			"a count that is negative for it",
		},
		{
			[]string{"name: a, for: window/5000, shape: constant, count: 1"},
			limiter.Limit{Max: 5, Window: time.Millisecond},
			"a length of less than a tick for it",
		},
		{
			[]string{"name: a, for: 1s, shape: constant, rate: 1000*limit/window"},
			limiter.Limit{Max: 500, Window: time.Millisecond},
			"a flood for it",
		},
		{
			[]string{"name: a, for: 31d, shape: saturate"},
			limiter.Limit{Max: limiter.MaxMax, Window: time.Millisecond},
			"more requests than a machine word can count",
		},
		{
			[]string{"name: a, shape: herd, count: 5000001}\nkeys: {count: 2"},
			limiter.Limit{},
			"a herd of a few too many",
		},
		{
			[]string{"name: a, shape: burst, count: 5000001, repeat: {times: 2, every: 1s}"},
			limiter.Limit{},
			"a few too many after a repetition",
		},
		{
			[]string{"name: a, at: 3000d, shape: burst, count: 1, retry: {mode: obey, within: 3000d}"},
			limiter.Limit{},
			"retries after the last instant that a limiter can decide",
		},
		{
			[]string{"name: a, at: 3000d, shape: burst, count: 1, repeat: {times: 301, every: 10d}"},
			limiter.Limit{},
			"and repetitions",
		},
	} {
		s, err := read("100/1m", row.phases...)
		if err == nil {
			if row.limit.Window > 0 {
				s.Limit = row.limit
			}
			var p *scenarios.Plan
			if p, err = scenarios.NewPlan(s); err == nil {
				t.Errorf("a plan of %d requests in %s to %s: %s", len(p.Arrivals), first(p), last(p), row.why)
				continue
			}
		}
		if !strings.Contains(err.Error(), "test") || strings.TrimSpace(err.Error()) == "" {
			t.Errorf("the message names no scenario: %v (%s)", err, row.why)
		}
	}
}

// The edge is a multiple of the window, the first one of 2026.
func TestEdgeIsAWindowBoundary(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		window string
		want   time.Duration // after the start of 2026
		why    string
	}{
		{"1ms", 0, "the shortest window"},
		{"1s", 0, "a second"},
		{"1m", 0, "a minute"},
		{"24h", 0, "a day begins there"},
		{"7d", 0, "a week too: 2026 begins on a Thursday, like 1970"},
		{"11h", time.Hour, "no divisor of a day"},
		{"1.001ms", 861 * time.Microsecond, "no round length"},
		{"31d", 144 * time.Hour, "the longest window"},
	} {
		p := planned(t, scenario(t, "1/"+row.window, "name: a, shape: burst, count: 1"))
		edge := p.Edge()
		if edge.UnixMicro()%p.Limit.Window.Microseconds() != 0 {
			t.Errorf("window %s: %s is no boundary (%s)", row.window, edge, row.why)
		}
		if got := edge.Sub(start); got != row.want {
			t.Errorf("window %s: the edge is %s after the start of 2026, want %s (%s)", row.window, got, row.want, row.why)
		}
	}
}
