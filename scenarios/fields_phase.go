package scenarios

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rlbench/rlbench/limiter"
)

// places remembers where the fields of a mapping are.
type places struct{ keys, values map[string]*yaml.Node }

func newPlaces() places { return places{map[string]*yaml.Node{}, map[string]*yaml.Node{}} }

// noting wraps a reader of a field so that its place is remembered.
func (p places) noting(f field) field { return p.notingAs(f.name, f) }

// notingAs remembers the place of a field under another name.
func (p places) notingAs(name string, f field) field {
	read := f.read
	f.read = func(key, value *yaml.Node) {
		p.keys[name], p.values[name] = key, value
		read(key, value)
	}
	return f
}

// phase reads one phase and appends it.
func (s *source) phase(n *yaml.Node, out *Scenario) {
	var p Phase
	var log Replay
	at := newPlaces()
	fields := []field{
		{"name", true, s.into(&p.Name, s.identifier("phase name"))},
		{"at", false, s.expr("at", &p.At)},
		{"for", false, s.expr("for", &p.For)},
		{"path", false, s.into(&p.Path, s.path)},
		{"shape", true, s.into(&p.Shape, s.oneOf("shape", shapeNames()))},
		{"count", false, s.expr("count", &p.Count)},
		{"rate", false, s.expr("rate", &p.Rate)},
		{"from", false, s.expr("from", &p.From)},
		{"to", false, s.expr("to", &p.To)},
		{"every", false, s.expr("every", &p.Every)},
		{"cost", false, s.expr("cost", &p.Cost)},
		{"limit", false, s.expr("limit", &p.Limit)},
		{"senders", false, s.expr("senders", &p.Senders)},
		{"skip", false, s.expr("skip", &p.Skip)},
		{"skew", false, s.expr("skew", &p.Skew)},
		{"jitter", false, s.expr("jitter", &p.Jitter)},
		{"pseudonym", false, func(_, v *yaml.Node) { s.pseudonym("pseudonym", v, &p.Pseudonym) }},
		{"also", false, func(_, v *yaml.Node) {
			p.Also = new(int32)
			s.pseudonym("also", v, p.Also)
		}},
		{"repeat", false, func(_, v *yaml.Node) { p.Repeat = s.repeat(v, at) }},
		{"retry", false, func(_, v *yaml.Node) { p.Retry = s.retry(v, at) }},
	}
	fields = append(fields, s.replayFields(&log)...)
	for i, f := range fields {
		fields[i] = at.noting(f)
	}
	s.mapping(n, "a phase", fields)
	if p.Shape == replay.Name {
		p.Replay = &log
	}
	s.phaseName(n, p)
	if shape, err := shapeNamed(p.Shape); err == nil {
		for _, m := range shape.misfits(func(field string) bool { return at.keys[field] != nil }) {
			place := at.keys[m.field]
			if place == nil {
				place = n
			}
			s.report(place.Line, place.Column, "%s: %v", strings.TrimSpace("phase "+p.Name), m.err)
		}
	}
	switch path := at.keys["path"]; {
	case out.Service != "" && path == nil:
		s.report(n.Line, n.Column, "%s: it needs a path of service %s", strings.TrimSpace("phase "+p.Name), out.Service)
	case !s.service && path != nil:
		s.report(path.Line, path.Column, `path: only what has a "service" is asked for one`)
	}
	_, wrong := p.resolve(out.Limit, 0)
	for _, m := range wrong {
		place := at.values[m.field]
		s.report(place.Line, place.Column, "%s: %v", m.field, m.err)
	}
	out.Phases = append(out.Phases, p)
}

// phaseName notes the name of a phase, and of its retries.
func (s *source) phaseName(n *yaml.Node, p Phase) {
	switch {
	case p.Name == "":
	case slices.Contains(s.phases, p.Name):
		s.report(n.Line, n.Column, "two phases are called %q", p.Name)
	default:
		s.phases = append(s.phases, p.Name)
		if p.Retry != nil {
			s.phases = append(s.phases, p.Name+RetrySuffix)
		}
	}
}

// path reads what is requested of a service.
func (s *source) path(n *yaml.Node) (string, bool) {
	text, ok := s.text(n, "path")
	if u, err := url.ParseRequestURI(text); ok && (err != nil || u.Host != "" || !strings.HasPrefix(text, "/") || strings.Contains(text, "#")) {
		s.report(n.Line, n.Column, "path %q: want a path that begins with /, with its query", clip(text))
		return "", false
	}
	return text, ok
}

func (s *source) pseudonym(what string, n *yaml.Node, to *int32) {
	text, ok := s.text(n, what)
	if !ok {
		return
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 || number > maxPseudonym {
		s.report(n.Line, n.Column, "%s %q: want a whole number from 0 to %d", what, clip(text), maxPseudonym)
		return
	}
	*to = int32(number)
}

// maxPseudonym bounds how many pseudonyms a client can have.
const maxPseudonym = 1000

func (s *source) repeat(n *yaml.Node, at places) *Repeat {
	var r Repeat
	s.mapping(n, "repeat", []field{
		at.notingAs("repeat.times", field{"times", true, s.expr("repeat times", &r.Times)}),
		at.notingAs("repeat.every", field{"every", true, s.expr("repeat every", &r.Every)}),
	})
	return &r
}

// retry reads how clients retry. Who does not obey needs to know how long to
// wait.
func (s *source) retry(n *yaml.Node, at places) *Retry {
	var r Retry
	s.mapping(n, "retry", []field{
		{"mode", true, s.into(&r.Mode, s.oneOf("mode", retryModeNames()))},
		at.notingAs("retry.wait", field{"wait", false, s.expr("retry wait", &r.Wait)}),
		at.notingAs("retry.round", field{"round", false, s.expr("retry round", &r.Round)}),
		at.notingAs("retry.jitter", field{"jitter", false, s.expr("retry jitter", &r.Jitter)}),
		at.notingAs("retry.within", field{"within", false, s.expr("retry within", &r.Within)}),
	})
	wait, round := at.keys["retry.wait"], at.keys["retry.round"]
	switch {
	case r.Mode == "": // which has been reported
	case r.Mode == "obey" && wait != nil:
		s.report(wait.Line, wait.Column, `retry: who obeys is told how long to wait and takes no "wait"`)
	case r.Mode != "obey" && wait == nil:
		s.report(n.Line, n.Column, "retry: mode %s needs a \"wait\"", r.Mode)
	}
	if r.Mode != "" && r.Mode != "obey" && round != nil {
		s.report(round.Line, round.Column, `retry: only mode obey takes a "round"`)
	}
	return &r
}

func retryModeNames() []string {
	names := make([]string, len(RetryModes))
	for i, m := range RetryModes {
		names[i] = m.Name
	}
	return names
}

func shapeNames() []string {
	names := make([]string, len(Shapes))
	for i, shape := range Shapes {
		names[i] = shape.Name
	}
	return names
}

// expr reads an expression.
func (s *source) expr(what string, to *Expr) func(_, v *yaml.Node) {
	return func(_, v *yaml.Node) {
		text, ok := s.text(v, what)
		if !ok {
			return
		}
		e, err := ParseExpr(text)
		if err != nil {
			s.report(v.Line, v.Column, "%s: %v", what, err)
			return
		}
		*to = e
	}
}

// check reads one check and appends it.
func (s *source) check(n *yaml.Node, out *Scenario) {
	var c Check
	var level string
	at := newPlaces()
	s.mapping(n, "a check", []field{
		{"algorithm", false, s.into(&c.Algorithm, s.oneOf("algorithm", limiter.Names()))},
		{"phase", false, s.into(&c.Phase, s.oneOf("phase", s.phases))},
		{"metric", true, s.into(&c.Metric, s.oneOf("metric", metricNames()))},
		{"op", true, s.into(&c.Op, s.operator)},
		at.noting(field{"value", true, s.expr("value", &c.Value)}),
		{"clock", false, func(_, v *yaml.Node) { s.clock(v, &c.Clock) }},
		{"level", false, s.into(&level, s.oneOf("level", []string{"fail", "warn"}))},
	})
	if metric, err := metricNamed(c.Metric); err == nil && c.Value.Present() {
		if err := evalValue(c.Value, out.Limit, metric); err != nil {
			s.report(at.values["value"].Line, at.values["value"].Column, "value: %v", err)
		}
	}
	c.Warn = level == "warn"
	out.Checks = append(out.Checks, c)
}

// operator reads an op. One that is not quoted can be a YAML tag.
func (s *source) operator(n *yaml.Node) (string, bool) {
	if n.Value == "" && strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		s.report(n.Line, n.Column, "op has no value; write operators in quotes, such as %q", n.Tag)
		return "", false
	}
	return s.oneOf("op", opNames())(n)
}

func metricNames() []string {
	names := make([]string, len(Metrics))
	for i, m := range Metrics {
		names[i] = m.Name
	}
	return names
}
