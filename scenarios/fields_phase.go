package scenarios

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rlbench/rlbench/limiter"
)

// places remembers where the fields of a mapping are.
type places struct{ keys, values map[string]*yaml.Node }

// noting wraps a reader of a field so that its place is remembered.
func (p places) noting(f field) field {
	read := f.read
	f.read = func(key, value *yaml.Node) {
		p.keys[f.name], p.values[f.name] = key, value
		read(key, value)
	}
	return f
}

// phase reads one phase and appends it.
func (s *source) phase(n *yaml.Node, out *Scenario) {
	var p Phase
	at := places{map[string]*yaml.Node{}, map[string]*yaml.Node{}}
	fields := []field{
		{"name", true, s.into(&p.Name, s.identifier("phase name"))},
		{"at", false, s.expr("at", &p.At)},
		{"for", false, s.expr("for", &p.For)},
		{"shape", true, s.into(&p.Shape, s.oneOf("shape", shapeNames()))},
		{"count", false, s.expr("count", &p.Count)},
		{"rate", false, s.expr("rate", &p.Rate)},
		{"cost", false, s.expr("cost", &p.Cost)},
	}
	for i, f := range fields {
		fields[i] = at.noting(f)
	}
	s.mapping(n, "a phase", fields)
	switch {
	case p.Name == "":
	case slices.Contains(s.phases, p.Name):
		s.report(n.Line, n.Column, "two phases are called %q", p.Name)
	default:
		s.phases = append(s.phases, p.Name)
	}
	if shape, err := shapeNamed(p.Shape); err == nil {
		for _, m := range shape.misfits(func(field string) bool { return at.keys[field] != nil }) {
			place := at.keys[m.field]
			if place == nil {
				place = n
			}
			s.report(place.Line, place.Column, "%s: %v", strings.TrimSpace("phase "+p.Name), m.err)
		}
	}
	_, _, _, wrong := p.resolve(out.Limit, 0)
	for _, m := range wrong {
		place := at.values[m.field]
		s.report(place.Line, place.Column, "%s: %v", m.field, m.err)
	}
	out.Phases = append(out.Phases, p)
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
	at := places{map[string]*yaml.Node{}, map[string]*yaml.Node{}}
	s.mapping(n, "a check", []field{
		{"algorithm", false, s.into(&c.Algorithm, s.oneOf("algorithm", limiter.Names()))},
		{"phase", false, s.into(&c.Phase, s.oneOf("phase", s.phases))},
		{"metric", true, s.into(&c.Metric, s.oneOf("metric", metricNames()))},
		{"op", true, s.into(&c.Op, s.operator)},
		at.noting(field{"value", true, s.expr("value", &c.Value)}),
		{"level", false, s.into(&level, s.oneOf("level", []string{"fail", "warn"}))},
	})
	if c.Value.Present() {
		if err := evalNumber(c.Value, out.Limit); err != nil {
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
