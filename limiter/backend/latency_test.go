package backend

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// The same seed holds the same operations as long, and within bounds.
func TestLatencySeed(t *testing.T) {
	s := injectable(t, Embedded, Options{})
	l := limiterOn(t, s, limiter.Fixed)
	delays := func(seed uint64) (all []time.Duration) {
		i := inject(t, s, Fault{Kind: "latency", Delay: time.Microsecond, Jitter: time.Millisecond, Seed: seed})
		for range 20 {
			if err := ask(t, l, "a"); err != nil {
				t.Fatal(err)
			}
		}
		end(t, i)
		for _, h := range i.Hits() {
			if h.Delay < time.Microsecond || h.Delay >= time.Microsecond+time.Millisecond {
				t.Errorf("held for %s", h.Delay)
			}
			all = append(all, h.Delay)
		}
		return all
	}
	first, again, other := delays(1), delays(1), delays(2)
	if !slices.Equal(first, again) || slices.Equal(first, other) || len(first) != 20 {
		t.Errorf("seed 1: %v, again %v; seed 2: %v", first, again, other)
	}
}

// A reply that is held longer than the client waits is a timeout.
func TestLatencyTimeout(t *testing.T) {
	s := injectable(t, Embedded, Options{Timeout: 50 * time.Millisecond})
	l := limiterOn(t, s, limiter.Fixed)
	i := inject(t, s, Fault{Kind: "latency", Delay: time.Hour, Hits: 1})
	err := ask(t, l, "a")
	if fateOf(err) != unknown || !isTimeout(err) {
		t.Errorf("got %v", err)
	}
	if n := counted(t, l, "a"); n != 1 || len(i.Hits()) != 1 {
		t.Errorf("%d counted, hits %v", n, i.Hits())
	}
}

// Close ends a wait for a held reply.
func TestCloseEndsHeldReply(t *testing.T) {
	s := injectable(t, Embedded, Options{})
	l := limiterOn(t, s, limiter.Fixed)
	i := inject(t, s, Fault{Kind: "latency", Delay: time.Hour})
	asked := make(chan error)
	go func() { asked <- ask(t, l, "a") }()
	eventually(t, "the request is held", func() bool { return len(i.Hits()) == 1 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-asked; fateOf(err) != unknown {
		t.Errorf("got %v", err)
	}
	if _, err := s.Inject(t.Context(), Fault{Kind: "reset"}); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
