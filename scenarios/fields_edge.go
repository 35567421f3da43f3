package scenarios

import (
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
)

// edgeTier reads a coarse tier in front of the limiter.
func (s *source) edgeTier(n *yaml.Node, out *Scenario) *edge.Config {
	c := edge.Config{Kind: edge.FixedWindow, Locations: 1, Machines: 1, Sync: time.Second}
	var kind, inclusive string
	before := len(s.problems)
	s.mapping(n, "edge_tier", []field{
		{"limit", false, func(_, v *yaml.Node) { s.limit(v, &c.Limit) }},
		{"max", false, s.expr("max", &out.EdgeMax)},
		{"kind", false, s.into(&kind, s.oneOf("kind", []string{string(edge.FixedWindow), string(edge.SlidingWindow)}))},
		{"inclusive", false, s.into(&inclusive, s.oneOf("inclusive", []string{"true", "false"}))},
		{"locations", false, s.whole("locations", edge.MaxLocations, &c.Locations)},
		{"machines", false, s.whole("machines", edge.MaxMachines, &c.Machines)},
		{"sync", false, s.length("sync", &c.Sync)},
	})
	if kind != "" {
		c.Kind = edge.Kind(kind)
	}
	c.Inclusive = inclusive == "true"
	if len(s.problems) > before {
		return nil
	}
	if (c.Limit == limiter.Limit{}) != out.EdgeMax.Present() {
		s.report(n.Line, n.Column, `edge_tier: it has to have either a "limit" or a "max" for the scenario's window`)
		return nil
	}
	if out.EdgeMax.Present() {
		return &c // which its plan validates: the limit can still change
	}
	for _, mistake := range split(c.Validate()) {
		s.report(n.Line, n.Column, "edge_tier: %v", mistake)
	}
	return &c
}

// whole reads a whole number from 1.
func (s *source) whole(what string, most int, to *int) func(_, v *yaml.Node) {
	return func(_, v *yaml.Node) {
		text, ok := s.text(v, what)
		if !ok {
			return
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			s.report(v.Line, v.Column, "%s %q: want a whole number from 1 to %d", what, clip(text), most)
			return
		}
		*to = n
	}
}

// length reads a duration.
func (s *source) length(what string, to *time.Duration) func(_, v *yaml.Node) {
	return func(_, v *yaml.Node) {
		text, ok := s.text(v, what)
		if !ok {
			return
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			s.report(v.Line, v.Column, "%s %q: want a duration such as 1s", what, clip(text))
			return
		}
		*to = d
	}
}
