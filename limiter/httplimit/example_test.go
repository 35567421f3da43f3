package httplimit_test

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

// A service with three limited endpoints, a budget above them, one endpoint that
// costs nothing, and metrics.
func Example() {
	policies := []limiter.Policy{
		{Name: "trending", Algorithm: limiter.Counter, Limit: limiter.Limit{Max: 100, Window: time.Minute}},
		{Name: "feed", Algorithm: limiter.Counter, Limit: limiter.Limit{Max: 30, Window: time.Minute}},
		{Name: "search", Algorithm: limiter.Counter, Limit: limiter.Limit{Max: 10, Window: time.Minute}},
		{Name: "global", Algorithm: limiter.GCRA, Limit: limiter.Limit{Max: 120, Window: time.Minute}},
	}
	limit, err := httplimit.New(httplimit.Config{
		Decider:  newMemory(policies), // in a service a limiter.Set of these policies
		Policies: policies,
		Routes: []httplimit.Route{
			{Pattern: "/api/v1/trending", Charges: []httplimit.Charge{{Policy: "trending"}, {Policy: "global"}}},
			{Pattern: "/api/v1/feed", Charges: []httplimit.Charge{{Policy: "feed"}, {Policy: "global"}}},
			{Pattern: "/api/v1/search", Charges: []httplimit.Charge{{Policy: "search"}, {Policy: "global", Cost: 5}}},
			{Pattern: "GET /healthz", Unlimited: true},
		},
		Default: httplimit.Route{Charges: []httplimit.Charge{{Policy: "global"}}},
		Identify: func(r *http.Request, _ string) (httplimit.Name, error) {
			if user, _, ok := r.BasicAuth(); ok {
				return httplimit.Name{Key: "pseudonym of " + user}, nil
			}
			return httplimit.Name{}, errors.New("no user")
		},
		OnUnidentified: httplimit.Unidentified{Status: http.StatusUnauthorized},
		OnError:        httplimit.ErrorRefuses,
		Dialects:       []httplimit.Dialect{httplimit.XRateLimit, httplimit.Draft11},
		Observe:        httplimit.Log(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		log.Fatal(err)
	}
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "results") })
	mux := http.NewServeMux()
	mux.Handle("/", limit.Wrap(api))
	mux.Handle("GET /metrics", httplimit.Metrics(limit.Counters().WriteOpenMetrics))
	server := httptest.NewServer(mux)
	defer server.Close()

	for i := range 11 {
		r, _ := http.NewRequest("GET", server.URL+"/api/v1/search", nil)
		r.SetBasicAuth("jane", "")
		response, err := server.Client().Do(r)
		if err != nil {
			log.Fatal(err)
		}
		_ = response.Body.Close()
		if i == 0 || i == 10 {
			fmt.Println(response.Status)
			fmt.Printf("  RateLimit: %s\n  Retry-After: %q\n", response.Header.Get("RateLimit"), response.Header.Get("Retry-After"))
		}
	}
	// Output:
	// 200 OK
	//   RateLimit: "search";r=9;t=61, "global";r=115;t=3
	//   Retry-After: ""
	// 429 Too Many Requests
	//   RateLimit: "search";r=0;t=61, "global";r=70
	//   Retry-After: "61"
}
