package faulty

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter/backend"
)

// onEach runs a test on every kind of Redis that needs no setting up. Without a
// server it skips loudly, or fails if RLBENCH_REQUIRE_REDIS is set.
func onEach(t *testing.T, test func(*testing.T, *redis.Client)) {
	for _, spec := range []string{"embedded", "managed"} {
		t.Run(spec, func(t *testing.T) {
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
			test(t, s.Client())
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
