package httplimit_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

func TestArticleLimits(t *testing.T) {
	for path, limit := range map[string]int{"/api/v1/trending": 100, "/api/v1/feed": 30, "/api/v1/search": 10, "/else": 120} {
		h := newLimit(t, service(newMemory(policies))).Wrap(ok)
		for i := range limit + 5 {
			want := http.StatusNoContent
			if i >= limit {
				want = http.StatusTooManyRequests
			}
			if w := send(h, "a", "GET", path); w.Code != want {
				t.Fatalf("%s: request %d got %d, want %d", path, i+1, w.Code, want)
			}
		}
		if w := send(h, "b", "GET", path); w.Code != http.StatusNoContent {
			t.Errorf("%s: another client got %d", path, w.Code)
		}
	}
}

// Nothing is charged to anybody when one policy denies (B117 to B119): a client
// whose search budget is empty still has what is left of the global one.
func TestDenialChargesNothing(t *testing.T) {
	h := newLimit(t, service(newMemory(policies))).Wrap(ok)
	for range 50 {
		send(h, "a", "GET", "/api/v1/search") // 10 admitted
	}
	w := send(h, "a", "GET", "/")
	if got := w.Header().Get("X-RateLimit-Remaining"); got != "109" {
		t.Errorf("%s of 120 left after 10 searches and this request, want 109", got)
	}
}

// Policy and key are passed on apart: what they spell together does not matter
// (B121, B122).
func TestScopesAreIndependent(t *testing.T) {
	one := limiter.Limit{Max: 1, Window: policies[0].Limit.Window}
	decider := newMemory([]limiter.Policy{
		{Name: "a", Algorithm: limiter.Log, Limit: one}, {Name: "ab", Algorithm: limiter.Log, Limit: one},
	})
	c := service(decider)
	c.Policies = decider.policies
	c.Routes = []httplimit.Route{
		{Pattern: "/a", Charges: []httplimit.Charge{{Policy: "a"}}}, {Pattern: "/ab", Charges: []httplimit.Charge{{Policy: "ab"}}},
	}
	c.Default = httplimit.Route{Unlimited: true}
	h := newLimit(t, c).Wrap(ok)
	for _, row := range [][2]string{{"/a", "bc"}, {"/ab", "c"}, {"/a", "c"}, {"/ab", "bc"}} {
		if w := send(h, row[1], "GET", row[0]); w.Code != http.StatusNoContent {
			t.Errorf("the first request of %s to %s got %d", row[1], row[0], w.Code)
		}
	}
}

// All that Identify says reaches the decider, with the policy that it was asked for.
func TestIdentify(t *testing.T) {
	decider := newMemory(policies)
	c := service(decider)
	c.Identify = func(_ *http.Request, policy string) (httplimit.Name, error) {
		return httplimit.Name{Key: "today-" + policy, Also: "yesterday-" + policy, Slot: "7"}, nil
	}
	send(newLimit(t, c).Wrap(ok), "", "GET", "/api/v1/feed")
	want := []limiter.Joint{{Slot: "7", Charges: []limiter.Charge{
		{Policy: "feed", Key: "today-feed", Also: "yesterday-feed", Cost: 1},
		{Policy: "global", Key: "today-global", Also: "yesterday-global", Cost: 1},
	}}}
	if diff := cmp.Diff(want, decider.asked); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutName(t *testing.T) {
	nameless := func(*http.Request, string) (httplimit.Name, error) { return httplimit.Name{}, nil }
	rows := []struct {
		why      string
		identify func(*http.Request, string) (httplimit.Name, error)
		on       httplimit.Unidentified
		want     []int // one request after another, each from "another" client
	}{
		{"an error", byHeader, httplimit.Unidentified{Status: 400}, []int{400, 400}},
		{"an empty key is no name", nameless, httplimit.Unidentified{Status: 403}, []int{403, 403}},
		{"one budget for all of them, only because it was asked for", nameless, httplimit.Unidentified{Policy: "nobody"}, []int{204, 204, 429}},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			decider := newMemory(policies)
			c := service(decider)
			c.Identify, c.OnUnidentified = row.identify, row.on
			m := newLimit(t, c)
			for i, want := range row.want {
				w := send(m.Wrap(ok), "", "GET", "/api/v1/feed")
				if w.Code != want {
					t.Errorf("request %d got %d, want %d", i+1, w.Code, want)
				}
			}
			for _, j := range decider.asked {
				if len(j.Charges) != 1 || j.Charges[0].Policy != row.on.Policy {
					t.Errorf("charged %+v", j.Charges)
				}
			}
			if row.on.Status != 0 && m.Counters().Requests(httplimit.OutcomeUnidentified) != 2 {
				t.Error("not counted")
			}
		})
	}
}

// Clients without a name pay the highest price of the route.
func TestCostWithoutName(t *testing.T) {
	decider := newMemory(policies)
	c := service(decider)
	c.OnUnidentified = httplimit.Unidentified{Policy: "nobody"}
	c.Default.Charges = []httplimit.Charge{{Policy: "feed"}, {Policy: "global", Cost: 2}, {Policy: "search"}}
	send(newLimit(t, c).Wrap(ok), "", "GET", "/")
	if got := decider.asked[0].Charges; len(got) != 1 || got[0].Policy != "nobody" || got[0].Cost != 2 {
		t.Errorf("charged %+v", got)
	}
}

func TestCosts(t *testing.T) {
	rows := []struct {
		why, target string
		want        []int
	}{
		{"a constant", "/four", []int{204, 204, 429}},
		{"computed", "/computed?n=9", []int{204, 429}},
		{"nothing", "/computed?n=0", slices.Repeat([]int{204}, 20)},
		{"more than is ever available", "/computed?n=11", []int{429}},
		{"negative", "/computed?n=-1", []int{400}},
		{"beyond what can be counted", "/computed?n=9000000000", []int{400}},
	}
	for _, row := range rows {
		decider := newMemory(policies)
		c := service(decider)
		c.OnError = httplimit.ErrorPasses // an impossible cost must not pass for an error
		c.Routes = []httplimit.Route{
			{Pattern: "/four", Charges: []httplimit.Charge{{Policy: "search", Cost: 4}}},
			{Pattern: "/computed", Charges: []httplimit.Charge{{Policy: "search", CostOf: func(r *http.Request) int64 {
				n, _ := strconv.ParseInt(r.FormValue("n"), 10, 64)
				return n
			}}}},
		}
		h := newLimit(t, c).Wrap(ok)
		for i, want := range row.want {
			if w := send(h, "a", "GET", row.target); w.Code != want {
				t.Errorf("%s: request %d got %d, want %d", row.why, i+1, w.Code, want)
			}
		}
		if row.want[0] == 400 && len(decider.asked) > 0 || strings.HasSuffix(row.target, "n=0") && len(decider.asked) > 0 {
			t.Errorf("%s: the decider was asked", row.why)
		}
	}
}

func TestSkip(t *testing.T) {
	decider := newMemory(policies)
	c := service(decider)
	c.Skip = func(r *http.Request) bool { return r.Method == http.MethodOptions }
	h := newLimit(t, c).Wrap(ok)
	if w := send(h, "", "OPTIONS", "/api/v1/feed"); w.Code != http.StatusNoContent || len(decider.asked) > 0 {
		t.Errorf("a skipped request got %d and %d decisions", w.Code, len(decider.asked))
	}
	if send(h, "a", "GET", "/api/v1/feed"); len(decider.asked) != 1 {
		t.Error("another one was skipped too")
	}
}

// The handler gets the server's own ResponseWriter, with the fields in it, and
// can flush, hijack and overwrite.
func TestResponseWriterIsUntouched(t *testing.T) {
	var outer http.ResponseWriter
	var flushed, hijacked atomic.Bool
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w != outer {
			t.Errorf("the handler got a %T", w)
		}
		switch r.URL.Path {
		case "/flush":
			w.WriteHeader(http.StatusAccepted)
			w.(http.Flusher).Flush()
			flushed.Store(true)
		case "/hijack":
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			hijacked.Store(true)
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nLimit: "+w.Header().Get("X-RateLimit-Limit")+"\r\n\r\n")
		}
	})
	limited := newLimit(t, service(newMemory(policies))).Wrap(inner)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outer = w
		limited.ServeHTTP(w, r)
	}))
	defer server.Close()
	for path, want := range map[string]string{"/flush": "X-RateLimit-Limit", "/hijack": "Limit"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Who", "a")
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := response.Header.Get(want); got != "120" {
			t.Errorf("%s: %s is %q", path, want, got)
		}
	}
	server.Close() // it waits for who has flushed; who has hijacked said so before it answered
	if !flushed.Load() || !hijacked.Load() {
		t.Error("a handler could not finish")
	}
}

// A panic of the handler is the server's business; the request stays charged and
// counted, once.
func TestPanickingHandler(t *testing.T) {
	m := newLimit(t, service(newMemory(policies)))
	h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") }))
	for range 3 {
		func() {
			defer func() {
				if recover() != "oops" {
					t.Error("the panic was swallowed")
				}
			}()
			send(h, "a", "GET", "/")
		}()
	}
	if got := m.Counters().Policies()[3]; got.Admitted != 3 {
		t.Errorf("counted %+v", got)
	}
	if w := send(m.Wrap(ok), "a", "GET", "/"); w.Header().Get("X-RateLimit-Remaining") != "116" {
		t.Errorf("left %s, want 116", w.Header().Get("X-RateLimit-Remaining"))
	}
}

func TestConcurrency(t *testing.T) {
	const clients, each = 8, 60
	m := newLimit(t, service(newMemory(policies)))
	h := m.Wrap(ok)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for range each {
				send(h, "client "+strconv.Itoa(i/2), "GET", "/api/v1/feed") // two share a name
			}
		})
	}
	wg.Wait()
	feed, global := m.Counters().Policies()[1], m.Counters().Policies()[3]
	if feed.Admitted != 30*clients/2 || feed.Admitted+feed.Denied != clients*each {
		t.Errorf("feed: %+v", feed)
	}
	if global.Admitted != feed.Admitted || global.Uncharged != feed.Denied {
		t.Errorf("global: %+v, feed %+v", global, feed)
	}
}
