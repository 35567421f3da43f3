package target

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rlbench/rlbench/scenarios"
)

// template is text with placeholders in it, such as "rl:{{id}}:{window_index}".
type template struct {
	text  string // as it was written
	parts []part
}

// part is a literal, or a placeholder with its offset in windows.
type part struct {
	literal string
	placeholder
	offset int64
}

// maxTemplate bounds what is written for each key and argument.
const maxTemplate = 500

// A name of the table, perhaps with an offset; bare, or in braces.
var (
	bareName   = regexp.MustCompile(`^([a-z][a-z0-9_]*)([+-][0-9]{1,3})?$`)
	bracedName = regexp.MustCompile(`^\{([a-z][a-z0-9_]*)([+-][0-9]{1,3})?\}`)
)

// parseArgument reads a bare name, or else a template.
func parseArgument(text string) (template, error) {
	if m := bareName.FindStringSubmatch(text); m != nil {
		p, known, err := reference(m[1], m[2])
		switch {
		case err != nil:
			return template{}, err
		case known:
			return template{text, []part{p}}, nil
		}
	}
	return parseTemplate(text)
}

// parseTemplate finds the placeholders. Braces around anything else are what
// they are: hash tags have some.
func parseTemplate(text string) (template, error) {
	if len(text) > maxTemplate {
		return template{}, fmt.Errorf("text of %d bytes; want at most %d", len(text), maxTemplate)
	}
	t := template{text: text}
	literal := 0 // where the current one starts
	for i := 0; i < len(text); {
		m := bracedName.FindStringSubmatch(text[i:])
		if m == nil {
			i++
			continue
		}
		p, known, err := reference(m[1], m[2])
		if err != nil {
			return template{}, err
		}
		if !known {
			i += len(m[0])
			continue
		}
		if literal < i {
			t.parts = append(t.parts, part{literal: text[literal:i]})
		}
		i += len(m[0])
		literal = i
		t.parts = append(t.parts, p)
	}
	if literal < len(text) || len(t.parts) == 0 {
		t.parts = append(t.parts, part{literal: text[literal:]})
	}
	return t, nil
}

// reference finds what a name stands for. A name that nearly is one is a
// mistake: taken for a literal, a typo would test another limiter.
func reference(name, offset string) (p part, known bool, err error) {
	p.placeholder, known = placeholderNamed(name)
	if !known {
		if near := scenarios.DidYouMean(name, placeholderNames()); near != "" {
			return p, false, fmt.Errorf("unknown placeholder %q%s", name, near)
		}
		return p, false, nil
	}
	if offset != "" {
		if p.use&shifts == 0 {
			return p, false, fmt.Errorf("%s takes no offset: %s%s", name, name, offset)
		}
		p.offset, _ = strconv.ParseInt(offset, 10, 64)
	}
	return p, true, nil
}

// fill writes the text for a call.
func (t template) fill(c call) string {
	if len(t.parts) == 1 {
		return t.parts[0].fill(c)
	}
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.fill(c))
	}
	return b.String()
}

func (p part) fill(c call) string {
	if p.value == nil {
		return p.literal
	}
	if p.use&timed != 0 && !c.timed {
		return "" // only a blank now gets here
	}
	c.at += p.offset * c.window()
	return p.value(c)
}

// uses reports whether a placeholder of that use is in it.
func (t template) uses(u use) bool {
	for _, p := range t.parts {
		if p.use&u != 0 {
			return true
		}
	}
	return false
}

// names reports whether a placeholder is in it.
func (t template) names(name string) bool {
	for _, p := range t.parts {
		if p.name == name {
			return true
		}
	}
	return false
}
