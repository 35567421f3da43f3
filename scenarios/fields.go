package scenarios

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rlbench/rlbench/limiter"
)

// nameForm is what scenarios and phases may be called: fit for a command line,
// a file name and the path of an assignment.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// maxWait bounds how long a scenario may wait for anything.
const maxWait = time.Hour

// maxInFlight bounds requests in flight.
const maxInFlight = 10_000

// maxKeys bounds the identities of a scenario.
const maxKeys = 1_000_000

// scenario reads the root mapping.
func (s *source) scenario(root *yaml.Node, d Defaults) *Scenario {
	out := &Scenario{Limit: d.Limit, Clock: d.Clock, Seed: d.Seed, Keys: Keys{Count: 1, Distribution: "uniform"}}
	var phases, checks, faults, timeout, drain, late, overload *yaml.Node
	s.mapping(root, "the scenario", []field{
		{"version", true, s.version},
		{"name", true, s.into(&out.Name, s.identifier("name"))},
		{"description", false, s.into(&out.Description, s.plain("description"))},
		{"limit", false, func(_, v *yaml.Node) { s.limit(v, &out.Limit) }},
		{"clock", false, func(_, v *yaml.Node) { s.clock(v, &out.Clock) }},
		{"seed", false, func(_, v *yaml.Node) { s.seed(v, &out.Seed) }},
		{"keys", false, func(_, v *yaml.Node) { s.keys(v, &out.Keys) }},
		{"phases", true, func(_, v *yaml.Node) { phases = v }},
		{"checks", false, func(_, v *yaml.Node) { checks = v }},
		{"faults", false, func(_, v *yaml.Node) { faults = v }},
		{"on_failure", false, s.into(&out.OnFailure, s.oneOf("on_failure", FailurePolicies))},
		{"edge_tier", false, func(_, v *yaml.Node) { out.EdgeTier = s.edgeTier(v, out) }},
		{"service", false, func(key, v *yaml.Node) {
			s.service = true
			s.into(&out.Service, s.oneOf("service", Services))(key, v)
		}},
		{"max_in_flight", false, s.whole("max_in_flight", maxInFlight, &out.MaxInFlight)},
		{"timeout", false, func(_, v *yaml.Node) { timeout = v }},
		{"drain", false, func(_, v *yaml.Node) { drain = v }},
		{"late", false, func(_, v *yaml.Node) { late = v }},
		{"overload", false, func(_, v *yaml.Node) { overload = v }},
	})
	// Files that leave them out need defaults that have them.
	if out.Limit == (limiter.Limit{}) {
		s.report(root.Line, root.Column, "limit is missing")
	}
	if out.Clock == "" {
		s.report(root.Line, root.Column, "clock is missing")
	}
	// Phases and checks refer to the limit and to each other, so they come last.
	if phases != nil {
		s.sequence(phases, "phases", func(n *yaml.Node) { s.phase(n, out) })
		if phases.Kind == yaml.SequenceNode && len(phases.Content) == 0 {
			s.report(phases.Line, phases.Column, "phases is empty; a scenario needs at least one")
		}
	}
	for _, mistake := range split(out.served()) {
		s.report(root.Line, root.Column, "%v", mistake)
	}
	s.wait("drain", drain, out, &out.Drain)
	s.wait("late", late, out, &out.Late)
	s.wait("overload", overload, out, &out.Overload)
	s.wait("timeout", timeout, out, &out.Timeout)
	if faults != nil {
		s.faults(faults, out)
	}
	if checks != nil {
		s.sequence(checks, "checks", func(n *yaml.Node) { s.check(n, out) })
	}
	return out
}

// wait reads a field of the scenario that is a length of time; nil is absent.
func (s *source) wait(what string, n *yaml.Node, out *Scenario, to *Expr) {
	if n == nil {
		return
	}
	s.expr(what, to)(nil, n)
	if _, err := out.wait(*to); err != nil {
		s.report(n.Line, n.Column, "%s: %v", what, err)
	}
}

func (s *source) version(_, v *yaml.Node) {
	if text, ok := s.text(v, "version"); ok && text != strconv.Itoa(Version) {
		s.report(v.Line, v.Column, "version %q is not known; this rlbench reads version %d", clip(text), Version)
	}
}

// into stores what a reader of text accepts.
func (s *source) into(to *string, read func(*yaml.Node) (string, bool)) func(_, v *yaml.Node) {
	return func(_, v *yaml.Node) {
		if text, ok := read(v); ok {
			*to = text
		}
	}
}

func (s *source) plain(what string) func(*yaml.Node) (string, bool) {
	return func(n *yaml.Node) (string, bool) { return s.text(n, what) }
}

func (s *source) identifier(what string) func(*yaml.Node) (string, bool) {
	return func(n *yaml.Node) (string, bool) {
		text, ok := s.text(n, what)
		if ok && !nameForm.MatchString(text) {
			s.report(n.Line, n.Column, "%s %q: want 1 to 64 letters, digits, '-' and '_', the first a letter or digit", what, clip(text))
			return "", false
		}
		return text, ok
	}
}

// oneOf reads a name of a closed list.
func (s *source) oneOf(what string, known []string) func(*yaml.Node) (string, bool) {
	return func(n *yaml.Node) (string, bool) {
		text, ok := s.text(n, what)
		if ok && !slices.Contains(known, text) {
			s.report(n.Line, n.Column, "%v", UnknownName(what, text, known))
			return "", false
		}
		return text, ok
	}
}

func (s *source) limit(n *yaml.Node, to *limiter.Limit) {
	text, ok := s.text(n, "limit")
	if !ok {
		return
	}
	l, err := limiter.ParseLimit(clip(text))
	for _, mistake := range split(err) {
		s.report(n.Line, n.Column, "%v", mistake)
	}
	if err == nil {
		*to = l
	}
}

// split takes a joined error apart, whatever it is joined of; nil has no parts.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var parts []error
		for _, part := range joined.Unwrap() {
			parts = append(parts, split(part)...)
		}
		return parts
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func (s *source) clock(n *yaml.Node, to *Clock) {
	text, ok := s.text(n, "clock")
	if !ok {
		return
	}
	c, err := ParseClock(text)
	if err != nil {
		s.report(n.Line, n.Column, "%v", err)
		return
	}
	*to = c
}

func (s *source) seed(n *yaml.Node, to *uint64) {
	text, ok := s.text(n, "seed")
	if !ok {
		return
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.report(n.Line, n.Column, "seed %q: want a whole number from 0", clip(text))
		return
	}
	*to = seed
}

func (s *source) keys(n *yaml.Node, to *Keys) {
	at := newPlaces()
	s.mapping(n, "keys", []field{
		{"count", false, func(_, v *yaml.Node) {
			text, ok := s.text(v, "keys count")
			if !ok {
				return
			}
			k, err := strconv.Atoi(text)
			if err != nil || k < 1 || k > maxKeys {
				s.report(v.Line, v.Column, "keys count %q: want a whole number from 1 to %d", clip(text), maxKeys)
				return
			}
			to.Count = k
		}},
		at.noting(field{"addresses", false, func(_, v *yaml.Node) { s.network(v, &to.Addresses.Network) }}),
		at.noting(field{"step", false, s.whole("step", 128, &to.Addresses.Step)}),
		at.noting(field{"client", false, s.whole("client", 128, &to.Addresses.Client)}),
		at.noting(field{"distribution", false, s.into(&to.Distribution, s.oneOf("distribution", Distributions))}),
		at.noting(field{"zipf", false, func(_, v *yaml.Node) { s.zipf(v, to) }}),
	})
	s.addressed(at, to)
	given := at.values["distribution"]
	switch {
	case to.Distribution == "zipf" && at.keys["zipf"] == nil:
		s.report(given.Line, given.Column, "distribution zipf needs its exponent: zipf: {s: 0.9}")
	case at.keys["zipf"] == nil:
	case given != nil && given.Value == to.Distribution && to.Distribution != "zipf":
		s.report(at.keys["zipf"].Line, at.keys["zipf"].Column, "zipf is a distribution of its own and not %s", to.Distribution)
	default:
		to.Distribution = "zipf"
	}
}

// addressed checks what is said about addresses.
func (s *source) addressed(at places, to *Keys) {
	if to.Addresses.Network.IsValid() {
		to.Addresses = to.Addresses.withDefaults()
		if err := to.Addresses.validate(to.Count); err != nil {
			s.report(at.keys["addresses"].Line, at.keys["addresses"].Column, "keys: %v", err)
		}
		return
	}
	for _, field := range []string{"step", "client"} {
		if key := at.keys[field]; key != nil && at.keys["addresses"] == nil {
			s.report(key.Line, key.Column, "keys: %q is about addresses, and there are none", field)
		}
	}
}

// network reads a range of addresses.
func (s *source) network(n *yaml.Node, to *netip.Prefix) {
	text, ok := s.text(n, "addresses")
	if !ok {
		return
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		s.report(n.Line, n.Column, "addresses %q: want a network such as 2001:db8::/56 or 198.51.100.0/24", clip(text))
		return
	}
	*to = p
}

// zipf reads the exponent of a zipf distribution.
func (s *source) zipf(n *yaml.Node, to *Keys) {
	s.mapping(n, "zipf", []field{{"s", true, func(_, v *yaml.Node) {
		text, ok := s.text(v, "zipf s")
		if !ok {
			return
		}
		exponent, err := strconv.ParseFloat(text, 64)
		if err != nil || !(exponent > 0 && exponent <= maxZipf) {
			s.report(v.Line, v.Column, "zipf s %q: want a number above 0, at most %d", clip(text), maxZipf)
			return
		}
		to.S = exponent
	}}})
}
