package cmd

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter/backend"
)

// redisAt starts a server of our own at a port, or says that there is none.
func redisAt(t *testing.T, port string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if program, err = exec.LookPath("valkey-server"); err != nil {
			specOf(t, "managed") // skips, or fails where it may not
			t.Fatal(err)
		}
	}
	c := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, c) })
	eventually(t, "redis-server answers", func() bool {
		s, err := backend.Open(context.Background(), "redis://127.0.0.1:"+port, backend.Options{})
		if err == nil {
			s.Close()
		}
		return err == nil
	})
	return c
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// While Redis is away requests go on as was chosen, the metrics tell it, and when
// it is back it decides again, with its script and exactly.
func TestServeWithoutRedis(t *testing.T) {
	for _, row := range []struct {
		policy, source         string
		admitted, denied, none int // of 15 requests for a budget of 10
		body                   string
	}{
		{"local", "local", 10, 5, 0, `"status":429`},
		{"open", "fail-open", 15, 0, 0, ""},
		{"closed", "fail-closed", 0, 15, 0, `"status":503`},
		{"error", "", 0, 0, 15, `"status":503`},
	} {
		t.Run(row.policy, func(t *testing.T) {
			t.Parallel()
			port := freePort(t)
			redis := redisAt(t, port)
			s := serve(t, "--redis", "redis://127.0.0.1:"+port, "--on-failure", row.policy,
				"--edge", "off", "--trust", "127.0.0.1/32", "--window", calm())
			if ok := len(with(200, s.burst(t, 15, search, clientAddress(1)))); ok != 10 {
				t.Errorf("%d admitted by Redis", ok)
			}
			kill(t, redis)
			replies := s.burst(t, 15, search, clientAddress(2))
			if ok := len(with(200, replies)); ok != row.admitted {
				t.Errorf("%d admitted without Redis, want %d", ok, row.admitted)
			}
			for _, r := range replies {
				if r.status != 200 && !strings.Contains(r.body, row.body) {
					t.Errorf("refused with %d %s", r.status, r.body)
				}
			}
			m := s.metrics(t)
			decisions := func(source string, allowed bool) string {
				return fmt.Sprintf(`rlbench_limiter_decisions_total{policy="search",source="%s",allowed="%t"}`, source, allowed)
			}
			m.want(t, decisions("redis", true), 10)
			m.want(t, decisions("redis", false), 5)
			if row.source != "" {
				m.want(t, decisions(row.source, true), float64(row.admitted))
				m.want(t, decisions(row.source, false), float64(row.denied))
			}
			m.want(t, `rlbench_limiter_undecided_total{policy="search"}`, float64(row.none))
			m.want(t, `ratelimit_requests_total{outcome="errored"}`, float64(row.none))
			m.want(t, "rlbench_limiter_circuits_open", 1)
			troubles := m[`rlbench_limiter_errors_total{kind="dial"}`] + m[`rlbench_limiter_errors_total{kind="broken"}`] + m[`rlbench_limiter_errors_total{kind="circuit-open"}`]
			if troubles != 15 {
				t.Errorf("%v requests that Redis did not decide, want 15", troubles)
			}
			if r := s.get(t, "/healthz", ""); r.status != http.StatusOK {
				t.Errorf("health: %d, but the API is well", r.status)
			}

			redisAt(t, port)
			n := 100
			eventually(t, "Redis decides again", func() bool {
				before := s.metrics(t)[decisions("redis", true)]
				n++
				s.get(t, search, clientAddress(n))
				return s.metrics(t)[decisions("redis", true)] > before
			})
			if ok := len(with(200, s.burst(t, 15, search, clientAddress(3)))); ok != 10 {
				t.Errorf("%d admitted by the Redis that is back", ok)
			}
			m = s.metrics(t)
			m.want(t, "rlbench_limiter_circuits_open", 0)
			m.want(t, "rlbench_limiter_circuit_openings_total", 1)
		})
	}
}
