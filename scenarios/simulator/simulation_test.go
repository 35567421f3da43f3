package simulator_test

import (
	"math/rand/v2"
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

func grid(t *rapid.T, algorithm string) sim.Grid {
	limits := rapid.SliceOfNDistinct(rapid.Int64Range(0, 30), 1, 6, rapid.ID).Draw(t, "limits")
	slices.Sort(limits)
	window := rapid.SampledFrom([]time.Duration{time.Millisecond, 1009 * time.Microsecond, 400 * time.Millisecond, 999_983 * time.Microsecond, time.Minute})
	return sim.Grid{
		Algorithms: []string{algorithm},
		Windows:    rapid.SliceOfNDistinct(window, 1, 2, rapid.ID).Draw(t, "windows"),
		Limits:     limits,
		Keys:       rapid.SliceOfNDistinct(rapid.SampledFrom(sim.Keys), 1, 2, rapid.ID).Draw(t, "keys"),
	}
}

// Each decision is that of the model, and each figure that of a slow count, whatever the
// batches and workers.
func TestSimulationIsTheModels(t *testing.T) {
	for _, name := range limiter.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				g := grid(t, name)
				kinds := rapid.SliceOfN(rapid.Uint8Range(0, 2), 0, 4)
				o := sim.Options{Workers: rapid.IntRange(1, 3).Draw(t, "workers"), Group: kinds.Draw(t, "groups"), Class: kinds.Draw(t, "classes")}
				sameAsSlow(t, g, o, events(t, g.Windows[0], 200))
			})
		})
	}
}

// A grid of everything is what its parts are.
func TestWholeGrid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := grid(t, "log")
		g.Algorithms, g.Keys, g.Windows = limiter.Names(), sim.Keys, g.Windows[:1]
		sameAsSlow(t, g, sim.Options{}, events(t, g.Windows[0], 25))
	})
}

func sameAsSlow(t *rapid.T, g sim.Grid, o sim.Options, all []sim.Event) {
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
	if diff := cmp.Diff(naiveResult(all, g, o, got.Classes, got.Groups), got, cmpopts.IgnoreUnexported(sim.Peak{})); diff != "" {
		t.Fatalf("%v, %v (-slow +fast):\n%s", g, o, diff)
	}
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

// Limits of any number share their words: 64 decide as one of them alone does, across more
// than one chunk and with more denials than a word counts.
func TestManyLimits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []sim.Event
	for at := int64(1e15); len(all) < 8_000; at += random.Int64N(100_000) {
		all = append(all, sim.Event{At: at, Client: uint32(random.IntN(3)), Network: uint32(random.IntN(2))})
	}
	g := sim.Grid{Algorithms: limiter.Names(), Windows: []time.Duration{10 * time.Second}, Keys: sim.Keys}
	for i := range int64(sim.MostLimits) {
		g.Limits = append(g.Limits, 1+i*5)
	}
	result := func(g sim.Grid) *sim.Result {
		s, err := sim.New(g, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(all); err != nil {
			t.Fatal(err)
		}
		return s.Result()
	}
	together := result(g)
	for _, i := range []int{0, 1, 33, 63} {
		one := g
		one.Limits = g.Limits[i : i+1]
		for p, policies := range result(one).Policies {
			if diff := cmp.Diff(policies.Limits[0], together.Policies[p].Limits[i], cmpopts.IgnoreUnexported(sim.Peak{})); diff != "" {
				t.Errorf("%s, limit %d (-alone +together):\n%s", policies.Algorithm, one.Limits[0], diff)
			}
		}
	}
}

// A sorted set of 128 entries is a small one, and one of 129 is not.
func TestHoldings(t *testing.T) {
	const second = int64(1e6)
	at := int64(1e15)
	var all []sim.Event
	for client, n := range []int{1, 2, 128, 129, 128} { // in the order of time
		for i := range n {
			all = append(all, sim.Event{At: at + int64(i), Client: uint32(client)})
		}
		at += second / 8
	}
	all = append(all, sim.Event{At: at + 2*second, Client: 2}) // alone, and yet the same life
	for i := range 129 {
		all = append(all, sim.Event{At: at + 3*second + int64(i), Client: 4}) // the old ones have left
	}
	d, err := sim.NewDemand([]time.Duration{2 * time.Second}, []sim.Key{sim.PerClient}, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Add(all); err != nil {
		t.Fatal(err)
	}
	got := d.Result().Wanted[0]
	want := sim.Holdings{Large: 1}
	want.Most[0], want.Most[1], want.Most[7], want.Most[8] = 1, 1, 1, 2
	if got.Holdings != want || got.Keys != 5 {
		t.Errorf("%d keys, %v, want 5 and %v", got.Keys, got.Holdings, want)
	}
}
