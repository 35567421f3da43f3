package limiter_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// BenchmarkSetAllow is BenchmarkAllow for a Set of one policy and of two, of the
// same algorithm. Both send one command a request, which is what evalsha/op counts;
// script-us/op is what Redis says it spent on it.
func BenchmarkSetAllow(b *testing.B) {
	server := managed(b)
	for _, a := range limiter.Algorithms {
		b.Run(a.Name+"/alone", func(b *testing.B) {
			l, err := limiter.New(server.Client(), limiter.Config{
				Algorithm: a, Limit: benchLimit, Policy: "bench-alone", OnFailure: limiter.FailError, TTLFloor: time.Hour,
			})
			if err != nil {
				b.Fatal(err)
			}
			measured(b, server, func(at time.Time) (bool, error) {
				d, err := l.Allow(b.Context(), limiter.Request{Key: "k", At: at})
				return d.Allowed, err
			})
		})
		for policies := 1; policies <= 2; policies++ {
			b.Run(a.Name+"/policies="+strconv.Itoa(policies), func(b *testing.B) {
				var all []limiter.Policy
				var charges []limiter.Charge
				for i := range policies {
					name := "bench-set-" + strconv.Itoa(policies) + "-" + strconv.Itoa(i)
					all = append(all, limiter.Policy{Name: name, Algorithm: a, Limit: benchLimit})
					charges = append(charges, limiter.Charge{Policy: name, Key: "k"})
				}
				s, err := limiter.NewSet(server.Client(), limiter.SetConfig{Policies: all, OnFailure: limiter.FailError, TTLFloor: time.Hour})
				if err != nil {
					b.Fatal(err)
				}
				measured(b, server, func(at time.Time) (bool, error) {
					ds, err := s.Allow(b.Context(), limiter.Joint{At: at, Charges: charges})
					return limiter.Allowed(ds), err
				})
			})
		}
	}
}

// measured asks at instants that are all admitted, and reports what Redis did.
func measured(b *testing.B, server *backend.Server, allow func(time.Time) (bool, error)) {
	b.Helper()
	at := t0.UnixMicro() + 1
	if _, err := allow(t0.Add(-time.Hour)); err != nil { // connects and loads
		b.Fatal(err)
	}
	before, err := server.CommandStats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var admitted int
	b.ReportAllocs()
	for b.Loop() {
		at += benchStep
		ok, err := allow(time.UnixMicro(at))
		if err != nil {
			b.Fatal(err)
		}
		if ok {
			admitted++
		}
	}
	after, err := server.CommandStats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(after["evalsha"].Calls-before["evalsha"].Calls)/float64(b.N), "evalsha/op")
	b.ReportMetric(float64(after["evalsha"].Micros-before["evalsha"].Micros)/float64(b.N), "script-us/op")
	wantAll(b, admitted, server.Clear(b.Context()))
}
