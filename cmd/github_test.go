package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/report"
)

// However -o is written, it is found where nobody could read the flags.
func TestOutputsAmongArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"run x --bogus -o github":               "github",
		"run x --bogus -ogithub=notes":          "github=notes",
		"run x --bogus -o=github -o json":       "github json",
		"run x --bogus -qo github":              "github",
		"run x --output github --output=json=r": "github json=r",
		"run x --bogus -- -o github":            "",
		"run x --bogus -o":                      "",
		"run x --only github --order shuffled":  "",
	} {
		if got := strings.Join(outputsIn(strings.Fields(args)), " "); got != want {
			t.Errorf("%s: outputs %q, want %q", args, got, want)
		}
	}
}

// Whoever has several mistakes to mend hears of each, and the worst is the code.
func TestAllOfSeveralErrors(t *testing.T) {
	t.Parallel()
	if allOf(nil, nil) != nil {
		t.Error("nothing is an error")
	}
	full := &problem{exitInternal, errors.New("full"), "make room"}
	if err := allOf(nil, full, nil); !errors.Is(err, full) || hintOf(err, "") != "make room" {
		t.Errorf("one: %v", err)
	}
	err := allOf(usagef("other", "wrong"), full, full)
	if codeOf(err) != exitInternal || hintOf(err, "") != "other; make room" || err.Error() != "wrong\nfull\nfull" {
		t.Errorf("several: %d, %q, %q", codeOf(err), hintOf(err, ""), err)
	}
}

// Results of other machines with a calibration of a third need two things mended.
func TestCompareHintsBoth(t *testing.T) {
	t.Parallel()
	noise, machine := fmt.Errorf("a: %w", report.ErrOtherNoise), fmt.Errorf("b: %w", report.ErrOtherMachine)
	for _, c := range []struct {
		err   error
		wants []string
	}{
		{noise, []string{"calibrate here"}},
		{machine, []string{"one machine", "--across-machines"}},
		{errors.Join(noise, machine), []string{"calibrate here", "one machine", "--across-machines"}},
		{errors.New("other traffic"), []string{"one scenario"}},
	} {
		hint := compareHint(c.err, "one machine", "one scenario")
		for _, part := range []string{"calibrate here", "one machine", "--across-machines", "one scenario"} {
			if strings.Contains(hint, part) != slices.Contains(c.wants, part) {
				t.Errorf("%v: hint %q, want %q", c.err, hint, c.wants)
			}
		}
	}
}
