package simulator_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	sim "github.com/rlbench/rlbench/scenarios/simulator"
)

// Requests come in bursts, steadily, and after pauses in which keys are forgotten.
func events(t *rapid.T, window time.Duration, most int) []sim.Event {
	w := window.Microseconds()
	gaps := rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(0, w/20+1), rapid.Int64Range(0, w/2), rapid.Just(w), rapid.Just(2*w), rapid.Int64Range(0, 5*w))
	burst := rapid.Int64Range(0, w/50+1)
	at := rapid.OneOf(rapid.Int64Range(0, w), rapid.Int64Range(1e15, 1e15+2*w)).Draw(t, "start")
	var all []sim.Event
	for len(all) < most && rapid.IntRange(0, 30).Draw(t, "more") > 0 {
		at += gaps.Draw(t, "gap")
		who := sim.Event{Client: uint32(rapid.IntRange(0, 4).Draw(t, "client")), Route: uint32(rapid.IntRange(0, 2).Draw(t, "route"))}
		for range rapid.IntRange(1, 25).Draw(t, "times") {
			who.At, who.Network = at, who.Client/2
			all = append(all, who)
			at += burst.Draw(t, "between")
		}
	}
	return all
}

func grid(t *rapid.T) sim.Grid {
	limits := rapid.SliceOfNDistinct(rapid.Int64Range(0, 30), 1, 6, rapid.ID).Draw(t, "limits")
	slices.Sort(limits)
	window := rapid.SampledFrom([]time.Duration{time.Millisecond, 1009 * time.Microsecond, 400 * time.Millisecond, 999_983 * time.Microsecond, time.Minute})
	return sim.Grid{
		Algorithms: rapid.SliceOfNDistinct(rapid.SampledFrom(limiter.Names()), 1, 2, rapid.ID).Draw(t, "algorithms"),
		Windows:    rapid.SliceOfNDistinct(window, 1, 2, rapid.ID).Draw(t, "windows"),
		Limits:     limits,
		Keys:       rapid.SliceOfNDistinct(rapid.SampledFrom(sim.Keys), 1, 2, rapid.ID).Draw(t, "keys"),
	}
}

// Each decision is that of the model, and each figure that of a slow count, whatever the
// batches and workers.
func TestSimulationIsTheModels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := grid(t)
		all := events(t, g.Windows[0], 250)
		kinds := rapid.SliceOfN(rapid.Uint8Range(0, 2), 0, 4)
		o := sim.Options{Workers: rapid.IntRange(1, 3).Draw(t, "workers"), Group: kinds.Draw(t, "groups"), Class: kinds.Draw(t, "classes")}
		s, err := sim.New(g, o)
		if err != nil {
			t.Fatal(err)
		}
		for rest := all; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			if err := s.Add(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got := s.Result()
		want := naiveResult(all, g, o, got.Classes, got.Groups)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(sim.Peak{})); diff != "" {
			t.Fatalf("%v, %v (-slow +fast):\n%s", g, o, diff)
		}
	})
}

func naiveResult(all []sim.Event, g sim.Grid, o sim.Options, classes, groups int) *sim.Result {
	r := &sim.Result{Requests: int64(len(all)), Classes: classes, Groups: groups}
	if len(all) > 0 {
		r.First, r.Last = all[0].At, all[len(all)-1].At
	}
	for _, algorithm := range g.Algorithms {
		for _, window := range g.Windows {
			for _, key := range g.Keys {
				p := sim.Policies{Algorithm: algorithm, Window: window, Key: key}
				for i, limit := range g.Limits {
					decided := naiveDecide(all, algorithm, window, limit, key)
					if i == 0 {
						lives := window.Microseconds()
						if algorithm == "counter" || algorithm == "counter-strict" {
							lives *= 2
						}
						p.Keys, p.Holdings = naiveAlive(decided, lives), naiveHoldings(decided, window.Microseconds())
					}
					p.Limits = append(p.Limits, naivePolicy(decided, limit, o, classes, groups))
				}
				r.Policies = append(r.Policies, p)
			}
		}
	}
	return r
}
