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

// scenario reads a file of one-line phases.
func scenario(t testing.TB, limit string, phases ...string) *scenarios.Scenario {
	t.Helper()
	s, err := read(limit, phases...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(limit string, phases ...string) (*scenarios.Scenario, error) {
	file := "version: 1\nname: test\nlimit: " + limit + "\nphases:\n- {" + strings.Join(phases, "}\n- {") + "}\n"
	return scenarios.Read(strings.NewReader(file), "test.yaml", scenarios.BuiltinDefaults())
}

func planned(t testing.TB, s *scenarios.Scenario) *scenarios.Plan {
	t.Helper()
	p, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkPlan holds what is true of every plan.
func checkPlan(t interface {
	Helper()
	Errorf(string, ...any)
}, p *scenarios.Plan,
) {
	t.Helper()
	counts := make([]int64, len(p.Phases))
	for i, a := range p.Arrivals {
		if i > 0 && a.At < p.Arrivals[i-1].At {
			t.Errorf("arrival %d at %s comes after one at %s", i, a.At, p.Arrivals[i-1].At)
		}
		phase := p.Phases[a.Phase]
		counts[a.Phase]++
		if a.At < phase.Start || a.At >= max(phase.End, phase.Start+1) {
			t.Errorf("arrival %d at %s is outside of phase %s, [%s, %s)", i, a.At, phase.Name, phase.Start, phase.End)
		}
		if a.At%time.Microsecond != 0 || a.Cost < 1 || a.Key < 0 || int(a.Key) >= p.Keys {
			t.Errorf("arrival %d is impossible with %d keys: %+v", i, p.Keys, a)
		}
	}
	for i, phase := range p.Phases {
		if phase.Planned != counts[i] {
			t.Errorf("phase %s plans %d, there are %d", phase.Name, phase.Planned, counts[i])
		}
	}
	for _, at := range []time.Duration{first(p), last(p)} {
		r := limiter.Request{Key: "k", At: p.Edge().Add(at), Cost: 1}
		if err := r.Validate(); err != nil {
			t.Errorf("what the plan sends at %s cannot be decided: %v", at, err)
		}
	}
}

func first(p *scenarios.Plan) time.Duration {
	at, _ := p.Span()
	return at
}

func last(p *scenarios.Plan) time.Duration {
	_, at := p.Span()
	return at
}

// timetable is a plan as text: instant, phase, and cost above 1, of each arrival.
func timetable(p *scenarios.Plan) []string {
	var rows []string
	for _, a := range p.Arrivals {
		row := fmt.Sprintf("%s %s", a.At, p.Phases[a.Phase].Name)
		if a.Cost > 1 {
			row += fmt.Sprintf(" cost %d", a.Cost)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestTimetables(t *testing.T) {
	for _, row := range []struct {
		limit  string
		phases []string
		want   []string
		why    string
	}{
		{
			"100/1m",
			[]string{"name: a, shape: burst, count: 2"},
			[]string{"0s a", "0s a"},
			"a burst happens at one instant, by default the edge",
		},
		{
			"4/1m",
			[]string{"name: a, shape: constant, for: window, count: limit"},
			[]string{"0s a", "15s a", "30s a", "45s a"},
			"evenly spaced, the first at the start and none at the end",
		},
		{
			"3/1s",
			[]string{"name: a, shape: constant, for: window, count: limit"},
			[]string{"0s a", "333.333ms a", "666.666ms a"},
			"each rounded down from the start, so that no error adds up",
		},
		{
			"3/1s",
			[]string{"name: a, shape: constant, for: 1s, rate: 3/s"},
			[]string{"0s a", "333.333ms a", "666.666ms a"},
			"a rate gives the same",
		},
		{
			"3/1s",
			[]string{"name: a, shape: constant, for: 1s + 1us, rate: 3/s"},
			[]string{"0s a", "333.333ms a", "666.666ms a", "1s a"},
			"one tick more, and the next fits in",
		},
		{
			"3/1s",
			[]string{"name: a, shape: constant, for: 1s, rate: 1/3650d"},
			[]string{"0s a"},
			"the slowest rate still sends the first",
		},
		{
			"3/1s",
			[]string{"name: a, shape: constant, for: 2us, count: 5"},
			[]string{"0s a", "0s a", "0s a", "1µs a", "1µs a"},
			"more requests than ticks share instants",
		},
		{
			"2/1s",
			[]string{"name: a, at: edge - 1us, shape: burst, count: 1", "name: b, at: edge, shape: burst, count: 1", "name: c, shape: burst, count: 1"},
			[]string{"-1µs a", "0s b", "0s c"},
			"a phase without a start follows the one before: a burst at once",
		},
		{
			"2/1s",
			[]string{"name: a, for: 10ms, shape: constant, count: 1", "name: b, shape: burst, count: 1", "name: c, at: edge - 5ms, for: 1ms, shape: constant, count: 1", "name: d, shape: burst, count: 1"},
			[]string{"-5ms c", "-4ms d", "0s a", "10ms b"},
			"after a long phase at its end, whatever the order in time",
		},
		{
			"2/1s",
			[]string{"name: b, at: 1ms, shape: burst, count: 1, cost: 2", "name: a, at: edge, for: 2ms, shape: constant, count: 2", "name: c, at: 1ms, shape: burst, count: 1, cost: limit"},
			[]string{"0s a", "1ms b cost 2", "1ms a", "1ms c cost 2"},
			"at equal instants phases go in the order of the file",
		},
		{
			"0/1s",
			[]string{"name: a, shape: burst, count: limit", "name: b, shape: constant, for: window, count: limit"},
			nil,
			"a limit of nothing plans nothing",
		},
		{
			"7/1s",
			[]string{"name: a, shape: burst, count: limit/7", "name: b, at: window/limit, shape: burst, count: limit - 6"},
			[]string{"0s a", "142.857ms b"},
			"counts may be whole for the limit of this file only",
		},
	} {
		p := planned(t, scenario(t, row.limit, row.phases...))
		checkPlan(t, p)
		if diff := cmp.Diff(row.want, timetable(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
	}
}

func TestPlannedPhases(t *testing.T) {
	p := planned(t, scenario(t, "10/1m",
		"name: before, at: edge - window/60, for: window/60, shape: constant, count: limit",
		"name: at, shape: burst, count: 3",
		"name: none, shape: burst, count: 0",
		"name: after, for: 2*window, shape: constant, rate: 1/7s"))
	want := []scenarios.PlannedPhase{
		{Name: "before", Shape: "constant", Start: -time.Second, End: 0, Planned: 10},
		{Name: "at", Shape: "burst", Planned: 3},
		{Name: "none", Shape: "burst"},
		{Name: "after", Shape: "constant", Start: 0, End: 2 * time.Minute, Planned: 18},
	}
	if diff := cmp.Diff(want, p.Phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if first, last := p.Span(); first != -time.Second || last != 17*7*time.Second {
		t.Errorf("span %s to %s, want -1s to 1m59s", first, last)
	}
}

// What is fine by itself can be too much together, or for another limit.
func TestScenariosThatCannotBePlanned(t *testing.T) {
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
