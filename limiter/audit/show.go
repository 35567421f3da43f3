package audit

import (
	"regexp"
	"strconv"
	"strings"
)

// Redact is an item with what m finds in it replaced by Match.Shown.
func (m *Matcher) Redact(item string) string {
	var b strings.Builder
	done := 0
	for _, match := range m.Find([]byte(item)) {
		b.WriteString(item[done:match.Start])
		b.WriteString(match.Shown())
		done = match.End
	}
	b.WriteString(item[done:])
	return b.String()
}

// numbers are rows of four and more that could be an address, though not by
// themselves: with other separators, or behind a fifth.
var numbers = regexp.MustCompile(`[0-9]{1,3}(?:[._-][0-9]{1,3}){3,}`)

// clipped is how many characters of a key are shown.
const clipped = 100

// Show makes the name of a key fit for a report: redacted, on the safe side,
// printable, and not too long.
func (m *Matcher) Show(key string) string {
	const enough = 4096 // of what is clipped below
	text := numbers.ReplaceAllStringFunc(m.Redact(key[:min(len(key), enough)]), func(row string) string {
		return "<numbers, " + plural(len(row), "byte") + ">"
	})
	text = strconv.Quote(text)
	text = text[1 : len(text)-1]
	text = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text)
	if runes := []rune(text); len(runes) > clipped {
		text = string(runes[:clipped]) + "…"
	}
	return text
}
