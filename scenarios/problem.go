package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Problem is one mistake in a scenario file.
type Problem struct {
	File         string
	Line, Column int // from 1; 0 if the mistake has no place
	Excerpt      string
	Message      string
}

// Error is "file:line:column: message", then the line with a caret under it.
func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Message)
	}
	s := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	if p.Excerpt != "" {
		s += fmt.Sprintf("\n  %s\n  %s^", p.Excerpt, strings.Repeat(" ", max(p.Column-1, 0)))
	}
	return s
}

// Problems are all mistakes of a file, in its order.
type Problems []Problem

// Error lists them, one after the other.
func (ps Problems) Error() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.Error()
	}
	return strings.Join(texts, "\n")
}

// maxProblems is how many mistakes of a file are told. A file with more is
// usually no scenario at all.
const maxProblems = 100

// inOrder sorts the mistakes by place and cuts off the tail.
func (ps Problems) inOrder() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if more := len(ps) - maxProblems; more > 0 {
		last := Problem{File: ps[0].File, Message: fmt.Sprintf("and %d more mistakes", more)}
		ps = append(ps[:maxProblems:maxProblems], last)
	}
	return ps
}

// source is a file that is being read, and what is wrong with it so far.
type source struct {
	name     string
	lines    []string
	problems Problems
	phases   []string // names so far
	service  bool     // the scenario names one, known or not
}

// report notes a mistake at a place.
func (s *source) report(line, column int, format string, args ...any) {
	if last := len(s.lines); line > last && last > 0 { // an end of file that is not a line
		line, column = last, len([]rune(s.lines[last-1]))+1
	}
	p := Problem{File: s.name, Line: line, Column: column, Message: shortened(fmt.Sprintf(format, args...), 600)}
	if line >= 1 && line <= len(s.lines) {
		p.Excerpt = excerpt(s.lines[line-1])
		if column > len([]rune(p.Excerpt))+1 { // a caret behind the end points at what is missing
			p.Excerpt = ""
		}
	}
	s.problems = append(s.problems, p)
}

// clip cuts a text that comes from a file to what a message can hold.
func clip(s string) string {
	const most = 64
	if utf8.RuneCountInString(s) <= most+most/8 {
		return s
	}
	return shortened(s, most)
}

func shortened(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// excerpt makes a line fit to print: tabs and control characters become blanks
// of the same width, and what is too long is cut.
func excerpt(line string) string {
	const width = 120
	runes := []rune(strings.TrimRight(line, "\r\n"))
	for i, r := range runes {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			runes[i] = ' '
		}
	}
	if len(runes) > width {
		runes = runes[:width]
	}
	return string(runes)
}
