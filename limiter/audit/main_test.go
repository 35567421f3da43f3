package audit_test

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rlbench/rlbench/limiter/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a real Redis for the length of the test, with a slow log that is
// off: only what a test plants is to be found. A missing redis-server skips loudly,
// or fails where RLBENCH_REQUIRE_REDIS says that it may not be missing.
func open(t *testing.T, config ...string) *backend.Server {
	t.Helper()
	config = append([]string{"--slowlog-log-slower-than", "-1"}, config...)
	s, err := backend.Open(t.Context(), "managed", backend.Options{Timeout: 30 * time.Second, Config: config})
	if err != nil {
		if os.Getenv("RLBENCH_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skipf("NOT TESTED on a real Redis: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// do sends commands that must not fail.
func do(t *testing.T, s *backend.Server, commands ...[]any) {
	t.Helper()
	for _, command := range commands {
		if err := s.Client().Do(t.Context(), command...).Err(); err != nil {
			t.Fatalf("%v: %v", command, err)
		}
	}
}
