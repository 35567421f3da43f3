package httplimit_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

// parse reads a request as a server would, tricks and all.
func parse(method, target, host string) (*http.Request, error) {
	return http.ReadRequest(bufio.NewReader(strings.NewReader(
		method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\nWho: a\r\n\r\n")))
}

// charged are the policies that a request was charged to.
func charged(t testing.TB, c httplimit.Config, r *http.Request) []string {
	t.Helper()
	var seen events
	c.Observe = seen.observe
	newLimit(t, c).Wrap(ok).ServeHTTP(httptest.NewRecorder(), r)
	if len(seen.all) == 0 {
		return nil
	}
	return seen.last().Policies
}

func TestRoutes(t *testing.T) {
	rows := []struct {
		why, method, target string
		want                string
	}{
		{"as listed", "GET", "/api/v1/trending", "trending global"},
		{"a query is no path", "GET", "/api/v1/trending?/api/v1/search", "trending global"},
		{"another method of a route without one", "DELETE", "/api/v1/trending", "trending global"},
		{"HEAD costs what GET costs", "HEAD", "/api/v1/feed", "feed global"},
		{"everything else", "GET", "/", "global"},
		{"a longer name", "GET", "/api/v1/feeds", "global"},
		{"deeper", "GET", "/api/v1/feed/1", "global"},
		{"letter case tells paths apart", "GET", "/API/v1/feed", "global"},

		{"two slashes", "GET", "//api/v1/feed", "feed global"},
		{"slashes within", "GET", "/api///v1//feed", "feed global"},
		{"a final slash may be ignored", "GET", "/api/v1/feed/", "feed global"},
		{"final slashes", "GET", "/api/v1/feed///", "feed global"},
		{"dots", "GET", "/api/v1/./x/../feed", "feed global"},
		{"dots at the end", "GET", "/api/v1/feed/x/..", "feed global"},
		{"above the root", "GET", "/../../api/v1/feed", "feed global"},
		{"an encoded letter", "GET", "/api/v1/%66eed", "feed global"},
		{"encoded dots", "GET", "/api/v1/x/%2e%2e/feed", "feed global"},
		{"an encoded dot at the end", "GET", "/api/v1/feed/%2e", "feed global"},
		{"encoded slashes", "GET", "/api%2Fv1%2ffeed", "feed global"},
		{"an encoded final slash", "GET", "/api/v1/feed%2f", "feed global"},
		{"all of it", "GET", "//%61pi/v1/x%2f..//feed/%2e/", "feed global"},
		{"another host", "GET", "http://other.example/api/v1/feed", "feed global"},
		{"a method of no route", "POST", "/api/v1/feed", "feed global"},
		{"an invented method", "FOO", "/api/v1/feed", "feed global"},
		{"a method in lower case", "get", "/api/v1/feed", "feed global"},
		{"CONNECT with a path", "CONNECT", "/api/v1/feed/", "feed global"},
		{"CONNECT with tricks", "CONNECT", "//api/v1/x/../feed", "feed global"},
		{"CONNECT with tricks of a route without a method", "CONNECT", "//api/v1/x/../trending", "trending global"},
		{"CONNECT without a path", "CONNECT", "example.com:443", "global"},
		{"OPTIONS of everything", "OPTIONS", "*", "global"},
		{"method and path", "POST", "/api/v1/feed/%2e/", "feed global"},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			r, err := parse(row.method, row.target, "example.com")
			if err != nil {
				t.Fatal(err)
			}
			got := charged(t, service(newMemory(policies)), r)
			want := strings.Fields(row.want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s %s was charged to %q, want %q", row.method, row.target, got, want)
			}
		})
	}
}

// Routes that differ in method, host, wildcard or final slash.
func TestRoutesThatAreClose(t *testing.T) {
	to := func(policy string) []httplimit.Charge { return []httplimit.Charge{{Policy: policy}} }
	c := service(newMemory(policies))
	c.Default = httplimit.Route{Unlimited: true}
	c.Routes = []httplimit.Route{
		{Pattern: "GET /items/{id}", Charges: to("trending")},
		{Pattern: "/items/{name}", Charges: to("feed")},
		{Pattern: "POST /items/all", Charges: to("search")},
		{Pattern: "/tree/", Charges: to("feed")},
		{Pattern: "/both", Charges: to("feed")},
		{Pattern: "/both/", Charges: to("search")},
		{Pattern: "POST /login", Charges: to("search")},
		{Pattern: "GET /login", Unlimited: true},
		{Pattern: "POST /orders", Charges: to("search")},
		{Pattern: "/files/{rest...}", Charges: to("feed")},
		{Pattern: "GET /files/private", Charges: to("search")},
		{Pattern: "admin.example/", Charges: to("global")},
		{Pattern: "/healthy", Unlimited: true},
		{Pattern: "/exact", Charges: to("feed")},
		{Pattern: "/exact/{$}", Charges: to("search")},
		{Pattern: "GET /docs/", Charges: to("feed")},
		{Pattern: "/docs/{rest...}", Charges: to("search")},
	}
	rows := []struct {
		why, method, host, target string
		want                      string
	}{
		{"a wildcard", "GET", "x", "/items/7", "trending"},
		{"the other methods have a route", "POST", "x", "/items/7", "feed"},
		{"a literal is more specific", "POST", "x", "/items/all", "search"},
		{"a subtree's root without its slash", "GET", "x", "/tree", "feed"},
		{"a route ends in the slash", "GET", "x", "/both/", "search"},
		{"a route ends without it", "GET", "x", "/both", "feed"},
		{"each method has a route", "GET", "x", "/login", ""},
		{"the dear method", "POST", "x", "/login", "search"},
		{"a third method may be any of them", "PUT", "x", "/login", "search"},
		{"only POST has a route", "GET", "x", "/orders", "search"},
		{"a route without a method covers more paths", "POST", "x", "/files/private", "feed search"},
		{"and is not asked about the method it lacks", "GET", "x", "/files/private", "search"},
		{"a host", "GET", "admin.example", "/x", "global"},
		{"a host with a port", "GET", "admin.example:8080", "/x", "global"},
		{"a host in capitals", "GET", "Admin.Example", "/x", "global"},
		{"a host with its final dot", "GET", "admin.example.:80", "/x", "global"},
		{"a host is more specific than a path", "GET", "admin.example", "/tree/", "global"},
		{"unlimited", "GET", "x", "/healthy", ""},
		{"a route of the slash alone", "GET", "x", "/exact/", "search"},
		{"a subtree written in two ways", "POST", "x", "/docs/1", "search"},
		{"an unlimited path within a dear one", "POST", "x", "/healthy/..%2flogin", "search"},
		{"a dear path by an alias of an unlimited one", "POST", "x", "/healthy/%2e%2e/login", "search"},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			r, err := parse(row.method, row.target, row.host)
			if err != nil {
				t.Fatal(err)
			}
			got := charged(t, c, r)
			slices.Sort(got)
			if strings.Join(got, " ") != row.want {
				t.Errorf("%s %s%s was charged to %q, want %q", row.method, row.host, row.target, got, row.want)
			}
		})
	}
}

// Of several ways to read a request, the dearest counts for each policy.
func TestDearestReading(t *testing.T) {
	decider := newMemory(policies)
	c := service(decider)
	c.Routes = []httplimit.Route{
		{Pattern: "/a/", Charges: []httplimit.Charge{{Policy: "feed", Cost: 2}, {Policy: "global", Cost: 9}}},
		{Pattern: "/b", Charges: []httplimit.Charge{{Policy: "feed", Cost: 5}, {Policy: "global"}, {Policy: "search", CostOf: func(*http.Request) int64 { return 3 }}}},
	}
	r, err := parse("GET", "/a/%2e%2e/b", "x")
	if err != nil {
		t.Fatal(err)
	}
	charged(t, c, r)
	got := decider.asked[0].Charges
	want := []limiter.Charge{
		{Policy: "feed", Key: "a", Cost: 5},
		{Policy: "global", Key: "a", Cost: 9},
		{Policy: "search", Key: "a", Cost: 3},
	}
	if !slices.Equal(got, want) {
		t.Errorf("charged %+v, want %+v", got, want)
	}
}

// FuzzNoEscape looks for a request that a handler takes for one of the feed
// although it is not charged for it. There are two such handlers: a ServeMux,
// and one that cleans the decoded path, ignores a final slash and any method.
// Stronger would be to add letter case and a second decoding; that is not true.
func FuzzNoEscape(f *testing.F) {
	for _, target := range []string{
		"/api/v1/feed", "//api/v1/feed/", "/api/v1/%66eed", "/x/%2e%2e/api/v1/feed%2f", "/api/v1/feed/.", "/api%2fv1%2f/feed",
		"http://h/api/v1/feed", "/api/v1/feed%2f%2e%2e%2ffeed", "/api/v1/search/../feed", "*", "/api/v1/fe%65d/?x=1#y",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "CONNECT", "X"} {
			f.Add(method, target)
		}
	}
	seen := &events{}
	c := service(deciding(func(_ context.Context, j limiter.Joint) ([]limiter.Decision, error) {
		return make([]limiter.Decision, len(j.Charges)), nil
	}))
	c.Observe = seen.observe
	limited := newLimit(f, c).Wrap(ok)
	mux := http.NewServeMux()
	mux.Handle("GET /api/v1/feed", ok)
	f.Fuzz(func(t *testing.T, method, target string) {
		r, err := parse(method, target, "h")
		if err != nil || r.Header.Get("Who") == "" {
			return
		}
		_, pattern := mux.Handler(r)
		if pattern == "" && path.Clean("/"+r.URL.Path) != "/api/v1/feed" {
			return
		}
		seen.all = nil
		limited.ServeHTTP(httptest.NewRecorder(), r)
		if !slices.Contains(seen.last().Policies, "feed") {
			t.Errorf("%q %q escaped: charged to %q", method, target, seen.last().Policies)
		}
	})
}
