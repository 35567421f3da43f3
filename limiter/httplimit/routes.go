package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rlbench/rlbench/limiter"
)

// routes finds what a request is charged. It never changes after newRoutes.
type routes struct {
	mux      *http.ServeMux // matches; its handlers never run
	entries  map[string]*entry
	fallback *entry
	methods  []string // that patterns name
	hosts    bool     // a pattern names a host
}

// entry is a route made ready.
type entry struct {
	pattern      string
	method, rest string // the two parts of the pattern; wildcards have no names
	charges      []charge
}

// charge is a Charge with its policy's place in Config.Policies.
type charge struct {
	Charge
	policy int
}

func newRoutes(c Config) (*routes, error) {
	t := &routes{mux: http.NewServeMux(), entries: map[string]*entry{}}
	fallback, err := c.Default.ready(c.Policies)
	errs := []error{err}
	t.fallback = fallback
	if c.Default.Pattern != "" {
		errs = append(errs, fmt.Errorf("default route: pattern %q: it has none", c.Default.Pattern))
	}
	for _, r := range c.Routes {
		e, err := r.ready(c.Policies)
		errs = append(errs, err, t.register(e))
	}
	return t, errors.Join(errs...)
}

// ready checks a route against the policies.
func (r Route) ready(policies []limiter.Policy) (*entry, error) {
	e := &entry{pattern: r.Pattern}
	e.method, e.rest = split(r.Pattern)
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("route %q: %w", r.describe(), fmt.Errorf(format, args...)))
	}
	if r.Unlimited == (len(r.Charges) > 0) {
		wrong("want either charges or Unlimited")
	}
	for _, c := range r.Charges {
		ready := charge{c, policyIndex(policies, c.Policy)}
		if ready.policy < 0 {
			wrong("no policy is named %q", c.Policy)
		}
		if slices.ContainsFunc(e.charges, func(o charge) bool { return o.Policy == c.Policy }) {
			wrong("policy %q is charged twice", c.Policy)
		}
		if c.Cost != 0 && c.CostOf != nil {
			wrong("policy %q: Cost and CostOf exclude each other", c.Policy)
		}
		if c.Cost < 0 || c.Cost > limiter.MaxMax {
			wrong("policy %q: cost %d is outside 0 to %d", c.Policy, c.Cost, limiter.MaxMax)
		}
		e.charges = append(e.charges, ready)
	}
	return e, errors.Join(errs...)
}

var wildcardName = regexp.MustCompile(`\{[\pL_][\pL\pN_]*`)

// split cuts the method off a pattern. Two patterns with the same rest match
// the same hosts and paths.
func split(pattern string) (method, rest string) {
	rest = pattern
	if i := strings.IndexAny(pattern, " \t"); i >= 0 {
		method, rest = pattern[:i], strings.TrimLeft(pattern[i:], " \t")
	}
	rest = wildcardName.ReplaceAllString(rest, "{")
	return method, strings.TrimSuffix(rest, "{...}")
}

// registeredAt is what ServeMux says about lines of this file.
var registeredAt = regexp.MustCompile(` \(registered at [^)]*\)`)

// register adds a route to the mux, which panics when it does not like the
// pattern.
func (t *routes) register(e *entry) (err error) {
	if e.method == http.MethodConnect {
		return fmt.Errorf("route %q: CONNECT requests have no path to match", e.pattern)
	}
	defer func() {
		if wrong := recover(); wrong != nil {
			err = fmt.Errorf("route %q: %s", e.pattern, registeredAt.ReplaceAllString(fmt.Sprint(wrong), ""))
		}
	}()
	t.mux.Handle(e.pattern, http.NotFoundHandler())
	t.entries[e.pattern] = e
	if e.method != "" && !slices.Contains(t.methods, e.method) {
		t.methods = append(t.methods, e.method)
	}
	t.hosts = t.hosts || !strings.HasPrefix(e.rest, "/")
	return nil
}

// find appends the routes of every way to read the request; the package comment
// lists them. ServeMux cleans paths and drops the port of a host by itself.
func (t *routes) find(r *http.Request, found []*entry) []*entry {
	found = t.bothSlashes(r, found)
	// Without a RawPath, cleaning and decoding can change places.
	host := r.Host
	if t.hosts {
		host = plainHost(host)
	}
	if r.URL.RawPath != "" || host != r.Host {
		found = t.bothSlashes(reading(r.Method, host, &url.URL{Path: r.URL.Path}), found)
	}
	return found
}

func (t *routes) bothSlashes(r *http.Request, found []*entry) []*entry {
	first := t.match(r)
	found = t.allMethods(r, first, found)
	escaped := r.URL.EscapedPath()
	if escaped == "" || !strings.HasSuffix(escaped, "/") {
		return found
	}
	escaped = path.Clean("/" + escaped)
	plain, err := url.PathUnescape(escaped)
	if escaped == "/" || err != nil {
		return found
	}
	without := reading(r.Method, r.Host, &url.URL{Path: plain, RawPath: escaped})
	second := t.match(without)
	if first.rest == second.rest+"/" || first.rest == second.rest+"/{$}" {
		return found
	}
	return t.allMethods(without, second, found)
}

// allMethods appends the entry of the request's own method, and others unless
// that one was written for this method or for this path.
func (t *routes) allMethods(r *http.Request, own *entry, found []*entry) []*entry {
	found = add(found, own)
	if own.method != "" {
		return found
	}
	for _, method := range t.methods {
		other := t.match(reading(method, r.Host, r.URL))
		if other.method != "" && other.rest != own.rest {
			found = add(found, other)
		}
	}
	return found
}

func (t *routes) match(r *http.Request) *entry {
	if r.Method == http.MethodConnect {
		// ServeMux cleans no path of a CONNECT. As no pattern names that
		// method, another that none names does.
		r = reading("NONE", r.Host, r.URL)
	}
	_, pattern := t.mux.Handler(r)
	if e := t.entries[pattern]; e != nil {
		return e
	}
	return t.fallback
}

func add(found []*entry, e *entry) []*entry {
	if slices.Contains(found, e) {
		return found
	}
	return append(found, e)
}

// reading has all of a request that ServeMux looks at.
func reading(method, host string, u *url.URL) *http.Request {
	return &http.Request{Method: method, Host: host, URL: u}
}

func plainHost(host string) string {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		name, port = host[:i], host[i:]
	}
	return strings.ToLower(strings.TrimSuffix(name, ".")) + port
}
