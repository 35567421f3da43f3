package simulator_test

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	sim "github.com/rlbench/rlbench/scenarios/simulator"
)

// crowd is many clients over four hours: few ask a lot, as in logs, and many a little.
type crowd struct {
	random  *rand.Rand
	zipf    *rand.Zipf
	clients int
	gap, at int64 // µs
}

func newCrowd(events, clients int) *crowd {
	random := rand.New(rand.NewPCG(1, 2))
	return &crowd{
		random: random, zipf: rand.NewZipf(random, 1.1, 10, uint64(clients-1)), clients: clients,
		gap: (4 * time.Hour).Microseconds() / int64(events), at: 1e15,
	}
}

// ask fills a batch with the next events.
func (c *crowd) ask(batch []sim.Event) {
	for i := range batch {
		c.at += c.random.Int64N(2*c.gap + 1)
		client := uint32(c.zipf.Uint64())
		if i%3 == 0 {
			client = uint32(c.random.IntN(c.clients))
		}
		batch[i] = sim.Event{At: c.at, Client: client, Network: client / 8, Route: uint32(c.random.IntN(4))}
	}
}

func ladder(n int) []int64 {
	limits := make([]int64, n)
	for i := range limits {
		limits[i] = int64(10 * (i + 1))
	}
	return limits
}

// Decisions per second on one processor, a decision being one limit of one algorithm. The
// log that others are compared with is decided, too, but not counted.
func BenchmarkSimulation(b *testing.B) {
	for _, row := range []struct {
		name       string
		clients    int
		algorithms []string
		key        sim.Key
	}{
		{"fixed", 1_000_000, []string{"fixed"}, sim.PerClient},
		{"log", 1_000_000, []string{"log"}, sim.PerClient},
		{"counter", 1_000_000, []string{"counter"}, sim.PerClient},
		{"gcra", 1_000_000, []string{"gcra"}, sim.PerClient},
		{"three", 1_000_000, []string{"log", "counter", "gcra"}, sim.PerClient},
		{"three-per-route", 1_000_000, []string{"log", "counter", "gcra"}, sim.PerRoute},
		// All of 50 clients ask for more than some limits, and a few for more than all.
		{"log-heavy", 50, []string{"log"}, sim.PerClient},
		{"counter-heavy", 50, []string{"counter"}, sim.PerClient},
		{"three-heavy", 50, []string{"log", "counter", "gcra"}, sim.PerClient},
	} {
		b.Run(row.name, func(b *testing.B) {
			g := sim.Grid{Algorithms: row.algorithms, Windows: []time.Duration{time.Minute}, Limits: ladder(20), Keys: []sim.Key{row.key}}
			simulate(b, g, 1_000_000, row.clients, 1)
		})
	}
}

// simulate adds events in batches. What is in use is asked for at the end.
func simulate(b *testing.B, g sim.Grid, events, clients, workers int) {
	batch := make([]sim.Event, 1<<16)
	var memory runtime.MemStats
	for b.Loop() {
		s, err := sim.New(g, sim.Options{Workers: workers})
		if err != nil {
			b.Fatal(err)
		}
		crowd := newCrowd(events, clients)
		for left := events; left > 0; left -= len(batch) {
			b.StopTimer()
			batch = batch[:min(left, cap(batch))]
			crowd.ask(batch)
			b.StartTimer()
			if err := s.Add(batch); err != nil {
				b.Fatal(err)
			}
		}
		if s.Result().Requests != int64(events) {
			b.Fatal("not everything was simulated")
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&memory)
		runtime.KeepAlive(s)
		batch = batch[:cap(batch)]
		b.StartTimer()
	}
	decisions := float64(events * len(g.Algorithms) * len(g.Limits) * b.N)
	b.ReportMetric(decisions/b.Elapsed().Seconds()/1e6, "Mdecisions/s")
	b.ReportMetric(float64(memory.HeapAlloc)/1e6, "MB-heap")
	b.ReportMetric(float64(memory.Sys)/1e6, "MB-from-system")
}

// Ten million requests of a million clients, by three algorithms and 20 limits, on all
// processors.
func BenchmarkTenMillion(b *testing.B) {
	for _, window := range []time.Duration{time.Minute, time.Hour} {
		b.Run(window.String(), func(b *testing.B) {
			g := sim.Grid{Algorithms: []string{"fixed", "counter", "gcra"}, Windows: []time.Duration{window}, Limits: ladder(20), Keys: []sim.Key{sim.PerClient}}
			simulate(b, g, 10_000_000, 1_000_000, 0)
		})
	}
}
