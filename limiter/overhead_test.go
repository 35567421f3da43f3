package limiter_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// BenchmarkOverhead is what Allow costs as a multiple of a bare EVALSHA of the
// same script with the same arguments by the same client. The two take turns in
// small batches, because the pace of a machine drifts by more than they differ;
// the metric is the median of the batches' ratios.
func BenchmarkOverhead(b *testing.B) {
	const batch = 50
	client := managed(b).Client()
	for _, a := range limiter.Algorithms {
		b.Run(a.Name, func(b *testing.B) {
			ctx := b.Context()
			l, err := limiter.New(client, limiter.Config{
				Algorithm: a, Limit: benchLimit, Policy: "overhead", OnFailure: limiter.FailError, TTLFloor: time.Hour,
			})
			if err != nil {
				b.Fatal(err)
			}
			sha, err := client.ScriptLoad(ctx, a.Script).Result()
			if err != nil {
				b.Fatal(err)
			}
			bare := []string{l.Keys("bare")[0]}
			var window, limit, cost, floor any = "60000000", "100", "1", "3600000"
			at, request := t0.UnixMicro(), 0

			allow := func() {
				at += benchStep
				if _, err := l.Allow(ctx, limiter.Request{Key: "k", At: time.UnixMicro(at)}); err != nil {
					b.Fatal(err)
				}
			}
			evalsha := func() {
				at += benchStep
				request++
				_, err := client.EvalSha(ctx, sha, bare, strconv.FormatInt(at, 10), window, limit, cost,
					"12345678"+strconv.Itoa(request), floor).Slice()
				if err != nil {
					b.Fatal(err)
				}
			}
			var ratios []float64
			for b.Loop() {
				first, second := timed(batch, allow), timed(batch, evalsha)
				ratios = append(ratios, first.Seconds()/second.Seconds())
				second, first = timed(batch, evalsha), timed(batch, allow)
				ratios = append(ratios, first.Seconds()/second.Seconds())
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "allow/evalsha")
			b.ReportMetric(0, "ns/op")
			if err := client.Del(ctx, bare[0], l.Keys("k")[0]).Err(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func timed(n int, f func()) time.Duration {
	start := time.Now()
	for range n {
		f()
	}
	return time.Since(start)
}
