package simulator

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// What the simulator decides is what Redis decides, request by request, of a trace with
// bursts, edges of windows and pauses.
func TestRedisDecidesTheSame(t *testing.T) {
	for spec, events := range map[string]int{"managed": 2000, "embedded": 100} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			if spec == "managed" {
				needServer(t)
			}
			s, err := backend.Open(t.Context(), spec, backend.Options{Timeout: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			trace := mixed(events)
			for _, a := range limiter.Algorithms {
				sameInRedis(t, s.Client(), a, trace)
			}
		})
	}
}

func needServer(t *testing.T) {
	t.Helper()
	for _, binary := range []string{"redis-server", "valkey-server"} {
		if _, err := exec.LookPath(binary); err == nil {
			return
		}
	}
	const missing = "no redis-server or valkey-server on PATH: NOTHING WAS TESTED ON A REAL REDIS"
	if os.Getenv("RLBENCH_REQUIRE_REDIS") != "" {
		t.Fatal(missing + ", and RLBENCH_REQUIRE_REDIS is set")
	}
	t.Skip(missing)
}

// mixed is a trace of three clients with windows of a second.
func mixed(n int) []Event {
	random := rand.New(rand.NewPCG(3, 4))
	gaps := []int64{0, 1, 1000, 50_000, 333_333, 100_000, 999_999, 1_000_000, 2_000_000}
	all := make([]Event, n)
	at := int64(1_764_590_400_123_456)
	for i := range all {
		gap := gaps[random.IntN(3)] // mostly bursts
		switch random.IntN(40) {
		case 0:
			gap = gaps[random.IntN(len(gaps))]
		case 1:
			gap = 1_000_000 - at%1_000_000 // the edge of a window
		}
		at += gap
		all[i] = Event{At: at, Client: uint32(random.IntN(3))}
	}
	return all
}

func sameInRedis(t *testing.T, client *redis.Client, a limiter.Algorithm, trace []Event) {
	g := Grid{Algorithms: []string{a.Name}, Windows: []time.Duration{time.Second}, Limits: []int64{1, 3, 6}, Keys: []Key{PerClient}}
	s, err := New(g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	sha, err := client.ScriptLoad(t.Context(), a.Script).Result()
	if err != nil {
		t.Fatal(err)
	}
	var admitted [3]int
	for chunk := range slices.Chunk(trace, 500) {
		replies := [3][]*redis.Cmd{}
		_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for i, e := range chunk {
				for l, limit := range g.Limits {
					key := fmt.Sprintf("simulator:%s:%d:%d", a.Name, limit, e.Client)
					// Keys live an hour, because these instants pass faster than time.
					replies[l] = append(replies[l], p.EvalSha(t.Context(), sha, []string{key}, e.At, 1_000_000, limit, 1, fmt.Sprintf("%d-%d", e.At, i), 3_600_000))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(chunk); err != nil {
			t.Fatal(err)
		}
		for i, e := range chunk {
			for l, limit := range g.Limits {
				reply, err := replies[l][i].Int64Slice()
				if err != nil {
					t.Fatal(err)
				}
				admitted[l] += int(reply[0])
				if refused := s.budgets[0].banks[a.Family()].refused[i]>>l&1 == 1; refused == (reply[0] == 1) {
					t.Fatalf("%s, limit %d, client %d at %d: Redis says %d, the simulator refuses: %t", a.Name, limit, e.Client, e.At, reply, refused)
				}
			}
		}
	}
	for l, n := range admitted {
		if p := s.Result().Policies[0].Limits[l].Total(); n == 0 || n == len(trace) || p.Admitted != int64(n) || p.Requests != int64(len(trace)) {
			t.Errorf("%s, limit %d: %d of %d admitted, the simulator says %d", a.Name, g.Limits[l], n, len(trace), p.Admitted)
		}
	}
}
