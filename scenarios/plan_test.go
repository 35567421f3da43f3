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
		end := phase.End
		if phase.Shape == "burst" || phase.Shape == "herd" {
			end++ // they last no time
		}
		if a.At < phase.Start || a.At >= end {
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
		{
			"2/1s",
			[]string{"name: a, shape: saturate, for: 250ms"},
			[]string{"0s a", "50ms a", "100ms a", "150ms a", "200ms a"},
			"ten times 2/s is one in 50 ms",
		},
		{
			"2/1s",
			[]string{"name: a, shape: saturate, for: 1s, count: 2", "name: b, shape: saturate, for: 1s, rate: 2/s", "name: c, shape: saturate, for: 1s, count: 0"},
			[]string{"0s a", "500ms a", "1s b", "1.5s b"},
			"or what a count or a rate says",
		},
		{
			"2/1s",
			[]string{"name: a, shape: saturate, for: 250ms, limit: 1"},
			[]string{"0s a", "100ms a", "200ms a"},
			"of the phase's own limit",
		},
		{
			"0/1s",
			[]string{"name: a, shape: saturate, for: 1h", "name: b, shape: burst, count: 1"},
			[]string{"1h0m0s b"},
			"ten times nothing is nothing",
		},
		{
			"2/1s",
			[]string{"name: a, shape: drip, for: 3s, every: 1s"},
			[]string{"0s a", "1s a", "2s a"},
			"one at the start, none at the end",
		},
		{
			"2/1s",
			[]string{"name: a, shape: drip, for: 2s + 1us, every: 1s", "name: b, shape: drip, for: 1us, every: 365d"},
			[]string{"0s a", "1s a", "2s a", "2.000001s b"},
			"a tick more, and the next fits in; the first always does",
		},
		{
			"2/1s",
			[]string{"name: a, at: 1s, shape: burst, count: 2, repeat: {times: 3, every: 10s}", "name: b, shape: burst, count: 1"},
			[]string{"1s a", "1s a", "11s a", "11s a", "21s a", "21s a", "21s b"},
			"a burst three times, then the next phase where the last one was",
		},
		{
			"2/1s",
			[]string{"name: a, shape: drip, for: 2s, every: 1s, repeat: {times: limit, every: 5*window}", "name: b, shape: burst, count: 1"},
			[]string{"0s a", "1s a", "5s a", "6s a", "7s b"},
			"the next phase starts at the end of the last repetition",
		},
		{
			"2/1s",
			[]string{"name: a, shape: drip, for: 2s, every: 1s, cost: 2, repeat: {times: 2, every: 1s}", "name: b, shape: burst, count: 1"},
			[]string{"0s a cost 2", "1s a cost 2", "1s a cost 2", "2s a cost 2", "3s b"},
			"repetitions may overlap",
		},
		{
			"2/1s",
			[]string{"name: a, shape: burst, count: 1, repeat: {times: 1, every: 9s}, jitter: 1us", "name: b, shape: burst, count: 1, jitter: 0s", "name: c, shape: burst, count: 1"},
			[]string{"0s a", "1µs b", "1µs c"},
			"once is no repetition; a jitter below one tick is none, and yet a tick long",
		},
		{
			"2/1s",
			[]string{"name: a, shape: burst, count: 2, retry: {mode: obey}", "name: b, shape: burst, count: 1"},
			[]string{"0s a", "0s a", "0s b"},
			"retries are not planned",
		},
	} {
		p := planned(t, scenario(t, row.limit, row.phases...))
		checkPlan(t, p)
		if diff := cmp.Diff(row.want, timetable(p)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
	}
}

// TestDue: what is due within a length of time, of which an instant counts for a few.
func TestDue(t *testing.T) {
	at := func(all ...time.Duration) *scenarios.Plan {
		p := &scenarios.Plan{}
		for _, d := range all {
			p.Arrivals = append(p.Arrivals, scenarios.Arrival{At: d})
		}
		return p
	}
	const s = time.Second
	for _, row := range []struct {
		plan *scenarios.Plan
		span time.Duration
		want int
		why  string
	}{
		{at(), s, 0, "nothing"},
		{at(0, s, 2*s, 3*s), 2 * s, 2, "one at the end of the span is not within it"},
		{at(0, s, 2*s, 3*s), 2*s + 1, 3, "and is in a longer one"},
		{at(0, 0, 0, 0, 0), s, 3, "an instant counts for three"},
		{at(0, 0, 0, 0, s/2, s/2, s), s, 5, "and so does another one beside it"},
		{at(0, 0, 0, 0, 2*s, 2*s, 2*s, 2*s, 2*s+1), s, 4, "what has left is left out, those that did not count too"},
		{at(-3*s, -2*s-1, 5*s), s, 2, "before the edge"},
	} {
		if got := row.plan.Due(row.span, 3); got != row.want {
			t.Errorf("%s: %d are due, want %d", row.why, got, row.want)
		}
	}
}
