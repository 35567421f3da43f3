package scenarios

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v4"
)

// faults reads the list of faults. Phases have been read.
func (s *source) faults(n *yaml.Node, out *Scenario) {
	s.sequence(n, "faults", func(n *yaml.Node) { s.fault(n, out) })
}

// fault reads one fault and appends it.
func (s *source) fault(n *yaml.Node, out *Scenario) {
	var f Fault
	at := newPlaces()
	fields := []field{
		{"kind", true, s.into(&f.Kind, s.oneOf("kind", faultKindNames()))},
		{"at", true, func(_, v *yaml.Node) { s.faultPlace(v, &f) }},
		{"for", false, s.expr("for", &f.For)},
		{"delay", false, s.expr("delay", &f.Delay)},
		{"jitter", false, s.expr("jitter", &f.Jitter)},
		{"every", false, s.expr("every", &f.Every)},
		{"hits", false, s.expr("hits", &f.Hits)},
	}
	for i, one := range fields {
		fields[i] = at.noting(one)
	}
	before := len(s.problems)
	s.mapping(n, "a fault", fields)
	if len(s.problems) > before {
		out.Faults = append(out.Faults, f)
		return // what is wrong with it has been told
	}
	if kind, err := FaultKindNamed(f.Kind); err == nil {
		_, wrong := f.resolve(out.Limit, out.sketch())
		for _, m := range wrong {
			place := at.keys[m.field]
			if place == nil {
				place = n
			}
			s.report(place.Line, place.Column, "fault %s: %v", kind.Name, m.err)
		}
	}
	out.Faults = append(out.Faults, f)
}

// faultPlace reads where a fault is: a phase, or an instant.
func (s *source) faultPlace(n *yaml.Node, f *Fault) {
	if text, ok := s.text(n, "at"); ok && slices.Contains(s.phases, text) {
		f.Phase = text
		return
	}
	if text, ok := s.text(n, "at"); ok && nameForm.MatchString(text) {
		if _, err := ParseExpr(text); err != nil {
			s.report(n.Line, n.Column, "at: %q is neither a phase nor an instant%s", clip(text), DidYouMean(text, s.phases))
			return
		}
	}
	s.expr("at", &f.At)(nil, n)
}

// sketch places the phases that have been read, as far as they can be.
func (s *Scenario) sketch() []PlannedPhase {
	var phases []PlannedPhase
	next := time.Duration(0) // the edge
	for _, p := range s.Phases {
		n, _ := p.resolve(s.Limit, next)
		next = n.start + n.length()
		planned := PlannedPhase{Name: p.Name, Start: n.start, End: next, Retry: n.retry}
		phases = append(phases, planned)
		if n.retry != nil {
			phases = append(phases, planned.retries())
		}
	}
	return phases
}
