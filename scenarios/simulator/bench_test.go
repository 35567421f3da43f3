package simulator_test

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	sim "github.com/rlbench/rlbench/scenarios/simulator"
)

// crowd makes events of many clients over some hours: few ask a lot, as in logs.
func crowd(n, clients int) []sim.Event {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 10, uint64(clients-1))
	hours := 4 * time.Hour
	gap := hours.Microseconds() / int64(n)
	all := make([]sim.Event, n)
	at := int64(1e15)
	for i := range all {
		at += random.Int64N(2*gap + 1)
		client := uint32(zipf.Uint64())
		if i%3 == 0 {
			client = uint32(random.IntN(clients))
		}
		all[i] = sim.Event{At: at, Client: client, Network: client / 8, Route: uint32(random.IntN(4))}
	}
	return all
}

func ladder(n int) []int64 {
	limits := make([]int64, n)
	for i := range limits {
		limits[i] = int64(10 * (i + 1))
	}
	return limits
}

// Decisions per second on one processor, a decision being one limit of one algorithm; and
// the memory that is in use at the end.
func BenchmarkSimulation(b *testing.B) {
	ordinary := crowd(1_000_000, 1_000_000)
	heavy := crowd(1_000_000, 50)
	for _, row := range []struct {
		name   string
		events []sim.Event
		grid   sim.Grid
	}{
		{"fixed", ordinary, sim.Grid{Algorithms: []string{"fixed"}}},
		{"log", ordinary, sim.Grid{Algorithms: []string{"log"}}},
		{"counter", ordinary, sim.Grid{Algorithms: []string{"counter"}}},
		{"gcra", ordinary, sim.Grid{Algorithms: []string{"gcra"}}},
		{"three", ordinary, sim.Grid{Algorithms: []string{"log", "counter", "gcra"}}},
		{"three-heavy", heavy, sim.Grid{Algorithms: []string{"log", "counter", "gcra"}}},
		{"counter-heavy", heavy, sim.Grid{Algorithms: []string{"counter"}}},
		{"three-per-route", ordinary, sim.Grid{Algorithms: []string{"log", "counter", "gcra"}, Keys: []sim.Key{sim.PerRoute}}},
	} {
		row.grid.Windows, row.grid.Limits = []time.Duration{time.Minute}, ladder(20)
		if row.grid.Keys == nil {
			row.grid.Keys = []sim.Key{sim.PerClient}
		}
		b.Run(row.name, func(b *testing.B) {
			for b.Loop() {
				simulate(b, row.grid, row.events, 1)
			}
			decisions := float64(len(row.events) * len(row.grid.Algorithms) * len(row.grid.Limits) * b.N)
			b.ReportMetric(decisions/b.Elapsed().Seconds()/1e6, "Mdecisions/s")
		})
	}
}

func simulate(b *testing.B, g sim.Grid, events []sim.Event, workers int) {
	s, err := sim.New(g, sim.Options{Workers: workers})
	if err != nil {
		b.Fatal(err)
	}
	for len(events) > 0 {
		n := min(len(events), 1<<16)
		if err := s.Add(events[:n]); err != nil {
			b.Fatal(err)
		}
		events = events[n:]
	}
	if s.Result().Requests == 0 {
		b.Fatal("nothing was simulated")
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB")
	runtime.KeepAlive(s)
}

// Ten million requests of a million clients, by three algorithms, 20 limits and all
// processors.
func BenchmarkTenMillion(b *testing.B) {
	events := crowd(10_000_000, 1_000_000)
	for _, window := range []time.Duration{time.Minute, time.Hour} {
		b.Run(window.String(), func(b *testing.B) {
			for b.Loop() {
				simulate(b, sim.Grid{
					Algorithms: []string{"fixed", "counter", "gcra"}, Windows: []time.Duration{window},
					Limits: ladder(20), Keys: []sim.Key{sim.PerClient},
				}, events, 0)
			}
		})
	}
}
