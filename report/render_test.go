package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/report"
)

var update = flag.Bool("update", false, "rewrite golden files and the schema")

// golden compares with a file in testdata/golden.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "testdata", "golden", "report", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func TestTableGolden(t *testing.T) {
	for _, c := range fixtures(t) {
		for _, width := range []int{80, 140} {
			t.Run(fmt.Sprintf("%s/%d", c.name, width), func(t *testing.T) {
				golden(t, fmt.Sprintf("%s.%d.txt", c.name, width), render(t, "table", c.report, report.Options{Width: width}))
			})
		}
	}
}

func TestJSONGolden(t *testing.T) {
	for _, c := range fixtures(t) {
		if !slices.Contains([]string{"boundary-burst", "overshoot", "outage-closed"}, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			golden(t, c.name+".json", render(t, "json", c.report, report.Options{}))
		})
	}
}

// What is saved can be shown again: decoding loses nothing.
func TestJSONRoundTrip(t *testing.T) {
	for _, c := range fixtures(t) {
		t.Run(c.name, func(t *testing.T) {
			data := render(t, "json", c.report, report.Options{})
			r, err := report.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if again := render(t, "json", r, report.Options{}); !bytes.Equal(data, again) {
				t.Error(cmp.Diff(string(data), string(again)))
			}
			if diff := cmp.Diff(string(render(t, "table", c.report, report.Options{})), string(render(t, "table", r, report.Options{}))); diff != "" {
				t.Errorf("table of the decoded report differs:\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":             "",
		"another document":    `{"hello": 1}`,
		"a version to come":   `{"schema": "rlbench.report/v2"}`,
		"half a report":       `{"schema": "rlbench.report/v1", "rows": [`,
		"a number as verdict": `{"schema": "rlbench.report/v1", "verdict": 3}`,
		"a verdict of nobody": `{"schema": "rlbench.report/v1", "verdict": "maybe"}`,
		"that of a scenario":  `{"schema": "rlbench.report/v1", "verdict": "pass", "scenarios": [{"name": "s", "limit": {"max": 1, "window_us": 1000000}, "verdict": "maybe"}]}`,
		"that of a row":       `{"schema": "rlbench.report/v1", "verdict": "pass", "rows": [{"verdict": ""}]}`,
		"that of a finding":   `{"schema": "rlbench.report/v1", "verdict": "pass", "findings": [{"verdict": "Pass"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := report.Decode([]byte(data)); err == nil {
				t.Errorf("decoded %+v", r)
			}
		})
	}
}

// No line is wider than asked while there is something left to drop, nothing
// but colour escapes, and colour only when wanted.
func TestTableKeepsToItsTerminal(t *testing.T) {
	for _, c := range fixtures(t) {
		for _, width := range []int{80, 100, 200} {
			text := string(render(t, "table", c.report, report.Options{Width: width}))
			for line := range strings.Lines(text) {
				if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
					t.Errorf("%s at %d: a line of %d: %s", c.name, width, n, line)
				}
				if strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
					t.Errorf("%s: trailing blanks: %q", c.name, line)
				}
			}
			if strings.ContainsAny(text, "\x1b\u009b\r") {
				t.Errorf("%s: an escape byte without colour", c.name)
			}
		}
	}
	coloured := string(render(t, "table", fixtures(t)[0].report, report.Options{Color: true}))
	if !strings.Contains(coloured, "\x1b[") {
		t.Error("no colour although it was asked for")
	}
}
