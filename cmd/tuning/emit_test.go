package tuning

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/httplimit"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
)

// chosen is a tuning of which only the recommendation matters.
func chosen(p report.Policy, routes ...string) *report.Tuning {
	t := &report.Tuning{Recommended: &report.Choice{Policy: p, Why: "it is\nexact", Price: "little"}, Command: []string{"rlbench", "tune"}}
	for _, r := range routes {
		t.Routes = append(t.Routes, report.Route{Route: r})
	}
	return t
}

func emitted(t *testing.T, d *report.Tuning) map[string]string {
	t.Helper()
	files, err := Emit(d, []Event{{At: 1, Holder: 3, Route: "GET /a", Status: 200}, {At: 2, Holder: 4, Route: "(no request)"}})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]string{}
	for _, f := range files {
		byName[f.Name] = f.Text
	}
	return byName
}

// stub decides nothing.
type stub struct{ httplimit.Decider }

func nobody(*http.Request, string) (httplimit.Name, error) { return httplimit.Name{}, context.Canceled }

// configured reads policies as docs/tune.md does.
func configured(text string) (httplimit.Config, error) {
	var file struct {
		Key      string
		Policies []struct{ Name, Algorithm, Limit string }
		Routes   []struct {
			Pattern string
			Charges []string
		}
	}
	var config httplimit.Config
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return config, err
	}
	if !slices.Contains(simulator.Keys, simulator.Key(file.Key)) {
		return config, fmt.Errorf("key %q", file.Key)
	}
	for _, p := range file.Policies {
		algorithm, _ := limiter.Named(p.Algorithm)
		limit, err := limiter.ParseLimit(p.Limit)
		if err != nil {
			return config, err
		}
		config.Policies = append(config.Policies, limiter.Policy{Name: p.Name, Algorithm: algorithm, Limit: limit})
	}
	for _, r := range file.Routes {
		route := httplimit.Route{Pattern: r.Pattern}
		for _, name := range r.Charges {
			route.Charges = append(route.Charges, httplimit.Charge{Policy: name})
		}
		config.Routes = append(config.Routes, route)
	}
	return config, nil
}

// The policies are what httplimit takes, whatever routes a log has.
func TestEmittedPoliciesAreAConfig(t *testing.T) {
	for _, key := range simulator.Keys {
		d := chosen(report.Policy{Algorithm: "counter", WindowUS: 60e6, Limit: 120, Key: string(key)},
			"GET /videos/*", "POST /users/*/playlist", "GET /", "odd", "GET /{x}", "GET /a b", "* /x", "GET /videos", "",
			"GET //x", "GET /a/../x", "GET /./x", "CONNECT /x", "GET /a/*/b", "GET /*/c/b", "GET /deep/...", "GET /videos/new", "(other)", "(no request)", "GET *")
		c, err := configured(emitted(t, d)["policies.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		c.Decider, c.Default = stub{}, httplimit.Route{Unlimited: true}
		c.Identify, c.OnUnidentified = nobody, httplimit.Unidentified{Status: 403}
		c.OnError, c.Dialects = httplimit.ErrorRefuses, []httplimit.Dialect{httplimit.XRateLimit}
		if _, err := httplimit.New(c); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		want := 1
		if key == simulator.PerRoute { // of two that conflict the first
			want = len([]string{"/videos/new", "/videos/*", "/users/*/playlist", "/", "/videos", "/a/*/b", "/deep/...", "others"})
		}
		if len(c.Policies) != want {
			t.Errorf("%s: %d policies, want %d", key, len(c.Policies), want)
		}
		if p := c.Policies[0]; p.Limit != (limiter.Limit{Max: 120, Window: time.Minute}) || p.Algorithm.Name != "counter" {
			t.Errorf("%s: %+v", key, p)
		}
	}
}

// What is matched as a route is what the log means by it, and the special one comes first.
func TestEmittedRoutesMatch(t *testing.T) {
	d := chosen(report.Policy{Algorithm: "log", WindowUS: 60e6, Limit: 10, Key: "ip+route"}, "GET /v/*", "GET /v/new", "GET /v/", "GET /v.x/...", "GET /*/x")
	budgets, untold := budgetsOf(d)
	if untold != 1 { // GET /*/x and GET /v/* match one path, and none is more special
		t.Errorf("%d routes cannot be written", untold)
	}
	for path, want := range map[string]string{
		"/v/abc": "route-1", "/v/new": "route-2", "/v/": "route-3", "/v.x/a/b": "route-4", "/v/a/b": "others", "/vyx/a": "others", "/": "others",
	} {
		mux, got := http.NewServeMux(), ""
		for _, b := range budgets {
			mux.HandleFunc(b.Pattern, func(http.ResponseWriter, *http.Request) {})
		}
		_, pattern := mux.Handler(httptest.NewRequest("GET", path, nil))
		first := "others"
		for i := len(budgets) - 1; i >= 0; i-- {
			if b := budgets[i]; b.Pattern == pattern {
				got = b.Name
			}
			if b := budgets[i]; b.Path != "" && regexp.MustCompile("^"+b.Path+"$").MatchString(path) {
				first = b.Name
			}
		}
		if got != want || first != want {
			t.Errorf("%s is %s for httplimit and %s for others, want %s", path, got, first, want)
		}
	}
}

// What comes nearest in the units that nginx and Envoy have: nobody who keeps to the limit is
// refused.
func TestEmittedRates(t *testing.T) {
	for _, row := range []struct {
		limit, window int64
		nginx, times  string
		envoy         []string
	}{
		{120, 60e6, "rate=2r/s; burst=119 nodelay", "", []string{"minute 120"}},
		{100, 60e6, "rate=101r/m; burst=99 nodelay", "", []string{"minute 100"}},
		{80, 60e6, "rate=81r/m; burst=79 nodelay", "", []string{"minute 80"}}, // 80r/m is 1.333 a second
		{1, 15e6, "rate=5r/m;", "1.25", []string{"second 1", "minute 4"}},     // 4r/m is 0.066
		{10, 1e6, "rate=10r/s; burst=9 nodelay", "", []string{"second 10"}},
		{5, 10e6, "rate=30r/m; burst=4 nodelay", "", []string{"second 5", "minute 30"}},
		{30, 7e6, "rate=258r/m; burst=29 nodelay", "", []string{"second 30", "minute 270"}},
		{10, 100e3, "rate=100r/s; burst=9 nodelay", "", []string{"second 100"}},
		{1, 3600e6, "rate=1r/m;", "60", []string{"hour 1"}},
		{6, 3600e6, "rate=1r/m; burst=5 nodelay", "10", []string{"hour 6"}},
		{200_000, 86400e6, "rate=139r/m; burst=199999 nodelay", "", []string{"day 200000"}},
		{1 << 30, 30 * 86400e6, "rate=24856r/m; burst=1073741823 nodelay", "", []string{"day 1073741824"}},
	} {
		files := emitted(t, chosen(report.Policy{Algorithm: "log", WindowUS: row.window, Limit: row.limit, Key: "ip"}))
		what := fmt.Sprintf("%d in %d µs", row.limit, row.window)
		got := regexp.MustCompile(`rate=\S+;|burst=\d+ nodelay`).FindAllString(files["nginx.conf"], -1)
		if strings.Join(got, " ") != row.nginx {
			t.Errorf("%s: nginx has %q, want %q", what, got, row.nginx)
		}
		times := regexp.MustCompile(`gives back (\S+) times`).FindStringSubmatch(files["nginx.conf"])
		if len(times) > 0 != (row.times != "") || len(times) > 0 && times[1] != row.times {
			t.Errorf("%s: nginx is said to give back %q times as many, want %q", what, times, row.times)
		}
		var units []string
		for _, m := range regexp.MustCompile(`unit: (\w+)\s+requests_per_unit: (\d+)`).FindAllStringSubmatch(files["envoy.yaml"], -1) {
			units = append(units, m[1]+" "+m[2])
		}
		if !slices.Equal(units, row.envoy) {
			t.Errorf("%s: Envoy has %q, want %q", what, units, row.envoy)
		}
	}
}

// A bucket has the least limit of gcra, as it decides like that, where one is known.
func TestEmittedBucketIsThatOfGCRA(t *testing.T) {
	d := chosen(report.Policy{Algorithm: "log", WindowUS: 60e6, Limit: 120, Key: "ip"})
	d.RunnerUp = &report.Choice{Policy: report.Policy{Algorithm: "gcra", WindowUS: 60e6, Limit: 60, Key: "ip"}}
	text := emitted(t, d)["nginx.conf"]
	if !strings.Contains(text, "rate=1r/s") || !strings.Contains(text, "burst=59 ") || !strings.Contains(text, "log has 120/1m") {
		t.Error(text)
	}
}

// What Envoy is to be told is YAML whatever the key, and no descriptor is there twice.
func TestEmittedDescriptors(t *testing.T) {
	for _, key := range simulator.Keys {
		var file struct {
			Domain      string
			Descriptors []struct {
				Key, Value  string
				Descriptors []struct {
					Key       string
					RateLimit struct {
						Unit            string
						RequestsPerUnit int64 `yaml:"requests_per_unit"`
					} `yaml:"rate_limit"`
				}
			}
		}
		text := emitted(t, chosen(report.Policy{Algorithm: "log", WindowUS: 10e6, Limit: 5, Key: string(key)}, "GET /a", "GET /b"))["envoy.yaml"]
		if err := yaml.Unmarshal([]byte(text), &file); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, d := range file.Descriptors {
			if seen[d.Value] || len(d.Descriptors) != 1 || d.Descriptors[0].RateLimit.RequestsPerUnit == 0 || !strings.Contains(text, "{descriptor_value: "+d.Value+"}") {
				t.Errorf("%s: %+v", key, d)
			}
			seen[d.Value] = true
		}
		if want := map[simulator.Key]int{simulator.PerClient: 2, simulator.PerPrefix: 2, simulator.PerRoute: 6}[key]; len(seen) != want {
			t.Errorf("%s: %d descriptors, want %d", key, len(seen), want)
		}
	}
}

func TestEmittedEventsHaveNobody(t *testing.T) {
	files := emitted(t, chosen(report.Policy{Algorithm: "log", WindowUS: 60e6, Limit: 5, Key: "ip"}))
	want := "arrival,client,method,path,status\n1970-01-01T00:00:00.000001Z,client-3,GET,/a,200\n1970-01-01T00:00:00.000002Z,client-4,,,\n"
	if files["riskiest.csv"] != want {
		t.Errorf("got %q", files["riskiest.csv"])
	}
	if _, err := Emit(&report.Tuning{}, nil); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("without a recommendation: %v", err)
	}
}
