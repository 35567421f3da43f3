package limiter_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// BenchmarkLogs compares the two logs on one server, in turns, with a full window:
// what Redis spends on a request that is admitted because one has just left, on one
// that is denied, and on the first after all have left at once; and what a full key
// takes. One op is a round of 100 requests of each kind and log. Medians of rounds.
func BenchmarkLogs(b *testing.B) {
	server := managed(b)
	for _, most := range []int64{100, 1000, 10_000} {
		b.Run(strconv.FormatInt(most, 10), func(b *testing.B) {
			logs := []*logCost{}
			for _, a := range []limiter.Algorithm{limiter.Log, limiter.LogPacked} {
				logs = append(logs, newLogCost(b, server, a, most))
			}
			for b.Loop() {
				for _, l := range logs {
					l.round(b)
				}
			}
			for _, l := range logs {
				for kind, micros := range l.micros {
					slices.Sort(micros)
					b.ReportMetric(micros[len(micros)/2], l.name+"-"+kind+"-us")
				}
				b.ReportMetric(float64(l.bytes), l.name+"-bytes")
			}
			if err := server.Clear(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

type logCost struct {
	name    string
	server  *backend.Server
	limiter *limiter.Redis
	limit   limiter.Limit
	at      time.Time
	bytes   int64
	micros  map[string][]float64 // script time of a request, by its kind
}

func newLogCost(b *testing.B, server *backend.Server, a limiter.Algorithm, most int64) *logCost {
	l := &logCost{name: a.Name, server: server, limit: limiter.Limit{Max: most, Window: time.Minute}, at: t0, micros: map[string][]float64{}}
	var err error
	if l.limiter, err = limiter.New(server.Client(), limiter.Config{
		Algorithm: a, Limit: l.limit, Policy: "bench-logs", OnFailure: limiter.FailError, TTLFloor: time.Hour,
	}); err != nil {
		b.Fatal(err)
	}
	l.fill(b)
	if l.bytes, err = server.Client().MemoryUsage(b.Context(), l.limiter.Keys("k")[0], 0).Result(); err != nil {
		b.Fatal(err)
	}
	return l
}

// gap is how long one of a full window's evenly spaced units is ahead of the next.
func (l *logCost) gap() time.Duration { return l.limit.Window / time.Duration(l.limit.Max) }

// fill uses a whole window evenly; its last unit is a gap before the next one is due.
func (l *logCost) fill(b *testing.B) {
	for range l.limit.Max {
		l.ask(b, true)
		l.at = l.at.Add(l.gap())
	}
}

func (l *logCost) ask(b *testing.B, admitted bool) {
	d, err := l.limiter.Allow(b.Context(), limiter.Request{Key: "k", At: l.at})
	if err != nil || d.Allowed != admitted {
		b.Fatalf("%s at %s: %+v, %v; want admitted: %t", l.name, l.at, d, err, admitted)
	}
}

func (l *logCost) round(b *testing.B) {
	const requests = 100
	l.timed(b, "admit", requests, func() {
		l.ask(b, true)
		l.at = l.at.Add(l.gap())
	})
	l.at = l.at.Add(-l.gap())
	l.timed(b, "deny", requests, func() { l.ask(b, false) })
	l.at = l.at.Add(2 * l.limit.Window)
	l.timed(b, "expired", 1, func() { l.ask(b, true) })
	l.at = l.at.Add(2 * l.limit.Window)
	l.fill(b)
}

// timed runs so many requests and keeps what Redis says that each took.
func (l *logCost) timed(b *testing.B, kind string, requests int, ask func()) {
	before, err := l.server.CommandStats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for range requests {
		ask()
	}
	after, err := l.server.CommandStats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	l.micros[kind] = append(l.micros[kind], float64(after["evalsha"].Micros-before["evalsha"].Micros)/float64(requests))
}
