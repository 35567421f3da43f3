package scenarios_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rlbench/rlbench/scenarios"
)

// checkProblems holds what is true of every refusal of a file: each mistake has
// a place in the file or none, a line of its own, and is fit to print.
func checkProblems(t *testing.T, file string, err error) {
	t.Helper()
	var problems scenarios.Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("the error is %T, want Problems: %v", err, err)
	}
	lines, shown := linesOf(file), map[string]bool{}
	for _, line := range append(lines, strings.Split(strings.TrimPrefix(file, "\ufeff"), "\n")...) {
		// An editor counts the lines in another way where a file has odd breaks.
		shown[excerpted(line)] = true
	}
	for i, p := range problems {
		switch {
		case p.Line == 0 && (p.Column != 0 || p.Excerpt != ""):
			t.Errorf("no line, and yet a place: %+v", p)
		case p.Line < 0 || p.Line > len(lines):
			t.Errorf("line %d of %d: %+v", p.Line, len(lines), p)
		case p.Line > 0 && p.Column < 1:
			t.Errorf("line %d has no column: %+v", p.Line, p)
		case p.Excerpt != "" && !shown[excerpted(p.Excerpt)]:
			t.Errorf("the excerpt %q is no line of the file", p.Excerpt)
		case p.Excerpt != "" && p.Column > utf8.RuneCountInString(p.Excerpt)+1:
			t.Errorf("the caret is at %d, beyond %q", p.Column, p.Excerpt)
		}
		if text := p.Message + p.Excerpt; p.Message == "" || strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
			t.Errorf("not fit for one line of a terminal: %q", text)
		}
		if len(p.Message) > 2000 {
			t.Errorf("a message of %d bytes: %.80q", len(p.Message), p.Message)
		}
		if i > 0 && p.Line > 0 && after(problems[i-1], p) {
			t.Errorf("%v stands before %v", problems[i-1], p)
		}
	}
	if n := len(err.Error()); n > 1<<20 {
		t.Errorf("the error is %d bytes long", n)
	}
}

func after(p, q scenarios.Problem) bool {
	return p.Line > q.Line || p.Line == q.Line && p.Column > q.Column
}

// linesOf are the lines of a file as YAML counts them.
func linesOf(file string) []string {
	breaks := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	return strings.Split(breaks.Replace(strings.TrimPrefix(file, "\ufeff")), "\n")
}

// excerpted is a line as an excerpt shows it: without control characters, and
// not all of a long one.
func excerpted(line string) string {
	runes := []rune(strings.TrimRight(line, "\r"))
	for i, r := range runes {
		if unicode.IsControl(r) {
			runes[i] = ' '
		}
	}
	return strings.TrimRight(string(runes[:min(len(runes), 100)]), " ")
}

func TestProblemsAsText(t *testing.T) {
	for _, row := range []struct {
		p    scenarios.Problem
		want string
		why  string
	}{
		{
			scenarios.Problem{File: "f.yaml", Message: "file is empty"},
			"f.yaml: file is empty", "a mistake without a place",
		},
		{
			scenarios.Problem{File: "f.yaml", Line: 3, Column: 1, Message: "m"},
			"f.yaml:3:1: m", "a place of which there is nothing to show",
		},
		{
			scenarios.Problem{File: "f.yaml", Line: 3, Column: 1, Excerpt: "a: b", Message: "m"},
			"f.yaml:3:1: m\n  a: b\n  ^", "the caret under the first character",
		},
		{
			scenarios.Problem{File: "f.yaml", Line: 3, Column: 4, Excerpt: "a: b", Message: "m"},
			"f.yaml:3:4: m\n  a: b\n     ^", "and under the last",
		},
	} {
		if got := row.p.Error(); got != row.want {
			t.Errorf("got\n%s\nwant\n%s\n(%s)", got, row.want, row.why)
		}
		if got, want := (scenarios.Problems{row.p, row.p}).Error(), row.want+"\n"+row.want; got != want {
			t.Errorf("twice: got\n%s\nwant\n%s\n(%s)", got, want, row.why)
		}
	}
}
