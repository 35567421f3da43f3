package tuning

import (
	"context"
	"net/http"
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
	files, err := Emit(d, []Event{{At: 1, Client: 3, Route: "GET /a", Status: 200}, {At: 2, Client: 4, Route: "?"}})
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
			"GET /videos/*", "POST /users/*/playlist", "GET /", "odd", "GET /{x}", "GET /a b", "* /x", "GET /videos", "")
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
		if want := map[simulator.Key]int{simulator.PerRoute: 4}[key]; want > 0 && len(c.Policies) != want || want == 0 && len(c.Policies) != 1 {
			t.Errorf("%s: %d policies", key, len(c.Policies))
		}
		if p := c.Policies[0]; p.Limit != (limiter.Limit{Max: 120, Window: time.Minute}) || p.Algorithm.Name != "counter" {
			t.Errorf("%s: %+v", key, p)
		}
	}
}

// What comes nearest in the units that nginx and Envoy have.
func TestEmittedRates(t *testing.T) {
	for _, row := range []struct {
		limit, window int64
		nginx, burst  string
		unit, count   string
	}{
		{120, 60e6, "rate=2r/s", "burst=119 nodelay", "unit: minute", "requests_per_unit: 120"},
		{100, 60e6, "rate=100r/m", "burst=99 nodelay", "unit: minute", "requests_per_unit: 100"},
		{10, 1e6, "rate=10r/s", "burst=9 nodelay", "unit: second", "requests_per_unit: 10"},
		{5, 10e6, "rate=30r/m", "burst=4 nodelay", "unit: second", "requests_per_unit: 1"},
		{1, 3600e6, "rate=1r/m", "zone=clients;", "unit: hour", "requests_per_unit: 1"},
	} {
		files := emitted(t, chosen(report.Policy{Algorithm: "log", WindowUS: row.window, Limit: row.limit, Key: "ip"}))
		for name, wants := range map[string][]string{"nginx.conf": {row.nginx, row.burst}, "envoy.yaml": {row.unit, row.count}} {
			for _, want := range wants {
				if !strings.Contains(files[name], want) {
					t.Errorf("%d in %d µs: %s has no %q:\n%s", row.limit, row.window, name, want, files[name])
				}
			}
		}
		if strings.Contains(files["envoy.yaml"], "in proportion") != (row.window == 10e6) {
			t.Errorf("%d in %d µs: %s", row.limit, row.window, files["envoy.yaml"])
		}
	}
}

func TestEmittedEventsHaveNobody(t *testing.T) {
	files := emitted(t, chosen(report.Policy{Algorithm: "log", WindowUS: 60e6, Limit: 5, Key: "ip"}))
	want := "arrival,client,method,path,status\n1970-01-01T00:00:00.000001Z,client-3,GET,/a,200\n1970-01-01T00:00:00.000002Z,client-4,GET,/,\n"
	if files["riskiest.csv"] != want {
		t.Errorf("got %q", files["riskiest.csv"])
	}
	if _, err := Emit(&report.Tuning{}, nil); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("without a recommendation: %v", err)
	}
}
