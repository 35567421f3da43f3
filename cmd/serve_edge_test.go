package cmd

import (
	"strings"
	"testing"
	"time"
)

// The coarse tier sheds what is beyond its limit in a period, and tells that it was
// the tier. Health and metrics are not limited, and nobody else is.
func TestServeEdgeSheds(t *testing.T) {
	t.Parallel()
	s := serve(t, "--redis", "embedded", "--edge", "20/10s", "--trust", "127.0.0.1/32", "--window", calm())
	const period = 10 * time.Second
	first := time.Now().Truncate(period)
	replies := s.burst(t, 60, trending, clientAddress(1))
	periods := int(time.Now().Truncate(period).Sub(first)/period) + 1
	admitted, shed := len(with(200, replies)), with(429, replies)
	if admitted < 20 || admitted > 20*periods || admitted+len(shed) != 60 {
		t.Errorf("%d admitted, %d shed, in %d periods", admitted, len(shed), periods)
	}
	for _, r := range shed {
		if wait := r.header.Get("Retry-After"); !strings.Contains(r.body, `"scope":"edge"`) || len(wait) == 0 || fields(r) != nil {
			t.Errorf("%v %s", r.header, r.body)
		}
	}
	if r := s.get(t, trending, clientAddress(2)); r.status != 200 {
		t.Errorf("another client: %d", r.status)
	}
	for _, path := range []string{"/healthz", "/metrics"} {
		if ok := len(with(200, s.burst(t, 150, path, clientAddress(1)))); ok != 150 {
			t.Errorf("%s: %d of 150 answered", path, ok)
		}
	}
	m := s.metrics(t)
	m.want(t, `rlbench_edge_requests_total{outcome="admitted"}`, float64(admitted+1))
	m.want(t, `rlbench_edge_requests_total{outcome="denied"}`, float64(len(shed)))
	m.want(t, `ratelimit_requests_total{outcome="admitted"}`, float64(admitted+1))
	m.want(t, `rlbench_limiter_decisions_total{policy="trending",source="redis",allowed="true"}`, float64(admitted+1))
}

// Without the tier a flood meets the budgets, and nothing is told of a tier.
func TestServeEdgeOff(t *testing.T) {
	t.Parallel()
	s := serve(t, "--redis", "embedded", "--edge", "off", "--window", calm())
	for _, r := range with(429, s.burst(t, 120, trending, "")) {
		if strings.Contains(r.body, "edge") {
			t.Errorf("shed: %s", r.body)
		}
	}
	if m := s.metrics(t); len(m) == 0 {
		t.Error("no metrics")
	} else if _, ok := m[`rlbench_edge_requests_total{outcome="admitted"}`]; ok {
		t.Error("metrics of a tier that is off")
	}
}

// A client whose address a proxy hides is refused by whoever comes first.
func TestServeNeedsAnAddress(t *testing.T) {
	t.Parallel()
	for edge, scope := range map[string]string{"600/1m": `"scope":"edge"`, "off": "The request does not say who sent it."} {
		t.Run(edge, func(t *testing.T) {
			s := serve(t, "--redis", "embedded", "--edge", edge, "--trust", "127.0.0.1/32")
			for _, address := range []string{"unknown", "198.51.100.777", "198.51.100.7, ", "0.0.0.0"} {
				if r := s.get(t, search, address); r.status != 403 || !strings.Contains(r.body, scope) || strings.Contains(r.body, "198") {
					t.Errorf("%q: %d %s", address, r.status, r.body)
				}
			}
			outcome := `ratelimit_requests_total{outcome="unidentified"}`
			if edge != "off" {
				outcome = `rlbench_edge_requests_total{outcome="nameless"}`
			}
			s.metrics(t).want(t, outcome, 4)
		})
	}
}

// Shadow counts and logs, and refuses nothing, at the edge neither.
func TestServeShadow(t *testing.T) {
	t.Parallel()
	s := serve(t, "--redis", "embedded", "--shadow", "--edge", "20/10s", "--trust", "127.0.0.1/32", "--window", calm())
	const denied = `rlbench_edge_requests_total{outcome="denied"}`
	sent := 0
	for rounds := 0; rounds < 10 && s.metrics(t)[denied] == 0; rounds++ { // a period may end within a burst
		for _, r := range s.burst(t, 60, search, clientAddress(1)) {
			if sent++; r.status != 200 || fields(r) != nil || r.header.Get("Retry-After") != "" {
				t.Errorf("%d %v", r.status, r.header)
			}
		}
	}
	if r := s.get(t, search, "unknown"); r.status != 200 {
		t.Errorf("without an address: %d", r.status)
	}
	m := s.metrics(t)
	m.want(t, `ratelimit_decisions_total{policy="search",outcome="would_deny"}`, float64(sent-10))
	if m[denied] == 0 {
		t.Error("the tier counted no denial")
	}
	for _, line := range []string{`msg="edge tier" status=429 shadow=true`, "outcome=denied status=429 shadow=true denied_by=[search]"} {
		if !strings.Contains(s.errs.String(), line) {
			t.Errorf("not logged: %s\n%s", line, s.errs.String())
		}
	}
}

// Quiet logs nothing of refusals.
func TestServeQuiet(t *testing.T) {
	s := serve(t, "--redis", "embedded", "-q")
	s.burst(t, 20, search, "")
	if s.stop(t); s.errs.String() != "" {
		t.Errorf("stderr is %q", s.errs.String())
	}
}
