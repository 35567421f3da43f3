package limiter_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// The two benchmarks send the same script the same arguments through the same
// client, with instants that admit every request. The difference is what the
// limiter adds to a bare EVALSHA: compare allocations, which do not depend on
// the machine, before times.

var benchLimit = limiter.Limit{Max: 100, Window: time.Minute}

// benchStep is a pace that every algorithm admits: a strict counter rounds against
// who uses the whole limit.
const benchStep = int64(time.Minute/time.Microsecond) / 90

func BenchmarkAllow(b *testing.B) {
	client := managed(b).Client()
	for _, a := range limiter.Algorithms {
		b.Run(a.Name, func(b *testing.B) {
			l, err := limiter.New(client, limiter.Config{
				Algorithm: a, Limit: benchLimit, Policy: "bench-allow",
				OnFailure: limiter.FailError, TTLFloor: time.Hour,
			})
			if err != nil {
				b.Fatal(err)
			}
			ctx, at := b.Context(), t0.UnixMicro()+1
			if _, err := l.Allow(ctx, limiter.Request{Key: "connect and load"}); err != nil {
				b.Fatal(err)
			}
			var admitted int
			b.ReportAllocs()
			for b.Loop() {
				at += benchStep
				d, err := l.Allow(ctx, limiter.Request{Key: "k", At: time.UnixMicro(at)})
				if err != nil {
					b.Fatal(err)
				}
				if d.Allowed {
					admitted++
				}
			}
			wantAll(b, admitted, l.Reset(ctx, limiter.Request{Key: "k"}))
		})
	}
}

func BenchmarkEvalSha(b *testing.B) {
	client := managed(b).Client()
	for _, a := range limiter.Algorithms {
		b.Run(a.Name, func(b *testing.B) {
			ctx, at := b.Context(), t0.UnixMicro()+1
			sha, err := client.ScriptLoad(ctx, a.Script).Result()
			if err != nil {
				b.Fatal(err)
			}
			keys := []string{"rl:" + a.Name + ":bench-evalsha:60000000:{k}"}
			// Boxed once, as the limiter does.
			var window, limit, cost, floor, nonce any = "60000000", "100", "1", "3600000", "-"
			var admitted, request int
			b.ReportAllocs()
			for b.Loop() {
				at += benchStep
				if a.Name == limiter.Log.Name { // the only one that stores it
					request++
					nonce = "12345678" + strconv.Itoa(request)
				}
				reply, err := client.EvalSha(ctx, sha, keys, at, window, limit, cost, nonce, floor).Slice()
				if err != nil {
					b.Fatal(err)
				}
				if reply[0].(int64) == 1 {
					admitted++
				}
			}
			wantAll(b, admitted, client.Del(ctx, keys...).Err())
		})
	}
}

// wantAll fails a benchmark that measured denials.
func wantAll(b *testing.B, admitted int, cleaning error) {
	b.Helper()
	if cleaning != nil {
		b.Fatal(cleaning)
	}
	if admitted != b.N {
		b.Fatalf("%d of %d admitted", admitted, b.N)
	}
}
