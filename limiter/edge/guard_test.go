package edge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
)

// clock is a time that a test sets.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func guardConfig(c *clock) edge.GuardConfig {
	return edge.GuardConfig{
		Limit: limiter.Limit{Max: 2, Window: time.Minute}, Kind: edge.FixedWindow,
		Key: edge.PeerAddress, Nameless: edge.NamelessRefuse, Prefixes: []string{"/api/"}, Now: c.Now,
	}
}

// guarded is a guard before a handler that answers 204.
func guarded(t fataler, c edge.GuardConfig) (*edge.Guard, func(path, peer string) *http.Response) {
	t.Helper()
	g, err := edge.NewGuard(c)
	if err != nil {
		t.Fatal(err)
	}
	h := g.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	return g, func(path, peer string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, "http://origin/", nil)
		r.URL.Path, r.RemoteAddr = path, peer
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
}

const peer = "192.0.2.7:4242"

func TestNewGuardRefuses(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*edge.GuardConfig)
		fault  string
	}{
		{"another period", func(c *edge.GuardConfig) { c.Limit.Window = time.Second }, "periods of 10s and 1m only"},
		{"no kind", func(c *edge.GuardConfig) { c.Kind = "" }, "kind of window is not chosen"},
		{"no key", func(c *edge.GuardConfig) { c.Key = nil }, "no key"},
		{"nothing chosen for the nameless", func(c *edge.GuardConfig) { c.Nameless = "" }, "what to do without a name is not chosen"},
		{"a shared bucket for the nameless", func(c *edge.GuardConfig) { c.Nameless = "share" }, `without a name "share"`},
		{"no clock", func(c *edge.GuardConfig) { c.Now = nil }, "no clock"},
		{"no prefix", func(c *edge.GuardConfig) { c.Prefixes = nil }, "no path prefix"},
		{"a relative prefix", func(c *edge.GuardConfig) { c.Prefixes = []string{"/", "api"} }, `path prefix "api"`},
		{"an empty prefix", func(c *edge.GuardConfig) { c.Prefixes = []string{""} }, `path prefix ""`},
		{"less than no keys", func(c *edge.GuardConfig) { c.MaxKeys = -1 }, "at most -1 keys"},
	} {
		c := guardConfig(&clock{})
		row.change(&c)
		_, err := edge.NewGuard(c)
		if err == nil || !strings.Contains(err.Error(), row.fault) {
			t.Errorf("%s: got %v, want an error with %q", row.why, err, row.fault)
		}
	}
	_, err := edge.NewGuard(edge.GuardConfig{})
	if err == nil || strings.Count(err.Error(), "\n") < 6 {
		t.Errorf("all mistakes at once: got %v", err)
	}
}

func TestGuardCovers(t *testing.T) {
	for _, row := range []struct {
		prefix, path string
		want         bool
	}{
		{"/api/", "/api/v1/trending", true},
		{"/api/", "/api", true},
		{"/api", "/api/", true},
		{"/api", "/apis", false},
		{"/api", "/", false},
		{"/api", "/health", false},
		{"/api", "//api/v1", true},
		{"/api", "/./api/v1", true},
		{"/api", "/static/../api/v1", true},
		{"/api", "/api/../static", false},
		{"/api", "", false},
		{"/api", "api", true},
		{"/", "/anything", true},
		{"/", "", true},
		{"/api/v1/", "/api/v2/feed", false},
	} {
		c := guardConfig(&clock{now: t0})
		c.Prefixes = []string{"/elsewhere", row.prefix}
		g, get := guarded(t, c)
		get(row.path, peer)
		if got := g.Counts().Asked() == 1; got != row.want {
			t.Errorf("prefix %q, path %q: limited %t", row.prefix, row.path, got)
		}
	}
}

// TestGuardAnswers: the whole refusal, and that it has no address.
func TestGuardAnswers(t *testing.T) {
	c := &clock{now: t0.Add(17*time.Second + 1*tick)}
	g, get := guarded(t, guardConfig(c))
	for range 2 {
		if got := get("/api/x", peer).StatusCode; got != http.StatusNoContent {
			t.Fatalf("status %d within the limit", got)
		}
	}
	res := get("/api/x", peer)
	body := read(t, res)
	for header, want := range map[string]string{
		"Retry-After": "43", "Content-Type": "application/problem+json", "Cache-Control": "no-store",
	} {
		if got := res.Header.Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	if res.StatusCode != http.StatusTooManyRequests || body["status"] != 429.0 || body["scope"] != "edge" || body["title"] != "Too Many Requests" {
		t.Errorf("status %d, %v", res.StatusCode, body)
	}
	if all := fmt.Sprint(res.Header, body); strings.Contains(all, "192.0.2") {
		t.Errorf("the answer has the address: %s", all)
	}
	if got := get("/api/x", "192.0.2.8:1").StatusCode; got != http.StatusNoContent {
		t.Errorf("another client: status %d", got)
	}
	if got := get("/other", peer).StatusCode; got != http.StatusNoContent {
		t.Errorf("another path: status %d", got)
	}
	if got, want := g.Counts(), (edge.Counts{Admitted: 3, Denied: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func read(t *testing.T, res *http.Response) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body
}

// TestRetryAfterIsTrue: who waits as long is admitted, and a second less would
// have been denied again.
func TestRetryAfterIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &clock{now: t0}
		gc := guardConfig(c)
		gc.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
		gc.Limit = limiter.Limit{
			Max:    rapid.Int64Range(1, 5).Draw(t, "max"),
			Window: rapid.SampledFrom([]time.Duration{10 * time.Second, time.Minute}).Draw(t, "window"),
		}
		_, get := guarded(t, gc)
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			c.now = c.now.Add(time.Duration(rapid.Int64Range(0, 20_000_000).Draw(t, "gap")) * tick)
			res := get("/api/x", peer)
			if res.StatusCode != http.StatusTooManyRequests {
				continue
			}
			wait, err := strconv.Atoi(res.Header.Get("Retry-After"))
			if err != nil || wait < 1 {
				t.Fatalf("Retry-After %q", res.Header.Get("Retry-After"))
			}
			c.now = c.now.Add(time.Duration(wait-1) * time.Second)
			if got := get("/api/x", peer).StatusCode; got != http.StatusTooManyRequests {
				t.Fatalf("a second less than %d would do", wait)
			}
			c.now = c.now.Add(time.Second)
			if got := get("/api/x", peer).StatusCode; got != http.StatusNoContent {
				t.Fatalf("denied again after %d s", wait)
			}
		}
	})
}

func TestNameless(t *testing.T) {
	failing := func(*http.Request) (string, error) { return "half a name", errors.New("secret 192.0.2.7") }
	empty := func(*http.Request) (string, error) { return "", nil }
	for _, row := range []struct {
		why    string
		key    func(*http.Request) (string, error)
		choice edge.Nameless
		status int
		want   edge.Counts
	}{
		{"an error is refused", failing, edge.NamelessRefuse, http.StatusForbidden, edge.Counts{Denied: 5}},
		{"or passes, and shares no budget of 2", failing, edge.NamelessPass, http.StatusNoContent, edge.Counts{Admitted: 5}},
		{"an empty name is none", empty, edge.NamelessRefuse, http.StatusForbidden, edge.Counts{Denied: 5}},
		{"and has no bucket", empty, edge.NamelessPass, http.StatusNoContent, edge.Counts{Admitted: 5}},
	} {
		c := guardConfig(&clock{now: t0})
		c.Key, c.Nameless = row.key, row.choice
		g, get := guarded(t, c)
		for range 5 {
			res := get("/api/x", peer)
			if res.StatusCode != row.status {
				t.Errorf("%s: status %d, want %d", row.why, res.StatusCode, row.status)
			}
			if row.status == http.StatusForbidden {
				if body := read(t, res); body["scope"] != "edge" || strings.Contains(fmt.Sprint(body), "secret") {
					t.Errorf("%s: answer %v", row.why, body)
				}
			}
		}
		if g.Nameless() != row.want || g.Counts().Asked() != 0 {
			t.Errorf("%s: counted %+v and %+v", row.why, g.Nameless(), g.Counts())
		}
	}
}

// TestGuardHasRoomForSome: names beyond MaxKeys pass.
func TestGuardHasRoomForSome(t *testing.T) {
	c := guardConfig(&clock{now: t0})
	c.MaxKeys = 1
	g, get := guarded(t, c)
	for i := range 10 {
		if got := get("/api/x", fmt.Sprintf("192.0.2.%d:1", i/5)).StatusCode; (got == http.StatusNoContent) != (i < 2 || i >= 5) {
			t.Errorf("request %d: status %d", i, got)
		}
	}
	if g.Uncounted() != 5 {
		t.Errorf("%d uncounted, want 5", g.Uncounted())
	}
}

func TestPeerAddress(t *testing.T) {
	for _, row := range []struct{ why, peer, want string }{
		{"IPv4", "192.0.2.7:4242", "192.0.2.7/32"},
		{"IPv4 in IPv6 is the same client", "[::ffff:192.0.2.7]:80", "192.0.2.7/32"},
		{"one subscriber has a /64", "[2001:db8:1:2:3:4:5:6]:80", "2001:db8:1:2::/64"},
		{"a zone is of this machine", "[fe80::1%eth0]:80", "fe80::/64"},
		{"a unix socket", "@", ""},
		{"nothing", "", ""},
		{"no port", "192.0.2.7", ""},
		{"a name", "localhost:80", ""},
	} {
		r := &http.Request{RemoteAddr: row.peer}
		got, err := edge.PeerAddress(r)
		if got != row.want || (err != nil) != (row.want == "") {
			t.Errorf("%s: %q, %v, want %q", row.why, got, err, row.want)
		}
		if err != nil && (!errors.Is(err, edge.ErrNoAddress) || row.peer != "" && strings.Contains(err.Error(), row.peer)) {
			t.Errorf("%s: error %v", row.why, err)
		}
	}
}

// ExampleGuard: 600 requests a minute for each address, for the API only.
func ExampleGuard() {
	g, err := edge.NewGuard(edge.GuardConfig{
		Limit:    limiter.Limit{Max: 600, Window: time.Minute},
		Kind:     edge.FixedWindow,
		Key:      edge.PeerAddress,
		Nameless: edge.NamelessRefuse,
		Prefixes: []string{"/api/"},
		Now:      time.Now,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	http.ListenAndServe(":8080", g.Middleware(mux))
}
