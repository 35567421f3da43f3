package limiter_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
)

var vectors = os.DirFS("../testdata/vectors")

func TestConformance(t *testing.T) {
	var onEmulator []limiter.Algorithm // all
	if raced {
		onEmulator = []limiter.Algorithm{limiter.Fixed} // its Lua is interpreted in Go
	}
	for _, b := range []struct {
		name       string
		client     func(testing.TB) redis.UniversalClient
		open       func(limitertest.Setup) (limiter.Limiter, error)
		algorithms []limiter.Algorithm // nil is all
	}{
		{"embedded", func(t testing.TB) redis.UniversalClient { return embedded(t).Client() }, limitertest.Redis, onEmulator},
		{"managed", func(t testing.TB) redis.UniversalClient { return managed(t).Client() }, limitertest.Redis, nil},
		{"url", func(t testing.TB) redis.UniversalClient { return dialled(t) }, limitertest.Redis, nil},
		{"cluster", func(t testing.TB) redis.UniversalClient { return cluster(t) }, limitertest.Redis, nil},
		// These are about the way to Redis.
		{"pipeline", func(t testing.TB) redis.UniversalClient { return managed(t).Client() }, limitertest.Pipelined, []limiter.Algorithm{limiter.Log, limiter.LogPacked}},
		{"pipeline to cluster", func(t testing.TB) redis.UniversalClient { return cluster(t) }, limitertest.Pipelined, []limiter.Algorithm{limiter.LogPacked, limiter.Counter}},
	} {
		t.Run(b.name, func(t *testing.T) {
			limitertest.Run(t, limitertest.Suite{
				Open:       b.open,
				Client:     b.client(t),
				Algorithms: b.algorithms,
				Vectors:    vectors,
				Seed:       1,
			})
		})
	}
}

// TestVectors holds the models against the hand-written answers.
func TestVectors(t *testing.T) {
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			cases, err := limitertest.Read(vectors, a.Family()+".txt")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				t.Run(c.Name, func(t *testing.T) {
					if err := c.Run(t.Context(), limitertest.NewReference(a).Limiter); err != nil {
						t.Errorf("%s\n%v", c.Why, err)
					}
				})
			}
		})
	}
}
