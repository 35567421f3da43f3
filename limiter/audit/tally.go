package audit

import (
	"cmp"
	"fmt"
	"slices"
)

// examples is how many keys are named for each finding.
const examples = 3

// tally counts findings by kind, place and form, and gaps by code and command.
type tally struct {
	matcher *Matcher
	found   map[group]*Finding
	order   []group
	last    map[group]string // key counted last, so that many of one are one key
	gaps    []Gap
}

type group struct {
	code  Code
	place Place
	form  string
}

func newTally(m *Matcher) *tally {
	return &tally{matcher: m, found: map[group]*Finding{}, last: map[group]string{}}
}

// add counts one thing that was found. The key may be empty, if it is a matter of
// the server.
func (t *tally) add(code Code, place Place, form, key string, e Example) {
	g := group{code, place, form}
	f := t.found[g]
	if f == nil {
		f = &Finding{Kind: KindOf(code), Place: place, Form: form}
		t.found[g] = f
		t.order = append(t.order, g)
	}
	f.Count++
	if key != "" {
		if f.Keys > 0 && t.last[g] == key {
			return
		}
		f.Keys++
		t.last[g] = key
		e.Key = t.matcher.Show(key)
	}
	if len(f.Examples) < examples && e != (Example{}) {
		f.Examples = append(f.Examples, e)
	}
}

// matches looks for addresses in a part of a key.
func (t *tally) matches(place Place, key string, item []byte) {
	for _, m := range t.matcher.Find(item) {
		t.add(m.Code, place, m.Form, key, Example{Shown: m.Shown()})
	}
}

// say adds a finding about the server, with a message of its own.
func (t *tally) say(code Code, message string) {
	t.add(code, InServer, "", "", Example{})
	t.found[group{code, InServer, ""}].Message = message
}

// gap adds what was not looked at. Of the same kind there is one, for all keys.
func (t *tally) gap(g Gap) {
	for i := range t.gaps {
		known := &t.gaps[i]
		if known.Code == g.Code && known.Command == g.Command && known.Message == g.Message {
			known.Keys += g.Keys
			return
		}
	}
	t.gaps = append(t.gaps, g)
}

// findings are all, failures first, in the order of Kinds.
func (t *tally) findings() []Finding {
	rank := map[Code]int{}
	for i, k := range Kinds {
		rank[k.Code] = i
	}
	all := make([]Finding, 0, len(t.order))
	for _, g := range t.order {
		f := *t.found[g]
		if f.Message == "" {
			f.Message = f.message()
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Kind.Code], rank[b.Kind.Code]), cmp.Compare(b.Keys, a.Keys))
	})
	return all
}

func (f *Finding) message() string {
	text := f.Kind.Doc
	if f.Form != "" {
		text += " (" + f.Form + ")"
	}
	switch {
	case f.Keys == 0:
		return fmt.Sprintf("%s: %s", text, times(f.Count))
	case f.Place == InKey && f.Count == f.Keys:
		return fmt.Sprintf("%s: %s", text, plural(int(f.Keys), "key"))
	case f.Form == "":
		return fmt.Sprintf("%s: %s", text, plural(int(f.Keys), "key"))
	}
	return fmt.Sprintf("%s: %s, %s in a %s", text, plural(int(f.Keys), "key"), times(f.Count), f.Place)
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
