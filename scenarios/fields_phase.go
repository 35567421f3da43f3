package scenarios

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rlbench/rlbench/limiter"
)

// phase reads one phase and appends it.
func (s *source) phase(n *yaml.Node, out *Scenario) {
	var p Phase
	before := len(s.problems)
	shapes := make([]string, len(Shapes))
	for i, shape := range Shapes {
		shapes[i] = shape.Name
	}
	s.mapping(n, "a phase", []field{
		{"name", true, s.into(&p.Name, s.identifier("phase name"))},
		{"at", false, s.expr("at", &p.At, spanOf)},
		{"for", false, s.expr("for", &p.For, spanOf)},
		{"shape", true, s.into(&p.Shape, s.oneOf("shape", shapes))},
		{"count", false, s.expr("count", &p.Count, countFrom(0))},
		{"rate", false, s.expr("rate", &p.Rate, rateOf)},
		{"cost", false, s.expr("cost", &p.Cost, countFrom(1))},
	})
	if slices.ContainsFunc(out.Phases, func(q Phase) bool { return q.Name == p.Name && p.Name != "" }) {
		s.report(n.Line, n.Column, "two phases are called %q", p.Name)
	}
	if len(s.problems) == before {
		s.fit(n, p, out.Limit)
	}
	out.Phases = append(out.Phases, p)
}

// fit reports what does not go together in a phase whose parts are sound.
func (s *source) fit(n *yaml.Node, p Phase, l limiter.Limit) {
	shape, err := shapeNamed(p.Shape)
	if err == nil {
		err = shape.accepts(p)
	}
	if err == nil {
		_, _, _, err = p.resolve(l, 0)
	}
	if err != nil {
		s.report(n.Line, n.Column, "phase %s: %v", p.Name, err)
	}
}

// expr reads an expression and tries it with the scenario's limit.
func (s *source) expr(what string, to *Expr, try func(Expr, limiter.Limit) error) func(_, v *yaml.Node) {
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
		// Any limit shows a wrong dimension; the scenario's own is tried in fit.
		if err := try(e, BuiltinDefaults().Limit); err != nil {
			s.report(v.Line, v.Column, "%s: %v", what, err)
		}
	}
}

func spanOf(e Expr, l limiter.Limit) error {
	_, err := evalSpan(e, l)
	return err
}

func rateOf(e Expr, l limiter.Limit) error {
	_, err := evalRate(e, l, time.Microsecond)
	return err
}

func countFrom(least int64) func(Expr, limiter.Limit) error {
	return func(e Expr, l limiter.Limit) error {
		_, err := evalCount(e, l, least)
		return err
	}
}

// check reads one check and appends it.
func (s *source) check(n *yaml.Node, out *Scenario) {
	var c Check
	var level string
	metrics := make([]string, len(Metrics))
	for i, m := range Metrics {
		metrics[i] = m.Name
	}
	phases := make([]string, len(out.Phases))
	for i, p := range out.Phases {
		phases[i] = p.Name
	}
	algorithms := make([]string, len(limiter.Algorithms))
	for i, a := range limiter.Algorithms {
		algorithms[i] = a.Name
	}
	s.mapping(n, "a check", []field{
		{"algorithm", false, s.into(&c.Algorithm, s.oneOf("algorithm", algorithms))},
		{"phase", false, s.into(&c.Phase, s.oneOf("phase", phases))},
		{"metric", true, s.into(&c.Metric, s.oneOf("metric", metrics))},
		{"op", true, s.into(&c.Op, s.oneOf("op", opNames()))},
		{"value", true, s.expr("value", &c.Value, numberOf)},
		{"level", false, s.into(&level, s.oneOf("level", []string{"fail", "warn"}))},
	})
	c.Warn = level == "warn"
	out.Checks = append(out.Checks, c)
}
