package tuning

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
)

// File is one that puts a recommendation into practice.
type File struct{ Name, Doc, Text string }

// Event is a request of the riskiest window, for a scenario.
type Event struct {
	At     int64 // µs since 1970
	Client uint32
	Route  string
	Status uint16
}

// Emit are the recommendation as configurations, and as a scenario that replays the riskiest
// window. Without a recommendation there are none.
func Emit(t *report.Tuning, riskiest []Event) ([]File, error) {
	if t.Recommended == nil {
		return nil, fmt.Errorf("write the recommendation: there is none: %s", reasons(t))
	}
	p := t.Recommended.Policy
	v := view{
		Policy: p, Limit: limiter.Limit{Max: p.Limit, Window: micros(p.WindowUS)}, Window: limiter.FormatDuration(micros(p.WindowUS)), Why: oneLine(t.Recommended.Why), Price: oneLine(t.Recommended.Price),
		Routes: budgetsOf(t), Command: oneLine(strings.Join(t.Command, " ")),
	}
	v.nginx()
	v.envoy()
	var files []File
	for _, f := range []struct{ name, doc, text string }{
		{"policies.yaml", "policies for httplimit", policiesText},
		{"nginx.conf", "limit_req of nginx", nginxText},
		{"envoy.yaml", "configuration of Envoy's ratelimit service", envoyText},
		{"riskiest.yaml", "a scenario that replays the riskiest window: rlbench run riskiest.yaml", scenarioText},
	} {
		var b bytes.Buffer
		if err := template.Must(template.New(f.name).Parse(f.text)).Execute(&b, v); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		files = append(files, File{f.name, f.doc, b.String()})
	}
	var b bytes.Buffer
	if err := writeEvents(&b, riskiest); err != nil {
		return nil, fmt.Errorf("write riskiest.csv: %w", err)
	}
	return append(files, File{"riskiest.csv", "its requests, by clients that nobody can be told from", b.String()}), nil
}

func reasons(t *report.Tuning) string {
	var all []string
	for _, r := range t.Reasons {
		all = append(all, r.Message)
	}
	if len(all) == 0 {
		return "no limit of those that were tried leaves so many clients untouched"
	}
	return strings.Join(all, "; ")
}

// view is what templates show.
type view struct {
	report.Policy
	Limit              limiter.Limit
	Window             string
	Why, Price         string
	Command            string
	Routes             []routePolicy
	NginxRate          string
	NginxZone          string
	NginxBurst         int64
	NginxKey, NginxFor string
	EnvoyUnit          string
	EnvoyCount         int64
	EnvoyExact         bool
}

// routePolicy is a budget for one route, or for all.
type routePolicy struct{ Name, Pattern string }

// budgetsOf are the budgets of the recommendation: one for each route that was told apart
// where a client has a budget on each, and else one for all.
func budgetsOf(t *report.Tuning) []routePolicy {
	if t.Recommended.Policy.Key != string(simulator.PerRoute) {
		return []routePolicy{{"default", "/"}}
	}
	var all []routePolicy
	for i, r := range t.Routes {
		if pattern := patternOf(r.Route); pattern != "" {
			all = append(all, routePolicy{fmt.Sprintf("route-%d", i+1), pattern})
		}
	}
	return append(all, routePolicy{"others", "/"})
}

// patternOf is a route of a log as http.ServeMux matches it; empty if it cannot.
func patternOf(route string) string {
	method, path, ok := strings.Cut(route, " ")
	if !ok || !strings.HasPrefix(path, "/") || path == "/" || strings.ContainsAny(path, "{} \t\n\"\\") || method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return ""
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part == "*" {
			parts[i] = fmt.Sprintf("{part%d}", i)
		}
	}
	return method + " " + strings.Join(parts, "/")
}

// nginx sets the leaky bucket that comes nearest: its rate is a whole number a second or a
// minute, and what may come at once is the limit.
func (v *view) nginx() {
	perMinute := (v.Limit.Max*int64(time.Minute) + int64(v.Limit.Window) - 1) / int64(v.Limit.Window)
	switch {
	case perMinute%60 == 0:
		v.NginxRate = fmt.Sprintf("%dr/s", perMinute/60)
	default:
		v.NginxRate = fmt.Sprintf("%dr/m", max(perMinute, 1))
	}
	v.NginxBurst = v.Limit.Max - 1
	const state = 128 // bytes that nginx keeps of a key on a 64-bit machine
	v.NginxZone = fmt.Sprintf("%dm", max((v.Keys*state*5/4)>>20, 1))
	v.NginxKey, v.NginxFor = "$binary_remote_addr", "a client"
	switch v.Key {
	case string(simulator.PerRoute):
		v.NginxKey, v.NginxFor = "$binary_remote_addr$request_method$uri", "a client and a path, as it is: a route with a name in it is many here"
	case string(simulator.PerPrefix):
		v.NginxFor = "a client, and not its network: nginx needs a map of its own for that"
	}
}

// envoy sets the unit that comes nearest to the window, with as many in proportion.
func (v *view) envoy() {
	units := []struct {
		name   string
		length time.Duration
	}{{"second", time.Second}, {"minute", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour}}
	for _, u := range units {
		if v.EnvoyUnit == "" || u.length <= v.Limit.Window {
			v.EnvoyUnit, v.EnvoyExact = u.name, u.length == v.Limit.Window
			v.EnvoyCount = max((v.Limit.Max*int64(u.length)+int64(v.Limit.Window)-1)/int64(v.Limit.Window), 1)
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// writeEvents writes requests as CSV that rlbench reads again.
func writeEvents(w io.Writer, events []Event) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"arrival", "client", "method", "path", "status"}}
	for _, e := range events {
		method, path, ok := strings.Cut(e.Route, " ")
		if !ok {
			method, path = "GET", "/"
		}
		status := ""
		if e.Status > 0 {
			status = strconv.Itoa(int(e.Status))
		}
		rows = append(rows, []string{time.UnixMicro(e.At).UTC().Format("2006-01-02T15:04:05.000000Z"), fmt.Sprintf("client-%d", e.Client), method, path, status})
	}
	return out.WriteAll(rows)
}

const policiesText = `# Recommended by rlbench tune. {{.Why}}
# Price: {{.Price}}
# docs/tune.md shows how a program makes an httplimit.Config of this.
policies:
{{range .Routes}}  - name: {{.Name}}
    algorithm: {{$.Algorithm}}
    limit: {{$.Limit}}
{{end}}key: {{.Key}}
routes:
{{range .Routes}}  - pattern: "{{.Pattern}}"
    charges: [{{.Name}}]
{{end}}`

const nginxText = `# Recommended by rlbench tune for {{.NginxFor}}: {{.Limit}}.
# limit_req is a leaky bucket: {{.Limit.Max}} may come at once, and from then on one at a time,
# as with the algorithm gcra of rlbench.
limit_req_zone {{.NginxKey}} zone=clients:{{.NginxZone}} rate={{.NginxRate}};
limit_req_status 429;

server {
    location / {
        limit_req zone=clients{{if .NginxBurst}} burst={{.NginxBurst}} nodelay{{end}};
    }
}
`

const envoyText = `# Recommended by rlbench tune: {{.Limit}}, for Envoy's ratelimit service.
# It counts in fixed windows: around an edge a client gets twice the limit.{{if not .EnvoyExact}}
# It has no window of {{.Window}}; this is as many in proportion.{{end}}
domain: rlbench
descriptors:
  - key: remote_address{{if eq .Key "ip+route"}}
    descriptors:
      - key: path
        rate_limit:
          unit: {{.EnvoyUnit}}
          requests_per_unit: {{.EnvoyCount}}{{else}}
    rate_limit:
      unit: {{.EnvoyUnit}}
      requests_per_unit: {{.EnvoyCount}}{{end}}
`

const scenarioText = `# Replays the window of the log in which one client asked for most. Run it with
#   rlbench run riskiest.yaml --algorithm {{.Algorithm}},fixed,log
version: 1
name: riskiest
description: The riskiest window of a log, as it came.
limit: {{.Limit}}
phases:
  - name: log
    shape: replay
    trace: riskiest.csv
    format: csv
`
