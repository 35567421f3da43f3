package oracle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// definedTrailing is the most units of one key in (t-ms, t] for some t in [from, until).
func definedTrailing(events []event, from, until time.Duration, counted ...scenarios.Outcome) int64 {
	var most int64
	for key := range int32(3) {
		for t := from; t < until; t += us {
			var units int64
			for _, e := range events {
				if slices.Contains(counted, e.outcome) && e.key == key && e.at > t-ms && e.at <= t {
					units += e.cost
				}
			}
			most = max(most, units)
		}
	}
	return most
}

// allAdmitted are events as if all of unknown fate had been admitted.
func allAdmitted(events []event) []event {
	all := slices.Clone(events)
	for i := range all {
		if all[i].outcome == scenarios.Unknown {
			all[i].outcome = scenarios.Admitted
		}
	}
	return all
}

func TestProfilesMatchTheirDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, events := draw(t)
		c := caseOf(l, events...)
		p := oracle.Profile(c)
		for _, b := range p.Envelope {
			low, high := definedPeak(events, b.Span, -1), definedPeak(allAdmitted(events), b.Span, -1)
			if b.Admitted != low || b.AtMost != high {
				t.Errorf("most admitted in %s is %d to %d, want %d to %d", b.Span, b.Admitted, b.AtMost, low, high)
			}
		}
		for _, s := range p.Timeline {
			for i, got := range s.Bins {
				from := s.From + time.Duration(i)*s.Width
				want := scenarios.Bin{
					Peak:       definedTrailing(events, from, from+s.Width, scenarios.Admitted),
					PeakAtMost: definedTrailing(events, from, from+s.Width, scenarios.Admitted, scenarios.Unknown),
				}
				for _, e := range events {
					if e.at < from || e.at >= from+s.Width {
						continue
					}
					switch e.outcome {
					case scenarios.Admitted:
						want.Admitted++
					case scenarios.Denied:
						want.Denied++
					case scenarios.Errored, scenarios.Unknown:
						want.Failed++
					}
				}
				if got != want {
					t.Errorf("bin of %s at %s is %+v, want %+v", s.Width, from, got, want)
				}
			}
		}
	})
}

// A timeline holds everything that happened, and is never long; pictures of it need no
// more of a run than this.
func TestTimelinesHoldAll(t *testing.T) {
	for _, window := range []time.Duration{ms, 100 * ms, time.Second, time.Minute, time.Hour, 7 * 24 * time.Hour, 997 * us} {
		for _, reach := range []time.Duration{0, us, window / 60, window / 2, window, 3 * window, 50 * window} {
			reach = reach.Truncate(us)
			l := limiter.Limit{Max: 9, Window: window}
			c := caseOf(l, admitted(-reach), admitted(-us), denied(0), admitted(reach), event{at: reach / 2, outcome: scenarios.Unknown})
			p := oracle.Profile(c)
			var sum scenarios.Bin
			for _, b := range p.Timeline[0].Bins {
				sum.Admitted, sum.Denied, sum.Failed = sum.Admitted+b.Admitted, sum.Denied+b.Denied, sum.Failed+b.Failed
				sum.Peak = max(sum.Peak, b.Peak)
			}
			want := scenarios.Bin{Admitted: 3, Denied: 1, Failed: 1, Peak: judge(t, c).Measures.PeakInWindow}
			if sum != want {
				t.Errorf("window %s, reach %s: %+v, want %+v", window, reach, sum, want)
			}
			for i, s := range p.Timeline {
				if len(s.Bins) > 122 || s.Width < us || s.Width%us != 0 {
					t.Errorf("window %s, reach %s: %d bins of %s", window, reach, len(s.Bins), s.Width)
				}
				if rest := s.From % s.Width; i == 0 && rest != 0 {
					t.Errorf("window %s, reach %s: the edge is in a bin of %s from %s", window, reach, s.Width, s.From)
				}
			}
		}
	}
}

// Bursts on both sides of an edge stay apart, however far others are.
func TestEdgesAreLookedAtClosely(t *testing.T) {
	l := limiter.Limit{Max: 9, Window: time.Minute}
	events := []event{admitted(-time.Hour), admitted(time.Hour)}
	for range 5 {
		events = append(events, admitted(-us), denied(0))
	}
	p := oracle.Profile(caseOf(l, events...))
	at := slices.IndexFunc(p.Timeline, func(s scenarios.Stretch) bool { return s.From == -2*time.Second })
	if at < 1 || len(p.Timeline) != 4 {
		t.Fatalf("%d stretches, none around the edge", len(p.Timeline)-1)
	}
	s := p.Timeline[at]
	before, after := s.Bins[len(s.Bins)/2-1], s.Bins[len(s.Bins)/2]
	if want := (scenarios.Bin{Admitted: 5, Peak: 5, PeakAtMost: 5}); before != want {
		t.Errorf("before the edge: %+v, want %+v", before, want)
	}
	if want := (scenarios.Bin{Denied: 5, Peak: 5, PeakAtMost: 5}); after != want {
		t.Errorf("after the edge: %+v, want %+v", after, want)
	}
}

func TestSpansOfAnEnvelope(t *testing.T) {
	var got []string
	for _, b := range oracle.Profile(caseOf(limiter.Limit{Max: 1, Window: 100 * ms})).Envelope {
		got = append(got, b.Span.String())
	}
	want := "[1ms 1.3ms 1.6ms 2ms 2.5ms 3.2ms 3.333ms 4ms 5ms 6.3ms 7.9ms 10ms 13ms 16ms 20ms 25ms 32ms 40ms 50ms 63ms 79ms 100ms 130ms 160ms 200ms]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

func TestLagOfBins(t *testing.T) {
	c := caseOf(limiter.Limit{Max: 9, Window: time.Second}, admitted(0), admitted(0), admitted(0))
	c.Plan.Clock = scenarios.Server
	results := held(c)
	for i, late := range []time.Duration{-ms, 3 * ms, 2 * ms} {
		results[i].Planned, results[i].Sent = time.Second, time.Second+late
	}
	if got := oracle.Profile(c).Timeline[0].Bins[0].Lag; got != 3*ms {
		t.Errorf("late by %s, want 3ms", got)
	}
}
