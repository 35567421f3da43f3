package backend_test

import (
	"testing"

	"github.com/rlbench/rlbench/limiter/backend"
)

// Warm connections are there before they are needed, and are the ones used.
func TestWarm(t *testing.T) {
	s, err := backend.Open(t.Context(), "embedded", backend.Options{PoolSize: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Warm(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	if got := s.Client().PoolStats(); got.IdleConns != 8 || got.TotalConns != 8 {
		t.Errorf("%d idle of %d connections, want 8 of 8", got.IdleConns, got.TotalConns)
	}
	if err := s.Client().Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if got := s.Client().PoolStats().TotalConns; got != 8 {
		t.Errorf("a ping opened connection %d", got)
	}
}
