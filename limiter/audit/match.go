package audit

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Match is an address, or what was made of one, in bytes [Start, End) of an item.
type Match struct {
	Code Code
	// Form is how it is written: "ipv4", "hex", "sha256 in hex", ...
	Form       string
	Start, End int
	// head is what may be shown of it.
	head string
}

// Shown is all that a report should tell of what was found: how it is written,
// how it begins, how long it is. Of an address that is the first octet or group.
func (m Match) Shown() string {
	what := m.Form
	if m.head != "" {
		what += " " + m.head + "…"
	}
	return fmt.Sprintf("<%s, %s>", what, plural(m.End-m.Start, "byte"))
}

// Matcher finds addresses in bytes. The zero value finds those that are written
// out; one of NewMatcher also finds what others make of given ones. It is safe
// for concurrent use.
type Matcher struct {
	given   given
	packed  packings
	digests digests
}

// MaxAddresses is how many addresses can be given: some thousand digests are
// computed of each.
const MaxAddresses = 256

// NewMatcher makes a matcher for given addresses. Digests may hold a date, of
// which the days around today are tried. More than MaxAddresses are an error.
func NewMatcher(addresses []netip.Addr, today time.Time) (*Matcher, error) {
	if len(addresses) > MaxAddresses {
		return nil, fmt.Errorf("%d addresses are given, want at most %d", len(addresses), MaxAddresses)
	}
	m := &Matcher{given: newGiven(addresses)}
	if len(m.given.all) > 0 {
		m.packed = newPackings(m.given)
		m.digests = newDigests(m.given, today)
	}
	return m, nil
}

// Find finds everything in an item, such as a key's name or a member, from left
// to right. Matches do not overlap.
func (m *Matcher) Find(item []byte) []Match {
	var found []Match
	for _, v := range views(item, len(m.given.all) > 0) {
		add := func(code Code, form, head string, start, end int) {
			start, end = v.span(start, end)
			found = append(found, Match{code, form + v.note, start, end, head})
		}
		m.text(v, add)
		if len(m.given.all) > 0 && !v.known {
			m.packed.find(v.data, add)
			m.digests.find(v.data, add)
		}
	}
	if len(found) < 2 {
		return found
	}
	return merged(found)
}

// adder takes what was found in bytes [start, end) of a view.
type adder func(code Code, form, head string, start, end int)

// text finds addresses that are written out.
func (m *Matcher) text(v view, add adder) {
	seen := func(a netip.Addr, form string, start, end int) {
		if !v.known || m.given.all[a.Unmap()] {
			add(AddressText, form, firstPart(a), start, end)
		}
	}
	nibbles(v.data, seen)
	ipv4s(v.data, seen)
	ipv6s(v.data, m.given, seen)
}

// firstPart is the first octet or group, which tells little and helps to find
// the rest.
func firstPart(a netip.Addr) string {
	if a.Unmap().Is4() {
		return fmt.Sprintf("%d.", a.Unmap().As4()[0])
	}
	first, _, _ := strings.Cut(a.String(), ":")
	return first + ":"
}

// merged makes one of matches that overlap: they are the same, seen twice. It is
// called what was found first, and as wide as all, so that nothing of it is shown.
func merged(found []Match) []Match {
	type numbered struct {
		Match
		n int
	}
	all := make([]numbered, len(found))
	for i, m := range found {
		all[i] = numbered{m, i}
	}
	slices.SortFunc(all, func(a, b numbered) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.n, b.n)) })
	found = found[:0]
	first := 0 // number of what the last match is called after
	for _, m := range all {
		if len(found) == 0 || found[len(found)-1].End <= m.Start {
			found, first = append(found, m.Match), m.n
			continue
		}
		last := &found[len(found)-1]
		start, end := last.Start, max(last.End, m.End)
		if m.n < first {
			*last, first = m.Match, m.n
		}
		last.Start, last.End = start, end
	}
	return found
}

// Text is the first address that is written out in a text, IPv4 before IPv6, as
// both can be seen in one that is mapped.
func Text(text string) (netip.Addr, bool) {
	var first netip.Addr
	seen := func(a netip.Addr, _ string, _, _ int) {
		if !first.IsValid() {
			first = a
		}
	}
	ipv4s([]byte(text), seen)
	ipv6s([]byte(text), given{}, seen)
	return first, first.IsValid()
}

func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
