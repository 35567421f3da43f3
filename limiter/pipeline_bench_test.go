package limiter_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// BenchmarkTransports compares a plain client with a pipeline of it, in turns, by
// how many callers ask at a time: decisions in a second, and the p99 of a call. One
// op is a round of 2000 decisions of each. Medians of rounds.
func BenchmarkTransports(b *testing.B) {
	client := managed(b).Client()
	pipeline, err := limiter.NewPipeline(client)
	if err != nil {
		b.Fatal(err)
	}
	pipeline.Few = 0
	for _, callers := range []int{1, 2, 4, 8, 16, 32, 64, 512} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			transports := []*transport{
				newTransport(b, "plain", client, callers),
				newTransport(b, "pipeline", pipeline, callers),
			}
			for b.Loop() {
				for _, t := range transports {
					t.round(b)
				}
			}
			for _, t := range transports {
				slices.Sort(t.rates)
				slices.Sort(t.p99s)
				b.ReportMetric(t.rates[len(t.rates)/2], t.name+"/s")
				b.ReportMetric(float64(t.p99s[len(t.p99s)/2].Microseconds()), t.name+"-p99-us")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

type transport struct {
	name    string
	limiter *limiter.Redis
	callers int
	rates   []float64
	p99s    []time.Duration
}

func newTransport(b *testing.B, name string, client limiter.Processor, callers int) *transport {
	b.Helper()
	l, err := limiter.New(client, limiter.Config{
		Algorithm: limiter.LogPacked, Limit: benchLimit, Policy: "transport-" + name, OnFailure: limiter.FailError, Timeout: 10 * time.Second,
	})
	if err != nil {
		b.Fatal(err)
	}
	return &transport{name: name, limiter: l, callers: callers}
}

func (t *transport) round(b *testing.B) {
	const decisions = 2000
	took := make([]time.Duration, decisions)
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range t.callers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < decisions; i = next.Add(1) - 1 {
				sent := time.Now()
				if _, err := t.limiter.Allow(b.Context(), limiter.Request{Key: strconv.FormatInt(i, 10)}); err != nil {
					b.Error(err)
				}
				took[i] = time.Since(sent)
			}
		})
	}
	all.Wait()
	t.rates = append(t.rates, decisions/time.Since(start).Seconds())
	slices.Sort(took)
	t.p99s = append(t.p99s, took[decisions*99/100])
}
