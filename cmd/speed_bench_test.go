package cmd

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/runner"
	"github.com/rlbench/rlbench/scenarios/target"
)

// BenchmarkFullSpeed compares the generator with redis-benchmark: 64 callers that each
// send the next EVALSHA when the one before is answered, on one server, in turns. One op
// is a round of 100,000 requests of each. Decisions in a second, and the medians of the
// ratios of the rounds.
func BenchmarkFullSpeed(b *testing.B) {
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		b.Skip("no redis-benchmark on the PATH: NOTHING WAS COMPARED")
	}
	server, err := backend.Open(b.Context(), "managed", backend.Options{Timeout: 10 * time.Second, PoolSize: 64})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	for _, a := range []limiter.Algorithm{limiter.Counter, limiter.LogPacked} {
		b.Run(a.Name, func(b *testing.B) {
			names := []string{a.Name, a.Name + "+pipeline"}
			rates := map[string][]float64{}
			for b.Loop() {
				theirs := redisBenchmark(b, server, a)
				for _, name := range names {
					ours := fullSpeed(b, server, name)
					rates[name] = append(rates[name], ours)
					rates[name+"/redis-benchmark"] = append(rates[name+"/redis-benchmark"], ours/theirs)
				}
				rates["redis-benchmark"] = append(rates["redis-benchmark"], theirs)
			}
			for name, all := range rates {
				slices.Sort(all)
				b.ReportMetric(all[len(all)/2], name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

const speedRequests, speedKeys = 100_000, 10_000

// fullSpeed sends a plan of one instant as fast as 64 callers are answered.
func fullSpeed(b *testing.B, server *backend.Server, name string) float64 {
	b.Helper()
	if err := server.Clear(b.Context()); err != nil {
		b.Fatal(err)
	}
	s, err := scenarios.Read(strings.NewReader(fmt.Sprintf(`
version: 1
name: full
limit: 100/1m
clock: virtual # at once, and not at an edge
keys: {count: %d, distribution: cycle}
phases:
  - {name: all, at: edge, shape: burst, count: %d}
`, speedKeys, speedRequests)), "full.yaml", scenarios.BuiltinDefaults())
	if err != nil {
		b.Fatal(err)
	}
	p, err := scenarios.NewPlan(s)
	if err != nil {
		b.Fatal(err)
	}
	t, err := target.Open(b.Context(), server, name, target.Options{Limit: s.Limit, Clock: scenarios.Server, Prefix: "rl"})
	if err != nil {
		b.Fatal(err)
	}
	l, err := limitersOf(t, p)
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	h, err := runner.Run(context.Background(), runner.Config{Limiters: l, Plan: p, Identity: invented, MaxInFlight: 64})
	took := time.Since(start)
	if err != nil || h.Lost != nil {
		b.Fatal(err, h.Lost)
	}
	return speedRequests / took.Seconds()
}

// redisBenchmark fires the same script with the same arguments.
func redisBenchmark(b *testing.B, server *backend.Server, a limiter.Algorithm) float64 {
	b.Helper()
	if err := server.Clear(b.Context()); err != nil {
		b.Fatal(err)
	}
	sha, err := server.Client().ScriptLoad(b.Context(), a.Script).Result()
	if err != nil {
		b.Fatal(err)
	}
	out, err := exec.Command("redis-benchmark", "-s", strings.TrimPrefix(server.URL(), "unix://"), "-c", "64", "-n", strconv.Itoa(speedRequests),
		"-r", strconv.Itoa(speedKeys), "--csv", "EVALSHA", sha, "1", "rl:"+a.Name+":rlbench:60000000:{k__rand_int__-1}",
		strconv.FormatInt(time.Now().UnixMicro(), 10), "60000000", "100", "1", "-", "3600000").Output()
	if err != nil {
		b.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields := strings.Split(lines[len(lines)-1], `","`)
	rate, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		b.Fatalf("read %q: %v", out, err)
	}
	return rate
}
