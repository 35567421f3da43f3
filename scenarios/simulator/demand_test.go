package simulator_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	sim "github.com/rlbench/rlbench/scenarios/simulator"
)

// Each figure is that of a slow count.
func TestDemandIsCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows := []time.Duration{rapid.SampledFrom([]time.Duration{time.Millisecond, 700 * time.Millisecond, time.Minute}).Draw(t, "window"), 2 * time.Second}
		o := sim.Options{Workers: rapid.IntRange(0, 3).Draw(t, "workers"), Class: rapid.SliceOfN(rapid.Uint8Range(0, 2), 0, 4).Draw(t, "classes")}
		all := events(t, windows[0], 40)
		d, err := sim.NewDemand(windows, sim.Keys, o)
		if err != nil {
			t.Fatal(err)
		}
		for batch := range slices.Chunk(all, rapid.IntRange(1, 130).Draw(t, "batch")) {
			if err := d.Add(batch); err != nil {
				t.Fatal(err)
			}
		}
		got := d.Result()
		opts := cmp.Options{cmpopts.IgnoreUnexported(sim.Peak{}), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(naiveDemand(all, windows, o, len(got.Classes)), got, opts); diff != "" {
			t.Fatalf("%v, %v (-slow +fast):\n%s", windows, o, diff)
		}
	})
}

// put stores a value in a slice that grows as needed.
func put(s *[]uint32, i uint32, v int64) {
	for int(i) >= len(*s) {
		*s = append(*s, 0)
	}
	(*s)[i] = max((*s)[i], uint32(v))
}

func naiveDemand(all []sim.Event, windows []time.Duration, o sim.Options, classes int) *sim.Demands {
	d := &sim.Demands{Total: int64(len(all)), Classes: make([]int64, classes)}
	counts := map[uint32]int64{}
	for _, e := range all {
		counts[e.Client]++
		put(&d.Requests, e.Client, counts[e.Client])
		d.Classes[naiveKind(o.Class, e.Route)]++
	}
	if len(all) > 0 {
		d.First, d.Last = all[0].At, all[len(all)-1].At
	}
	for _, window := range windows {
		for _, key := range sim.Keys {
			decided := naiveDecide(all, "log", window, 1, key)
			w := sim.Wanted{Window: window, Key: key, Classes: make([][]uint32, classes)}
			w.Keys, w.Holdings = naiveAlive(decided, window.Microseconds()), naiveHoldings(decided, window.Microseconds())
			for _, one := range decided {
				put(&w.Clients, one.Client, one.demanded+1)
				put(&w.Seconds, one.Client, one.demandedS+1)
				put(&w.Classes[naiveKind(o.Class, one.Route)], one.Client, one.demanded+1)
				if one.demanded+1 > w.Peak.Admitted {
					w.Peak = sim.Peak{Admitted: one.demanded + 1, By: one.Event}
				}
				if one.demandedS+1 > w.Exposure.Admitted {
					w.Exposure = sim.Peak{Admitted: one.demandedS + 1, By: one.Event}
				}
			}
			d.Wanted = append(d.Wanted, w)
		}
	}
	return d
}

func TestDistribution(t *testing.T) {
	values := []uint32{0, 7, 0, 3}
	for i := range uint32(98) {
		values = append(values, 100+i)
	}
	d := sim.Distribute(values) // 3, 7, 100 … 197
	for share, want := range map[float64]uint32{-1: 3, 0: 3, .01: 3, .011: 7, .02: 7, .07: 104, .99: 196, 1: 197, 2: 197, math.Inf(1): 197} {
		if got := d.Quantile(share); got != want {
			t.Errorf("quantile %g is %d, want %d", share, got, want)
		}
	}
	for value, want := range map[uint32]int{0: 100, 3: 99, 6: 99, 196: 1, 197: 0} {
		if got := d.Above(value); got != want {
			t.Errorf("%d clients above %d, want %d", got, value, want)
		}
	}
	if got := sim.Distribute(nil).Quantile(.5); got != 0 {
		t.Errorf("the median of nobody is %d", got)
	}
}
