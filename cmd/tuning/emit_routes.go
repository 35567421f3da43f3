package tuning

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
)

// budget is what each client has on one route, or on all that have none of their own.
type budget struct {
	Name    string
	Pattern string // of http.ServeMux
	Method  string
	Path    string // a regular expression of nginx and Envoy
	Least   int64  // limit that leaves clients untouched on this route alone, if that is another one
}

// budgetsOf are the budgets of the recommendation: where a client has one on each route, one
// for each that was told apart, the special ones before those that they are cases of, and one
// for the others; and of how many routes that were told apart none can be written.
func budgetsOf(t *report.Tuning) (all []budget, untold int) {
	if t.Recommended.Policy.Key != string(simulator.PerRoute) {
		return []budget{{Name: "default", Pattern: "/"}}, 0
	}
	mux := http.NewServeMux()
	mux.Handle("/", http.NotFoundHandler())
	for i, r := range t.Routes {
		b, ok := budgetOf(r.Route)
		if !ok || !registers(mux, b.Pattern) {
			untold++
			continue
		}
		b.Name = fmt.Sprintf("route-%d", i+1)
		if p := t.Recommended.Policy; r.Limit != p.Limit && slices.Index(t.Asked.WindowsUS, p.WindowUS) == 0 {
			b.Least = r.Limit
		}
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b budget) int { return cmp.Compare(rank(a.Path), rank(b.Path)) })
	return append(all, budget{Name: "others", Pattern: "/"}), untold
}

// registers reports whether a mux takes a pattern beside those that it has.
func registers(mux *http.ServeMux, pattern string) (ok bool) {
	defer func() { ok = recover() == nil }()
	mux.Handle(pattern, http.NotFoundHandler())
	return
}

var (
	methods = regexp.MustCompile(`^[A-Z]+$`)
	paths   = regexp.MustCompile(`^(/([A-Za-z0-9._-]*|\*))+$`) // as a log names routes
)

// budgetOf is a route of a log as others match it, if they can: those in brackets are none.
func budgetOf(route string) (budget, bool) {
	method, path, ok := strings.Cut(route, " ")
	if !ok || !methods.MatchString(method) || method == http.MethodConnect || !paths.MatchString(path) {
		return budget{}, false
	}
	pattern, expression := "", ""
	parts := strings.Split(path, "/")[1:]
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		case part == "*":
			pattern, expression = fmt.Sprintf("%s/{part%d}", pattern, i+1), expression+"/[^/]+"
		case part == "..." && last: // whatever is below
			pattern, expression = pattern+"/{rest...}", expression+"/.*"
		case part == "" && last:
			pattern, expression = pattern+"/{$}", expression+"/"
		default:
			pattern, expression = pattern+"/"+part, expression+"/"+regexp.QuoteMeta(part)
		}
	}
	return budget{Pattern: method + " " + pattern, Method: method, Path: expression}, true
}

// rank is so that of two expressions that match one path the special one comes first.
func rank(path string) string {
	return strings.NewReplacer("/[^/]+", "/~", "/.*", "/~~").Replace(path)
}
