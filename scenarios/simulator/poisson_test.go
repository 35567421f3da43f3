package simulator_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	sim "github.com/rlbench/rlbench/scenarios/simulator"
)

// simulated is the policies of a limit of 100 a minute, by algorithm.
func simulated(t *testing.T, events []sim.Event) map[string]sim.Policy {
	t.Helper()
	g := sim.Grid{Algorithms: []string{"fixed", "log", "counter", "gcra"}, Windows: []time.Duration{time.Minute}, Limits: []int64{100}, Keys: []sim.Key{sim.PerClient}}
	s, err := sim.New(g, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(events); err != nil {
		t.Fatal(err)
	}
	all := map[string]sim.Policy{}
	for _, p := range s.Result().Policies {
		all[p.Algorithm] = p.Limits[0]
	}
	return all
}

// A client that asks at random for a multiple of its limit, for 200 windows: what another
// simulator, of integers and one limit at a time, found for another such client.
func TestPoisson(t *testing.T) {
	type figures struct{ fixed, log, counter, gcra float64 }
	for _, row := range []struct {
		load    float64
		shares  figures // admitted
		differs float64 // counter from log
		peaks   figures
	}{
		{0.5, figures{1, 1, 1, 1}, 0, figures{80, 80, 80, 80}},
		{0.8, figures{.9992, .9942, .998, 1}, .006, figures{113, 100, 113, 115}},
		{0.9, figures{.9935, .979, .987, 1}, .024, figures{126, 100, 111, 126}},
		{1.0, figures{.959, .924, .940, .995}, .087, figures{123, 100, 116, 144}},
		{1.2, figures{.812, .784, .797, .816}, .22, figures{137, 100, 114, 140}},
		{2.0, figures{.4997, .4952, .4983, .5021}, .36, figures{137, 100, 106, 198}},
	} {
		random := rand.New(rand.NewPCG(1, uint64(100*row.load)))
		var events []sim.Event
		start := 6e14 // an edge: two thirds of a first window would be a burst before the next
		for at := start; at < start+200*60e6; at += random.ExpFloat64() * 60e6 / (100 * row.load) {
			events = append(events, sim.Event{At: int64(at)})
		}
		all := simulated(t, events)
		share := func(algorithm string) float64 {
			total := all[algorithm].Total()
			return float64(total.Admitted) / float64(total.Requests)
		}
		for algorithm, want := range map[string][2]float64{
			"fixed": {row.shares.fixed, row.peaks.fixed}, "log": {row.shares.log, row.peaks.log},
			"counter": {row.shares.counter, row.peaks.counter}, "gcra": {row.shares.gcra, row.peaks.gcra},
		} {
			// How much came by chance is common to all: they differ by less.
			got := share(algorithm)
			if math.Abs(got-want[0]) > 0.025 || math.Abs(got-share("fixed")-want[0]+row.shares.fixed) > 0.008 {
				t.Errorf("%s at %g: admitted %.4f, want about %.4f", algorithm, row.load, got, want[0])
			}
			if peak := float64(all[algorithm].Peak.Admitted); math.Abs(peak-want[1]) > 14 || algorithm == "log" && peak > 100 {
				t.Errorf("%s at %g: %g in a window, want about %g", algorithm, row.load, peak, want[1])
			}
		}
		counter := all["counter"].Total()
		if differs := float64(counter.Differ) / float64(counter.Requests); math.Abs(differs-row.differs) > 0.03 {
			t.Errorf("at %g: the counter differs from the log in %.4f, want about %.4f", row.load, differs, row.differs)
		}
	}
}

// burst is n requests in the microseconds from an instant on.
func burst(at int64, n int) (events []sim.Event) {
	for i := range n {
		events = append(events, sim.Event{At: at + int64(i)})
	}
	return events
}

// A client that asks for its limit once a window is within it, and a counter refuses it up
// to half of that, the more the earlier in the window it asks.
func TestSteadyBursts(t *testing.T) {
	const start, minute = int64(6e14), int64(60e6)
	for _, row := range []struct {
		phase int64 // of the burst
		share float64
	}{
		{0, .5}, {1e6, .505}, {minute / 10, .530}, {minute / 4, .575}, {minute / 2, .67}, {minute * 3 / 4, .80}, {minute * 9 / 10, .91},
	} {
		var events []sim.Event
		for window := range int64(200) {
			events = append(events, burst(start+window*minute+row.phase, 100)...)
		}
		for algorithm, p := range simulated(t, events) {
			total := p.Total()
			share := float64(total.Admitted) / float64(total.Requests)
			if want := map[bool]float64{true: row.share, false: 1}[algorithm == "counter"]; math.Abs(share-want) > .006 {
				t.Errorf("%s, bursts %d µs into the window: admitted %.4f, want about %g", algorithm, row.phase, share, want)
			}
			if algorithm == "counter" && total.WrongDenials == 0 {
				t.Errorf("bursts %d µs into the window: no denial is wrong", row.phase)
			}
		}
	}
}

// A burst before an edge and saturation from it on.
func TestWorstCases(t *testing.T) {
	const edge = int64(6e14)
	events := burst(edge-100, 100)
	for at := edge; at < edge+59_990_000; at += 10_000 {
		events = append(events, sim.Event{At: at})
	}
	for algorithm, want := range map[string][2]int64{ // in a window, and in a second
		"fixed": {200, 200}, "log": {100, 100}, "counter": {200, 102}, "gcra": {199, 101},
	} {
		p := simulated(t, events)[algorithm]
		if got := [2]int64{p.Peak.Admitted, p.Exposure.Admitted}; got != want {
			t.Errorf("%s: %d, want %d", algorithm, got, want)
		}
	}
}
