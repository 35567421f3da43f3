package scenarios

import (
	"slices"

	"go.yaml.in/yaml/v4"
)

// replayFields are the fields of a phase about the log that it replays.
func (s *source) replayFields(r *Replay) []field {
	return []field{
		{"trace", false, func(_, v *yaml.Node) { s.trace(v, r) }},
		{"format", false, s.into(&r.Format, s.plain("format"))},
		{"speed", false, func(_, v *yaml.Node) { parsed(s, v, "speed", ParseSpeed, &r.Speed) }},
		{"since", false, func(_, v *yaml.Node) { parsed(s, v, "since", ParseMoment, &r.Since) }},
		{"until", false, func(_, v *yaml.Node) { parsed(s, v, "until", ParseMoment, &r.Until) }},
		{"spread", false, s.into(&r.Spread, s.oneOf("spread", Spreads))},
	}
}

// trace reads the files of a log: one, or a list of them.
func (s *source) trace(n *yaml.Node, r *Replay) {
	files := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		files = n.Content
		if len(files) == 0 {
			s.report(n.Line, n.Column, "trace is empty; leave it out to name the log by --trace")
		}
	}
	for _, file := range files {
		name, ok := s.text(resolved(file), "trace")
		switch {
		case !ok:
		case name == "" || name == "-":
			s.report(file.Line, file.Column, "trace %q: want the name of a file; a log on standard input is for --trace -", name)
		case slices.Contains(r.Trace, name):
			s.report(file.Line, file.Column, "trace %q is there twice", clip(name))
		default:
			r.Trace = append(r.Trace, name)
		}
	}
}

// parsed stores what a parser makes of a value.
func parsed[T any](s *source, n *yaml.Node, what string, parse func(string) (T, error), to *T) {
	text, ok := s.text(n, what)
	if !ok {
		return
	}
	v, err := parse(text)
	if err != nil {
		s.report(n.Line, n.Column, "%v", err)
		return
	}
	*to = v
}
