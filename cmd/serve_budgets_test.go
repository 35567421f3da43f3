package cmd

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

const (
	trending = "/api/v1/trending"
	feed     = "/api/v1/feed"
	search   = "/api/v1/search?q=tramway"
)

// However requests of a client come together, it gets 100, 30 and 10, and 120 in
// all. What one budget denies takes nothing of the other, or 120 would be fewer.
func TestServeBudgetsAreExact(t *testing.T) {
	t.Parallel()
	specOf(t, "managed")
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "--redis", "managed", "-a", a.Name, "--edge", "off", "--trust", "127.0.0.1/32", "--window", calm(), "-q")
			type step struct {
				path           string
				sent, admitted int
				denies         []string // the policy that denies the last ones
			}
			var all sync.WaitGroup
			for n, steps := range [][]step{
				{{search, 25, 10, []string{"search"}}, {feed, 50, 30, []string{"feed"}}, {trending, 100, 80, []string{"global"}}, {feed, 5, 0, []string{"feed", "global"}}},
				{{trending, 130, 100, []string{"trending"}}, {feed, 40, 20, []string{"global"}}, {search, 5, 0, []string{"global"}}},
				{{search, 20, 10, []string{"search"}}, {trending, 130, 100, []string{"trending"}}, {feed, 20, 10, []string{"global"}}},
			} {
				all.Go(func() {
					for _, step := range steps {
						replies := s.burst(t, step.sent, step.path, clientAddress(n+1))
						denied := with(429, replies)
						if got := len(with(200, replies)); got != step.admitted || len(denied) != step.sent-step.admitted {
							t.Errorf("client %d, %s: %d of %d admitted, want %d, %d denied", n, step.path, got, step.sent, step.admitted, len(denied))
							for _, r := range replies {
								if r.status != 200 && r.status != 429 {
									t.Errorf("%d: %s", r.status, r.body)
								}
							}
						}
						for _, r := range denied {
							// Another policy may be all but used up when the first are denied.
							if v := violated(t, r); !slices.ContainsFunc(v, func(p string) bool { return slices.Contains(step.denies, p) }) {
								t.Errorf("client %d, %s: denied by %v, want %v", n, step.path, v, step.denies)
							}
						}
					}
				})
			}
			all.Wait()
		})
	}
}

func violated(t *testing.T, r reply) []string {
	t.Helper()
	var p httplimit.Problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Errorf("%q: %v", r.body, err)
	}
	return p.ViolatedPolicies
}

// Who is not trusted has one budget, whatever it says about others. One client of
// IPv6 is a /64.
func TestServeBelievesProxiesOnly(t *testing.T) {
	t.Parallel()
	s := serve(t, "--redis", "embedded", "--window", calm())
	for n := range 11 {
		if r := s.get(t, search, clientAddress(n)); (r.status == 200) != (n < 10) {
			t.Errorf("request %d: %d", n, r.status)
		}
	}
	s = serve(t, "--redis", "embedded", "--window", calm(), "--trust", "127.0.0.0/8")
	for n := range 11 {
		if r := s.get(t, search, "2001:db8::"+strconv.Itoa(n)); (r.status == 200) != (n < 10) {
			t.Errorf("request %d of a /64: %d", n, r.status)
		}
	}
	if r := s.get(t, search, "2001:db8:0:1::1, 127.0.0.2"); r.status != 200 {
		t.Errorf("another /64 behind two proxies: %d", r.status)
	}
}

// The fields of every dialect are there on both answers, and only those that were
// asked for.
func TestServeHeaders(t *testing.T) {
	x := []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
	for _, row := range []struct {
		headers string
		want    []string
	}{
		{"none", nil},
		{"x-ratelimit", x},
		{"x-ratelimit-epoch", x},
		{"draft-06", []string{"Ratelimit-Limit", "Ratelimit-Policy", "Ratelimit-Remaining", "Ratelimit-Reset"}},
		{"draft-07", []string{"Ratelimit", "Ratelimit-Policy"}},
		{"draft-11", []string{"Ratelimit", "Ratelimit-Policy"}},
		{"draft-11,x-ratelimit", append([]string{"Ratelimit", "Ratelimit-Policy"}, x...)},
	} {
		t.Run(row.headers, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "--redis", "embedded", "--headers", row.headers, "--window", calm())
			for range 10 {
				r := s.get(t, search, "")
				if diff := cmp.Diff(row.want, fields(r)); diff != "" || r.status != 200 || r.header.Get("Retry-After") != "" {
					t.Errorf("admitted: %d %s", r.status, diff)
				}
			}
			r := s.get(t, search, "")
			if diff := cmp.Diff(row.want, fields(r)); diff != "" || r.status != 429 || r.header.Get("Retry-After") == "" {
				t.Errorf("denied: %d %s", r.status, diff)
			}
			reset, _ := strconv.ParseInt(r.header.Get("X-RateLimit-Reset"), 10, 64)
			if epoch := row.headers == "x-ratelimit-epoch"; epoch != (reset > time.Now().Unix()) {
				t.Errorf("reset is %d", reset)
			}
		})
	}
}

// fields are the names of the fields that tell limits.
func fields(r reply) []string {
	var names []string
	for name := range r.header {
		if strings.Contains(name, "Ratelimit") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Who waits as long as it is told is admitted.
func TestServeRetryAfterIsTrue(t *testing.T) {
	t.Parallel()
	specOf(t, "managed")
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "--redis", "managed", "-a", a.Name, "--edge", "off", "--window", "2s")
			for range 3 {
				denied := with(429, s.burst(t, 40, search, ""))
				for tries := 0; len(denied) == 0 && tries < 20; tries++ { // a machine that takes seconds for a burst
					denied = with(429, s.burst(t, 40, search, ""))
				}
				longest := 0
				for _, r := range denied {
					wait, err := strconv.Atoi(r.header.Get("Retry-After"))
					if err != nil || wait < 1 || wait > 4 {
						t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
					}
					longest = max(longest, wait)
				}
				time.Sleep(time.Duration(longest) * time.Second)
				if r := s.get(t, search, ""); longest == 0 || r.status != 200 {
					t.Errorf("after %d s: %d", longest, r.status)
				}
			}
		})
	}
}
