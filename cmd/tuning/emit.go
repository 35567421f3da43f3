package tuning

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"text/template"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
)

// File is one that puts a recommendation into practice.
type File struct{ Name, Doc, Text string }

// emits are the files of a recommendation, in order.
var emits = []struct {
	name, doc string
	make      func(*bytes.Buffer, *view) error
}{
	{"policies.yaml", "policies for httplimit", fromTemplate(policiesText)},
	{"nginx.conf", "limit_req of nginx, to be included in its http { }", fromTemplate(nginxText)},
	{"envoy.yaml", "configuration of Envoy's ratelimit service", fromTemplate(envoyText)},
	{"riskiest.yaml", "a scenario that replays the riskiest window; its first lines say how to run it", fromTemplate(scenarioText)},
	{"riskiest.csv", "its requests, by clients that nobody can be told from", func(b *bytes.Buffer, v *view) error { return writeEvents(b, v.Events) }},
}

// Emitted are the names of the files that Emit makes.
func Emitted() []string {
	var names []string
	for _, e := range emits {
		names = append(names, e.name)
	}
	return names
}

// Emit are the recommendation as configurations, and as a scenario that replays the riskiest
// window. Without a recommendation there are none.
func Emit(t *report.Tuning, riskiest []Event) ([]File, error) {
	v, err := viewOf(t, riskiest)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, e := range emits {
		var b bytes.Buffer
		if err := e.make(&b, v); err != nil {
			return nil, fmt.Errorf("write %s: %w", e.name, err)
		}
		files = append(files, File{e.name, e.doc, b.String()})
	}
	return files, nil
}

// view is what templates show.
type view struct {
	report.Policy
	Limit      limiter.Limit
	Window     string
	Why, Price string
	Command    string
	Doubt      string // why none of it is sure
	Budgets    []budget
	Untold     int // routes that no budget of their own can be written for
	Nginx      nginxView
	Envoy      envoyView
	Expected   []expected

	Events   []Event
	Riskiest int64 // requests in its two windows
	Left     bool  // some of them are no events
}

func viewOf(t *report.Tuning, riskiest []Event) (*view, error) {
	if t.Recommended == nil {
		why := cmp.Or(reasons(t), "no limit of those that were tried leaves so many clients untouched")
		return nil, fmt.Errorf("write the recommendation: there is none: %s", why)
	}
	p := t.Recommended.Policy
	v := &view{
		Policy: p, Limit: limiter.Limit{Max: p.Limit, Window: micros(p.WindowUS)}, Window: limiter.FormatDuration(micros(p.WindowUS)),
		Why: oneLine(t.Recommended.Why), Price: oneLine(t.Recommended.Price), Command: oneLine(strings.Join(t.Command, " ")), Doubt: oneLine(reasons(t)), Events: riskiest,
	}
	if t.Riskiest != nil {
		v.Riskiest, v.Left = t.Riskiest.Requests, t.Riskiest.Requests > int64(len(riskiest))
	}
	v.Budgets, v.Untold = budgetsOf(t)
	v.Nginx, v.Envoy = nginxOf(t, v), envoyOf(v.Limit)
	var err error
	v.Expected, err = expectedOf(p, riskiest)
	return v, err
}

func fromTemplate(text string) func(*bytes.Buffer, *view) error {
	made := template.Must(template.New("").Funcs(template.FuncMap{"list": func(all []expected) string {
		var names []string
		for _, e := range all {
			names = append(names, e.Algorithm)
		}
		return strings.Join(names, ",")
	}}).Parse(doubtText + text))
	return func(b *bytes.Buffer, v *view) error { return made.Execute(b, v) }
}

// reasons are the messages of what makes a tuning inconclusive.
func reasons(t *report.Tuning) string {
	var all []string
	for _, r := range t.Doubts() {
		all = append(all, r.Message)
	}
	return strings.Join(all, "; ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// doubtText is before all others.
const doubtText = `{{if .Doubt}}# INCONCLUSIVE: {{.Doubt}}
{{end}}`

const policiesText = `# Recommended by rlbench tune. {{.Why}}
# Price: {{.Price}}
# docs/tune.md shows how a program makes an httplimit.Config of this. The key says what a
# budget is kept for: ip, an address; prefix, its network of /24 or /48; ip+route, an address
# on each route.{{if .Untold}}
# Routes that have no policy here ({{.Untold}} of those with the most requests, and all with
# fewer) share the budget of "others": it may refuse more than was recommended for each.{{end}}
policies:
{{range .Budgets}}  - name: {{.Name}}
    algorithm: {{$.Algorithm}}
    limit: {{$.Limit}}{{if .Least}} # {{.Least}} are enough for this route alone{{end}}
{{end}}key: {{.Key}}
routes:
{{range .Budgets}}  - pattern: "{{.Pattern}}"
    charges: [{{.Name}}]
{{end}}`
