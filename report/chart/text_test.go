package chart

import (
	"strings"
	"testing"
)

func TestClip(t *testing.T) {
	for _, row := range []struct{ text, ending, want string }{
		{"fixed", ", peak 200", "fixed, peak 200"},
		{"", ", peak 200", ", peak 200"},
		{"a-limiter-with-a-long-name", ", peak 1234", "a-limiter-with-a-long…, peak 1234"},
		{strings.Repeat("i", 25), "", strings.Repeat("i", 25)},
		{strings.Repeat("W", 25), "", strings.Repeat("W", 17) + "…"},
		{strings.Repeat("漢", 25), "", strings.Repeat("漢", 16) + "…"},
		{"e" + strings.Repeat("\u0301", 99), "", "e" + strings.Repeat("\u0301", 99)},
	} {
		got := Clip(row.text, row.ending)
		if got != row.want {
			t.Errorf("%q%q: %q, want %q", row.text, row.ending, got, row.want)
		}
		if w := widthOf(got); w > labelWidth {
			t.Errorf("%q is %g wide of %g", got, w, labelWidth)
		}
	}
}

func TestWrapped(t *testing.T) {
	const text = "The most admitted to one client in any interval"
	lines := wrapped(text, 100)
	if strings.Join(lines, " ") != text || len(lines) < 3 {
		t.Errorf("%q", lines)
	}
	for _, line := range lines {
		if widthOf(line) > 100 {
			t.Errorf("%q is %.0f wide", line, widthOf(line))
		}
	}
	if lines := wrapped("", 100); lines != nil {
		t.Errorf("nothing is %q", lines)
	}
	if lines := wrapped(strings.Repeat("x", 100)+" y", 100); len(lines) != 2 {
		t.Errorf("a long word is %q", lines)
	}
}
