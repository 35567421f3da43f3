package httplimit_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
)

func TestNewRefuses(t *testing.T) {
	type config = httplimit.Config
	cost := func(*http.Request) int64 { return 1 }
	route := func(r httplimit.Route) func(*config) {
		return func(c *config) { c.Routes = append(c.Routes, r) }
	}
	feed := []httplimit.Charge{{Policy: "feed"}}
	rows := []struct {
		why  string
		with func(*config)
		want string
	}{
		{"nobody decides", func(c *config) { c.Decider = nil }, "no decider"},
		{"nothing to charge", func(c *config) { c.Policies, c.Routes = nil, nil }, "no policies"},
		{"one name, two budgets", func(c *config) { c.Policies = append(c.Policies[:5:5], c.Policies[0]) }, `policy "trending" is listed twice`},
		{"a limit without a window", func(c *config) { c.Policies = append(c.Policies[:5:5], limiter.Policy{Name: "x"}) }, "window 0s"},
		{"a name that no field can hold", func(c *config) {
			c.Policies = append(c.Policies[:5:5], limiter.Policy{Name: "naïve", Limit: policies[0].Limit})
		}, `policy "naïve"`},
		{"everything else is forgotten", func(c *config) { c.Default = httplimit.Route{} }, `route "default": want either charges or Unlimited`},
		{"the default with a pattern", func(c *config) { c.Default.Pattern = "/" }, "default route: pattern"},
		{"charged and unlimited", route(httplimit.Route{Pattern: "/x", Charges: feed, Unlimited: true}), `route "/x": want either`},
		{"a policy that is not there", route(httplimit.Route{Pattern: "/x", Charges: []httplimit.Charge{{Policy: "fed"}}}), `no policy is named "fed"`},
		{"one policy twice", route(httplimit.Route{Pattern: "/x", Charges: append(feed, feed...)}), `policy "feed" is charged twice`},
		{"two costs", route(httplimit.Route{Pattern: "/x", Charges: []httplimit.Charge{{Policy: "feed", Cost: 1, CostOf: cost}}}), "exclude each other"},
		{"a negative cost", route(httplimit.Route{Pattern: "/x", Charges: []httplimit.Charge{{Policy: "feed", Cost: -1}}}), "cost -1"},
		{"no pattern", route(httplimit.Route{Charges: feed}), "invalid pattern"},
		{"a pattern that ServeMux refuses", route(httplimit.Route{Pattern: "/{", Charges: feed}), "bad wildcard segment"},
		{"the same pattern twice", route(httplimit.Route{Pattern: "/api/v1/search", Charges: feed}), `conflicts with pattern "/api/v1/search"`},
		{"neither is more specific", route(httplimit.Route{Pattern: "GET /", Charges: feed}), "conflicts with pattern"},
		{"a method without paths", route(httplimit.Route{Pattern: "CONNECT /x", Charges: feed}), "CONNECT"},
		{"nobody identifies", func(c *config) { c.Identify = nil }, "no Identify"},
		{"no word on clients without a name", func(c *config) { c.OnUnidentified = httplimit.Unidentified{} }, "set OnUnidentified"},
		{"two words on them", func(c *config) { c.OnUnidentified.Policy = "nobody" }, "exclude each other"},
		{"a success for them", func(c *config) { c.OnUnidentified.Status = 200 }, "want 400, 401 or 403"},
		{"they share a budget with others", func(c *config) { c.OnUnidentified = httplimit.Unidentified{Policy: "global"} }, `also charged by route "default"`},
		{"they share none that exists", func(c *config) { c.OnUnidentified = httplimit.Unidentified{Policy: "x"} }, `no policy is named "x"`},
		{"no word on errors", func(c *config) { c.OnError = "" }, "error policy is not chosen"},
		{"a typing error", func(c *config) { c.OnError = "fail" }, `error policy "fail"`},
		{"no such dialect", func(c *config) { c.Dialects = []httplimit.Dialect{"draft-99"} }, `dialect "draft-99"`},
		{"one field, two meanings", func(c *config) { c.Dialects = []httplimit.Dialect{"x-ratelimit", "x-ratelimit-epoch"} }, "same field"},
		{"one field, two forms", func(c *config) { c.Dialects = []httplimit.Dialect{"draft-07", "draft-11"} }, "same field"},
		{"two forms of RateLimit-Policy", func(c *config) { c.Dialects = []httplimit.Dialect{"draft-06", "draft-11"} }, "same field"},
		{"a fraction that no field can hold", func(c *config) { c.Jitter = 1500 * time.Millisecond }, "jitter 1.5s"},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			c := service(newMemory(policies))
			row.with(&c)
			_, err := httplimit.New(c)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got %v, want an error with %q", err, row.want)
			}
			if strings.Contains(err.Error(), "registered at") {
				t.Errorf("the error names lines of this package: %v", err)
			}
		})
	}
}

// All mistakes are told at once.
func TestNewTellsEverything(t *testing.T) {
	_, err := httplimit.New(httplimit.Config{Routes: []httplimit.Route{{Pattern: "/{"}}, Dialects: []httplimit.Dialect{"?"}})
	for _, want := range []string{"no decider", "no Identify", "no policies", "OnError", "OnUnidentified", `"default"`, `"/{"`, `dialect "?"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nis silent about %q", err, want)
		}
	}
}

// Dialects that write different fields, or the same one alike, go together.
func TestDialectsThatGoTogether(t *testing.T) {
	for _, together := range [][]httplimit.Dialect{
		{httplimit.XRateLimit, httplimit.Draft06, httplimit.Draft07},
		{httplimit.XRateLimitEpoch, httplimit.Draft11},
	} {
		c := service(newMemory(policies))
		c.Dialects = together
		newLimit(t, c)
	}
}
