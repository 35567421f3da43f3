package limiter_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// BenchmarkDenyCache: all callers of a machine send abusive traffic, 1000 keys drawn
// by zipf and nearly all denied, without a cache and with one. evalsha/op is what is
// left for Redis.
func BenchmarkDenyCache(b *testing.B) {
	server := managed(b)
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = "client-" + strconv.Itoa(i)
	}
	for _, remembers := range []bool{false, true} {
		b.Run(map[bool]string{false: "without", true: "with"}[remembers], func(b *testing.B) {
			var denials *limiter.DenyCache
			if remembers {
				denials = new(limiter.DenyCache)
			}
			l, err := limiter.New(server.Client(), limiter.Config{
				Algorithm: limiter.LogPacked, Limit: limiter.Limit{Max: 10, Window: time.Minute},
				Policy: "bench-deny", OnFailure: limiter.FailError, DenyCache: denials,
			})
			if err != nil {
				b.Fatal(err)
			}
			before, err := server.CommandStats(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.RunParallel(func(caller *testing.PB) {
				drawn := rand.NewZipf(rand.New(rand.NewPCG(1, rand.Uint64())), 1.1, 1, uint64(len(keys)-1))
				for caller.Next() {
					if _, err := l.Allow(b.Context(), limiter.Request{Key: keys[drawn.Uint64()]}); err != nil {
						b.Error(err)
						return
					}
				}
			})
			after, err := server.CommandStats(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(after["evalsha"].Calls-before["evalsha"].Calls)/float64(b.N), "evalsha/op")
			if err := server.Clear(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
