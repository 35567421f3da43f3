package oracle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// draw makes a random history with many coincidences: of instants, and of ages
// of exactly a window.
func draw(t *rapid.T) (limiter.Limit, []event) {
	l := limiter.Limit{Max: rapid.Int64Range(0, 6).Draw(t, "max"), Window: ms}
	outcomes := []scenarios.Outcome{scenarios.Admitted, scenarios.Admitted, scenarios.Denied, scenarios.Missed, scenarios.Errored, scenarios.Unknown}
	grid := rapid.SampledFrom([]int64{1, 250, 500, 1000}).Draw(t, "grid")
	return l, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
		return event{
			at:      time.Duration(grid*rapid.Int64Range(-3000/grid, 3000/grid).Draw(t, "at")) * us,
			outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"),
			cost:    rapid.Int64Range(1, 3).Draw(t, "cost"),
			key:     rapid.Int32Range(0, 2).Draw(t, "key"),
			phase:   rapid.Int32Range(0, 1).Draw(t, "phase"),
		}
	}), 0, 40).Draw(t, "events")
}

// definedPeak is the definition: the most units of one key in any (t-span, t],
// for every t there is.
func definedPeak(events []event, span time.Duration, phase int32) int64 {
	var most int64
	for key := range int32(3) {
		for t := -3000 * us; t <= 3000*us; t += us {
			var units int64
			for _, e := range events {
				if e.outcome == scenarios.Admitted && e.key == key && (phase < 0 || e.phase == phase) && e.at > t-span && e.at <= t {
					units += e.cost
				}
			}
			most = max(most, units)
		}
	}
	return most
}

// definedAtMost is the most of one key in a window, with all of it of which nobody knows.
func definedAtMost(events []event, phase int32) int64 {
	var most int64
	for key := range int32(3) {
		own := slices.DeleteFunc(slices.Clone(events), func(e event) bool { return e.key != key })
		units := definedPeak(own, ms, phase)
		for _, e := range own {
			if e.outcome == scenarios.Unknown && (phase < 0 || e.phase == phase) {
				units += e.cost
			}
		}
		most = max(most, units)
	}
	return most
}

// definedCrowd is the most requests that were sent in any (t-span, t].
func definedCrowd(events []event, span time.Duration, phase int32) int64 {
	var most int64
	for _, last := range events { // some request is the last of the fullest
		var n int64
		for _, e := range events {
			if e.outcome != scenarios.Missed && (phase < 0 || e.phase == phase) && e.at > last.at-span && e.at <= last.at {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func definedFirstAndLast(events []event, phase int32) (first, last time.Duration) {
	var all []time.Duration
	for _, e := range events {
		if e.outcome == scenarios.Admitted && (phase < 0 || e.phase == phase) {
			all = append(all, e.at)
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	return slices.Min(all), slices.Max(all)
}

// definedWrong counts the decisions that an exact limiter would have made
// otherwise, over the same admissions. Of one instant, admissions come first.
func definedWrong(events []event, l limiter.Limit, phase int32) (admissions, denials int64) {
	decided := func(e event) bool { return e.outcome == scenarios.Admitted || e.outcome == scenarios.Denied }
	before := func(i, j int) bool {
		a, b := events[i], events[j]
		switch {
		case a.at != b.at:
			return a.at < b.at
		case a.outcome != b.outcome:
			return a.outcome == scenarios.Admitted
		}
		return i < j
	}
	for i, e := range events {
		if !decided(e) || phase >= 0 && e.phase != phase {
			continue
		}
		units := e.cost
		for j, other := range events {
			if other.outcome == scenarios.Admitted && other.key == e.key && i != j && before(j, i) && other.at > e.at-l.Window {
				units += other.cost
			}
		}
		switch fits := units <= l.Max; {
		case e.outcome == scenarios.Admitted && !fits:
			admissions++
		case e.outcome == scenarios.Denied && fits:
			denials++
		}
	}
	return admissions, denials
}

func TestMeasuresMatchTheirDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, events := draw(t)
		j, err := oracle.Judge(caseOf(l, events...))
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, m scenarios.Measures, phase int32) {
			var want scenarios.Measures
			for _, e := range events {
				if phase >= 0 && e.phase != phase {
					continue
				}
				want.Planned++
				*map[scenarios.Outcome]*int64{
					scenarios.Admitted: &want.Admitted, scenarios.Denied: &want.Denied, scenarios.Errored: &want.Errored,
					scenarios.Unknown: &want.Unknown, scenarios.Missed: &want.Missed,
				}[e.outcome]++
				if e.outcome == scenarios.Unknown {
					want.UnknownUnits += e.cost
				}
			}
			want.Limit, want.ShortSpan = l.Max, 33*us
			want.PeakAtMost = definedAtMost(events, phase)
			want.PeakInWindow, want.PeakInShort = definedPeak(events, ms, phase), definedPeak(events, 33*us, phase)
			want.WrongAdmissions, want.WrongDenials = definedWrong(events, l, phase)
			want.Wanted, want.Crowd = want.Planned, definedCrowd(events, 33*us, phase)
			want.FirstAdmitted, want.LastAdmitted = definedFirstAndLast(events, phase)
			if diff := cmp.Diff(want, m); diff != "" {
				t.Errorf("%s under %s (-want +got):\n%s", what, l, diff)
			}
		}
		check("the whole", j.Measures, -1)
		check("the first phase", j.Phases[0].Measures, 0)
		check("the second phase", j.Phases[1].Measures, 1)
	})
}

func TestTrailingWindows(t *testing.T) {
	l := limiter.Limit{Max: 2, Window: ms}
	heavy := func(at time.Duration, cost int64) event {
		return event{at: at, outcome: scenarios.Admitted, cost: cost}
	}
	for _, row := range []struct {
		events      []event
		peak, short int64
		wrong       [2]int64 // admissions, denials
		why         string
	}{
		{nil, 0, 0, [2]int64{}, "nothing happened"},
		{[]event{denied(0)}, 0, 0, [2]int64{0, 1}, "refused although nothing had been admitted"},
		{[]event{admitted(0)}, 1, 1, [2]int64{}, "one"},
		{[]event{admitted(0), admitted(0), admitted(ms)}, 2, 2, [2]int64{}, "exactly one window old has left: the window is open at its old end"},
		{[]event{admitted(0), admitted(0), admitted(ms - us)}, 3, 2, [2]int64{1, 0}, "one tick younger has not"},
		{[]event{admitted(0), admitted(0), denied(ms)}, 2, 2, [2]int64{0, 1}, "and may no longer be a reason to refuse"},
		{[]event{admitted(0), admitted(0), denied(ms - us)}, 2, 2, [2]int64{}, "where it still was"},
		{[]event{admitted(0), admitted(32 * us), admitted(65 * us)}, 3, 2, [2]int64{1, 0}, "the short span is a thirtieth: 33 ticks"},
		{[]event{admitted(0), admitted(33 * us)}, 2, 1, [2]int64{}, "open at its old end as well"},
		{[]event{denied(0), admitted(0), admitted(0)}, 2, 2, [2]int64{}, "of one instant the order is not known, so a refusal may have come last"},
		{[]event{denied(0), admitted(0)}, 1, 1, [2]int64{0, 1}, "but not if there was room all the same"},
		{[]event{heavy(0, 2), heavy(ms-us, 2)}, 4, 2, [2]int64{1, 0}, "units count, not requests"},
		{[]event{heavy(0, 3)}, 3, 3, [2]int64{1, 0}, "more units than the limit never fit"},
		{[]event{{at: 0, outcome: scenarios.Denied, cost: 3}}, 0, 0, [2]int64{}, "and are rightly refused"},
		{[]event{admitted(-ms), admitted(-ms), admitted(0), admitted(0)}, 2, 2, [2]int64{}, "instants before the edge"},
		{[]event{admitted(0), admitted(0), {outcome: scenarios.Admitted, key: 1}}, 2, 2, [2]int64{}, "each key has a budget of its own"},
	} {
		m := judge(t, caseOf(l, row.events...)).Measures
		if m.PeakInWindow != row.peak || m.PeakInShort != row.short || [2]int64{m.WrongAdmissions, m.WrongDenials} != row.wrong {
			t.Errorf("%s: peak %d, short %d, wrong %d and %d; want %d, %d, %v",
				row.why, m.PeakInWindow, m.PeakInShort, m.WrongAdmissions, m.WrongDenials, row.peak, row.short, row.wrong)
		}
	}
}

func TestShortSpanIsAThirtieth(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{
		time.Minute: 2 * time.Second, ms: 33 * us, 1001 * us: 33 * us, limiter.MaxWindow: limiter.MaxWindow / 30,
	} {
		if got := judge(t, caseOf(limiter.Limit{Max: 1, Window: window}, admitted(0))).Measures.ShortSpan; got != want {
			t.Errorf("window %s: short span %s, want %s", window, got, want)
		}
	}
}

func TestWherePhasesFell(t *testing.T) {
	c := caseOf(limiter.Limit{Max: 9, Window: ms},
		event{at: -5 * us, outcome: scenarios.Denied},
		event{at: -9 * us, outcome: scenarios.Admitted},
		event{at: 4 * us, outcome: scenarios.Admitted},
		event{at: 99 * us, outcome: scenarios.Missed},
		event{at: -99 * us, outcome: scenarios.Unknown},
		event{outcome: scenarios.Errored, phase: 1})
	j := judge(t, c)
	if p := j.Phases[0]; p.First != -9*us || p.Last != 4*us {
		t.Errorf("the first phase fell on %s to %s, want -9µs to 4µs: only decisions count", p.First, p.Last)
	}
	if p := j.Phases[1]; p.First != 0 || p.Last != 0 {
		t.Errorf("a phase without a decision fell on %s to %s, want nowhere", p.First, p.Last)
	}
}

func TestLag(t *testing.T) {
	c := caseOf(limiter.Limit{Max: 1000, Window: time.Second})
	for i := range 200 {
		c.Plan.Arrivals = append(c.Plan.Arrivals, scenarios.Arrival{Cost: 1})
		c.Results = append(held(c), scenarios.Result{
			Planned: time.Second, Sent: time.Second + time.Duration(i)*ms, Done: 2 * time.Second, Outcome: scenarios.Admitted,
			Decision: limiter.Decision{Allowed: true, At: edge},
		})
	}
	// A request that was never sent is not late, and one that was early is on time.
	held(c)[199].Outcome = scenarios.Missed
	held(c)[0].Sent = 0
	for _, row := range []struct {
		clock scenarios.Clock
		want  scenarios.Lag
		why   string
	}{
		{scenarios.Server, scenarios.Lag{P50: 99 * ms, P99: 196 * ms, Max: 198 * ms}, "sorted by how late, of those that were sent"},
		{scenarios.Client, scenarios.Lag{P50: 99 * ms, P99: 196 * ms, Max: 198 * ms}, "the same"},
		{scenarios.Virtual, scenarios.Lag{}, "nothing is late without real time"},
	} {
		c.Plan.Clock = row.clock
		if got := judge(t, c).Lag; got != row.want {
			t.Errorf("%s: got %+v, want %+v (%s)", row.clock, got, row.want, row.why)
		}
	}
	for i := range held(c) {
		held(c)[i].Sent = 0
	}
	c.Plan.Clock = scenarios.Server
	if got := judge(t, c).Lag; got != (scenarios.Lag{}) {
		t.Errorf("everybody early: got %+v, want no lag rather than a negative one", got)
	}
	for i := range held(c) {
		held(c)[i].Outcome = scenarios.Missed
	}
	c.Plan.Clock = scenarios.Server
	if got := judge(t, c).Lag; got != (scenarios.Lag{}) {
		t.Errorf("nothing sent: got %+v", got)
	}
}

// An outcome that is none of the five would let requests vanish.
func TestOutcomesHaveToAddUp(t *testing.T) {
	c := caseOf(limiter.Limit{Max: 9, Window: ms}, slices.Concat(times(3, admitted(0)), []event{{outcome: 9, phase: 1}})...)
	j, err := oracle.Judge(c)
	if err == nil || j != nil {
		t.Fatalf("got %+v and %v", j, err)
	}
	for _, part := range []string{"tested", "test", "sum to 3", "planned were 4"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message %q does not say %q", err, part)
		}
	}
}
