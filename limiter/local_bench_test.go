package limiter

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// BenchmarkLocal is what a decision costs while the circuit is open, with as many
// identities as there may be, all of them known.
func BenchmarkLocal(b *testing.B) {
	for _, a := range Algorithms {
		b.Run(a.Name, func(b *testing.B) {
			l := away(b, a, func(c *Config) { c.Limit.Max = 100; c.Circuit = &Circuit{Probe: time.Hour} })
			keys := make([]string, DefaultLocalKeys)
			for i := range keys {
				keys[i] = "2f1c9a7be04d5a6688" + strconv.Itoa(100_000+i)
				use(b, l, Request{Key: keys[i]})
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				if _, err := l.Allow(b.Context(), Request{Key: keys[i%len(keys)], At: dawn.Add(time.Duration(i) * tick)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLocalMemory is what an identity costs: with one unit used, and with
// all of a limit of 100.
func BenchmarkLocalMemory(b *testing.B) {
	const identities = 10_000
	for _, a := range Algorithms {
		for _, used := range []int{1, 100} {
			b.Run(a.Name+"/"+strconv.Itoa(used), func(b *testing.B) {
				for b.Loop() {
					l := away(b, a, func(c *Config) { c.Limit.Max = 100; c.Circuit = &Circuit{Probe: time.Hour} })
					before := heap()
					for i := range identities * used {
						use(b, l, Request{Key: "2f1c9a7be04d5a6688" + strconv.Itoa(100_000+i%identities), At: dawn.Add(time.Duration(i) * tick)})
					}
					b.ReportMetric(float64(heap()-before)/identities, "bytes/identity")
					runtime.KeepAlive(l)
				}
			})
		}
	}
}

// heap is how much is in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkOpenCircuit is a decision of the other policies while it is open.
func BenchmarkOpenCircuit(b *testing.B) {
	l := away(b, Fixed, func(c *Config) { c.OnFailure = FailOpen; c.Circuit = &Circuit{Probe: time.Hour} })
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Allow(b.Context(), Request{Key: "k"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGuard is what the guard adds to a decision of Redis: a bounded
// context, the circuit and the counters.
func BenchmarkGuard(b *testing.B) {
	l := away(b, Fixed, nil)
	nothing := func(context.Context) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := l.guard.ask(b.Context(), nothing); err != nil {
			b.Fatal(err)
		}
		l.fallback.spared(Decision{Source: SourceRedis})
	}
}
