package httplimit_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/limiter/httplimit"
	"github.com/rlbench/rlbench/limiter/identity"
)

// limited is a handler behind budgets in Redis: 100 requests a window for trending,
// 30 for feed and 10 for search, and 120 for all of them together. Clients are known
// by pseudonyms of their addresses, which a proxy in 10.0.0.0/8 tells.
func limited(client limiter.Processor, keyFile string, window time.Duration, api http.Handler) (http.Handler, error) {
	policies := []limiter.Policy{
		{Name: "trending", Algorithm: limiter.Counter, Limit: limiter.Limit{Max: 100, Window: window}},
		{Name: "feed", Algorithm: limiter.Counter, Limit: limiter.Limit{Max: 30, Window: window}},
		{Name: "search", Algorithm: limiter.Log, Limit: limiter.Limit{Max: 10, Window: window}}, // few and costly: exact
		{Name: "global", Algorithm: limiter.Counter, Limit: limiter.Limit{Max: 120, Window: window}},
	}
	set, err := limiter.NewSet(client, limiter.SetConfig{Policies: policies, OnFailure: limiter.FailLocal, Timeout: 100 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	names, err := identity.Open(keyFile, identity.Config{Overlap: 2 * window}) // a counter remembers two windows
	if err != nil {
		return nil, err
	}
	proxies := identity.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32")}}
	limit, err := httplimit.New(httplimit.Config{
		Decider: set, Policies: policies,
		Routes: []httplimit.Route{
			{Pattern: "GET /api/v1/trending", Charges: []httplimit.Charge{{Policy: "trending"}, {Policy: "global"}}},
			{Pattern: "GET /api/v1/feed", Charges: []httplimit.Charge{{Policy: "feed"}, {Policy: "global"}}},
			{Pattern: "GET /api/v1/search", Charges: []httplimit.Charge{{Policy: "search"}, {Policy: "global"}}},
		},
		Default: httplimit.Route{Unlimited: true},
		Identify: func(r *http.Request, policy string) (httplimit.Name, error) {
			addr, err := proxies.Client(r)
			if err != nil {
				return httplimit.Name{}, err
			}
			who, _, err := identity.Tiers{}.Clients(addr)
			if err != nil {
				return httplimit.Name{}, err
			}
			name, err := names.Name(policy, who, time.Now())
			return httplimit.Name(name), err
		},
		OnUnidentified: httplimit.Unidentified{Status: http.StatusForbidden},
		OnError:        httplimit.ErrorRefuses,
		Dialects:       []httplimit.Dialect{httplimit.XRateLimit},
		Observe:        httplimit.Log(slog.New(slog.DiscardHandler)), // of a service slog.Default()
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", limit.Wrap(api))
	mux.Handle("GET /metrics", httplimit.Metrics(limit.Counters().WriteOpenMetrics, set.Counters().WriteOpenMetrics))
	return mux, nil
}

// A service with three limited endpoints and a budget above them, and a client that
// waits as long as it is told.
func Example() {
	ctx := context.Background()
	redis, err := backend.Open(ctx, "embedded", backend.Options{}) // of a service "redis://localhost:6379"
	if err != nil {
		log.Fatal(err)
	}
	defer redis.Close()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	keyFile, window := filepath.Join(dir, "identity.key"), 5*time.Second                               // of a service time.Minute
	if err := identity.Create(keyFile, identity.Config{Overlap: 2 * window}, time.Now()); err != nil { // once, by the operator
		log.Fatal(err)
	}
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "results") })
	handler, err := limited(redis.Client(), keyFile, window, api)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	search := func() *http.Response {
		request, _ := http.NewRequest(http.MethodGet, server.URL+"/api/v1/search", nil)
		request.Header.Set("X-Forwarded-For", "203.0.113.7")
		response, err := server.Client().Do(request)
		if err != nil {
			log.Fatal(err)
		}
		_ = response.Body.Close()
		return response
	}
	for response := search(); ; response = search() {
		left, _ := strconv.Atoi(response.Header.Get("X-RateLimit-Remaining"))
		if response.StatusCode == http.StatusOK && left%3 != 0 {
			continue
		}
		fmt.Println(response.Status, "with", left, "remaining")
		if response.StatusCode == http.StatusTooManyRequests {
			wait, _ := strconv.Atoi(response.Header.Get("Retry-After"))
			time.Sleep(time.Duration(wait) * time.Second)
			fmt.Println(search().Status, "after waiting as long as told")
			return
		}
	}
	// Output:
	// 200 OK with 9 remaining
	// 200 OK with 6 remaining
	// 200 OK with 3 remaining
	// 200 OK with 0 remaining
	// 429 Too Many Requests with 0 remaining
	// 200 OK after waiting as long as told
}
