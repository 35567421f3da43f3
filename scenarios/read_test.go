package scenarios_test

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// byText compares expressions by what was written, which is all there is to see.
var byText = cmp.Options{cmp.Comparer(func(a, b scenarios.Expr) bool {
	return a.String() == b.String() && a.Present() == b.Present()
}), cmpopts.EquateEmpty()}

func expr(t testing.TB, text string) scenarios.Expr {
	t.Helper()
	e, err := scenarios.ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const smallest = "version: 1\nname: x\nphases:\n- {name: a, shape: burst, count: 1}\n"

func TestWhatAFileLeavesOutIsFilledIn(t *testing.T) {
	d := scenarios.Defaults{Limit: limiter.Limit{Max: 7, Window: time.Hour}, Clock: scenarios.Server, Seed: 42}
	got, err := scenarios.Read(strings.NewReader(smallest), "x.yaml", d)
	if err != nil {
		t.Fatal(err)
	}
	want := &scenarios.Scenario{
		Name: "x", Limit: d.Limit, Clock: d.Clock, Seed: d.Seed,
		Keys:   scenarios.Keys{Count: 1, Distribution: "uniform"},
		Phases: []scenarios.Phase{{Name: "a", Shape: "burst", Count: expr(t, "1")}},
	}
	if diff := cmp.Diff(want, got, byText, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// Defaults that are none are refused where they are used, and do not become a
// plan without a window.
func TestWithoutDefaultsAFileHasToSayIt(t *testing.T) {
	if s, err := scenarios.Read(strings.NewReader(smallest), "x.yaml", scenarios.Defaults{}); err == nil {
		t.Errorf("accepted with limit %s and clock %q", s.Limit, s.Clock)
	}
	if _, err := scenarios.Read(strings.NewReader(smallest+"limit: 5/1s\nclock: virtual\n"), "x.yaml", scenarios.Defaults{}); err != nil {
		t.Errorf("the file says everything: %v", err)
	}
}

func TestEverythingThatAFileMaySay(t *testing.T) {
	const file = `---
# a comment
version: 1
name: Full_file-1
description: >
  Two lines
  in one.
limit: 20/10s
clock: client
seed: 18446744073709551615
keys: {count: 1000000, distribution: zipf, zipf: {s: 0.9}}
drain: 2*window
late: window/4
phases:
  - {name: a, at: edge - window/2, for: window, shape: poisson, rate: 2*limit/window, cost: 3}
  - name: b
    shape: burst
    count: 2*limit
    limit: limit/2
    skew: -5s
    jitter: window/60
    pseudonym: 7
    repeat: {times: 3, every: window}
    retry: {mode: obey, round: 1s, jitter: 2s, within: 9*window}
  - {name: c, for: 1s, shape: ramp, from: 0/s, to: limit/window, retry: {mode: ignore, wait: 3s}}
  - {name: d, for: 1s, shape: drip, every: 10ms}
checks:
  - {phase: b.retry, clock: virtual, metric: last_admitted, op: "<", value: window}
  - {algorithm: log, phase: a, metric: peak_in_window, op: "<=", value: limit, level: fail}
  - {metric: sent, op: ==, value: 5, level: warn}
faults: []
...
`
	got, err := scenarios.Read(strings.NewReader(file), "full.yaml", scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	want := &scenarios.Scenario{
		Name: "Full_file-1", Description: "Two lines in one.\n",
		Limit: limiter.Limit{Max: 20, Window: 10 * time.Second}, Clock: scenarios.Client, Seed: 1<<64 - 1,
		Keys:  scenarios.Keys{Count: 1_000_000, Distribution: "zipf", S: 0.9},
		Drain: expr(t, "2*window"), Late: expr(t, "window/4"),
		Phases: []scenarios.Phase{
			{Name: "a", At: expr(t, "edge - window/2"), For: expr(t, "window"), Shape: "poisson", Rate: expr(t, "2*limit/window"), Cost: expr(t, "3")},
			{
				Name: "b", Shape: "burst", Count: expr(t, "2*limit"), Limit: expr(t, "limit/2"), Skew: expr(t, "-5s"), Jitter: expr(t, "window/60"), Pseudonym: 7,
				Repeat: &scenarios.Repeat{Times: expr(t, "3"), Every: expr(t, "window")},
				Retry:  &scenarios.Retry{Mode: "obey", Round: expr(t, "1s"), Jitter: expr(t, "2s"), Within: expr(t, "9*window")},
			},
			{Name: "c", For: expr(t, "1s"), Shape: "ramp", From: expr(t, "0/s"), To: expr(t, "limit/window"), Retry: &scenarios.Retry{Mode: "ignore", Wait: expr(t, "3s")}},
			{Name: "d", For: expr(t, "1s"), Shape: "drip", Every: expr(t, "10ms")},
		},
		Checks: []scenarios.Check{
			{Phase: "b.retry", Clock: "virtual", Metric: "last_admitted", Op: "<", Value: expr(t, "window")},
			{Algorithm: "log", Phase: "a", Metric: "peak_in_window", Op: "<=", Value: expr(t, "limit")},
			{Metric: "sent", Op: "==", Value: expr(t, "5"), Warn: true},
		},
	}
	if diff := cmp.Diff(want, got, byText, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("the whole format (-want +got):\n%s", diff)
	}
}

func TestUnusualFilesThatAreFine(t *testing.T) {
	for _, row := range []struct{ file, why string }{
		{"\ufeff" + smallest, "a byte order mark, as Windows editors write it"},
		{strings.ReplaceAll(smallest, "\n", "\r\n"), "Windows line ends"},
		{"\ufeff" + strings.ReplaceAll(smallest, "\n", "\r\n"), "both"},
		{strings.TrimSuffix(smallest, "\n"), "no line end at the end"},
		{"---\n" + smallest + "...\n", "document markers"},
		{"# first\n\n" + smallest + "\n\n# last", "comments and blank lines around"},
		{"{version: 1, name: x, phases: [{name: a, shape: burst, count: 1}]}", "all of it as JSON would write it"},
		{`{"version": 1, "name": "x", "phases": [{"name": "a", "shape": "burst", "count": "1"}]}`, "all of it as JSON"},
		{"version: 1\nname: x\nphases:\n- &a {name: &n a, shape: burst, count: 1}\nkeys: &k {count: &c 1}\n", "anchors that nobody uses"},
		{"version: &v 1\nname: x\nphases:\n- {name: a, shape: burst, count: *v}\n", "an alias of a value"},
		{"version: 1\nname: x\nphases: &p\n- {name: a, shape: burst, count: 1}\nchecks:\n- &c {metric: sent, op: ==, value: 1}\n- *c\n", "an alias of a whole check"},
		{"name: x\nphases:\n- {count: 1, shape: burst, name: a}\nversion: 1\n", "keys in another order"},
		{strings.Replace(smallest, "name: x", "name: 2026", 1), "a name that looks like a number"},
		{strings.Replace(smallest, "name: x", "name: yes", 1), "or like a boolean"},
		{smallest + "limit: '5/1s'\n", "quotes where none are needed"},
		{smallest + "limit: 0/1ms\nkeys: {}\nchecks: []\nfaults: []\n", "everything empty that may be"},
		{smallest + "description: \"tab\\there, bell\\a, 日本語\"\n", "a description of any text"},
		{smallest + strings.Repeat("# a long comment\n", 10_000), "170 kB of comments"},
		{"version: 1\nname: x\nlimit: 70/1m\nphases:\n- {name: a, shape: burst, count: limit/7}\n", "a count that is whole for this limit, and not for the default one"},
		{"version: 1\nname: x\nlimit: 300/1m\nphases:\n- {name: a, shape: burst, count: limit - 200}\n", "one that is above zero for this limit only"},
		{"version: 1\nname: x\nlimit: 5/1m\nphases:\n- {name: a, shape: burst, count: 1000000*limit}\n", "one that is not too large for this limit"},
		{"version: 1\nname: x\nlimit: 5/1m\nphases:\n- {name: a, shape: burst, count: 1, cost: limit/5}\n", "a cost that is whole for this limit"},
		{"version: 1\nname: x\nlimit: 5/1s\nphases:\n- {name: a, shape: constant, for: 400000*window*limit, count: 1}\n", "a length that is not too long for this limit"},
		{smallest + "limit: 5/1s\nchecks:\n- {metric: sent, op: <, value: 100/(limit-100)}\n", "a value that can be computed for this limit, and not for the default one"},
	} {
		if _, err := scenarios.Read(strings.NewReader(row.file), "x.yaml", scenarios.BuiltinDefaults()); err != nil {
			t.Errorf("%v (%s)", err, row.why)
		}
	}
}

// Whatever a file contains, the answer is short and comes soon: no test here
// looks at a clock, but the run would not end.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	const mega = 1 << 20
	lines := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i, i, i, i, i, i)
	}
	const head = "version: 1\nname: x\nphases:\n"
	for _, row := range []struct{ name, file, why string }{
		{"bomb", bomb + "phases: *a30\n", "aliases that would expand to 10^30 values"},
		{"depth", "version: " + strings.Repeat("[", mega-20), "lists in lists"},
		{"flow", "version: " + strings.Repeat("{a: ", mega/20), "mappings in mappings"},
		{"indent", strings.Repeat("- ", mega/2-1), "lists in lists by indentation"},
		{"zeros", strings.Repeat("\x00", mega), "a sparse file"},
		{"blanks", strings.Repeat(" ", mega), "a file of blanks"},
		{"line", "name: " + strings.Repeat("x", mega-10), "a value of a megabyte"},
		{"key", strings.Repeat("k", mega-10) + ": 1", "a key of a megabyte"},
		{"count", head + "- {name: a, shape: burst, count: " + strings.Repeat("9", mega-100) + "}", "a number of a megabyte"},
		{"anchors", "version: " + strings.Repeat("&a ", mega/3-10) + "1", "anchor after anchor"},
		{"keys", lines("k%d: 1", 10_000), "ten thousand unknown keys"},
		{"phases", head + lines("- {name: a%d}", 10_000), "ten thousand phases without a shape, each compared with all before"},
		{"checks", head + lines("- {name: a%d}", 10_000) + "checks:\n" + lines("- {phase: b%d}", 10_000), "many checks, each of them compared with many phases"},
		{"aliases", head + "- &a {name: a, shape: burst, count: 1}\n" + strings.Repeat("- *a\n", 10_000), "one phase ten thousand times"},
		{"too large", smallest + strings.Repeat("#", mega), "a byte too many would be fine YAML"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := scenarios.Read(strings.NewReader(row.file), "f.yaml", scenarios.BuiltinDefaults())
			if err != nil {
				checkProblems(t, row.file, err)
				return
			}
			t.Errorf("accepted with %d phases (%s)", len(s.Phases), row.why)
		})
	}
}

func TestAFileWithoutEndIsNotReadToItsEnd(t *testing.T) {
	endless := &counting{}
	_, err := scenarios.Read(endless, "zero.yaml", scenarios.BuiltinDefaults())
	if err == nil || err.Error() != "zero.yaml: file is larger than 1048576 bytes" {
		t.Errorf("got %v", err)
	}
	if endless.n > 2<<20 {
		t.Errorf("%d bytes were read", endless.n)
	}
}

// counting gives comments for ever.
type counting struct{ n int }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	c.n += len(p)
	return len(p), nil
}

func TestTroubleWithReadingIsNoProblemOfTheFile(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := scenarios.Read(io.MultiReader(strings.NewReader(smallest), iotest.ErrReader(broken)), "x.yaml", scenarios.BuiltinDefaults())
	var problems scenarios.Problems
	if !errors.Is(err, broken) || errors.As(err, &problems) {
		t.Errorf("got %T: %v", err, err)
	}
}

// The place of a mistake is the same for every kind of line break, and what is
// shown is the line with the mistake.
func TestPlacesBehindUnusualLineBreaks(t *testing.T) {
	const file = "version: 1\nname: x\ndescription: \"one two\"\ncolour: blue\nphases:\n- {name: a, shape: burst, count: 1}\n"
	for _, row := range []struct{ file, why string }{
		{file, "the line breaks of Unix"},
		{strings.ReplaceAll(file, "\n", "\r\n"), "those of Windows"},
		{strings.ReplaceAll(file, "\n", "\r"), "those of old Macs"},
		{strings.Replace(file, "one two", "one\u2028two", 1), "a line separator that was pasted into a text"},
		{strings.Replace(file, "one two", "one\u0085two", 1), "a next-line character"},
	} {
		_, err := scenarios.Read(strings.NewReader(row.file), "x.yaml", scenarios.BuiltinDefaults())
		var problems scenarios.Problems
		if !errors.As(err, &problems) || len(problems) != 1 {
			t.Errorf("got %v, want one problem (%s)", err, row.why)
			continue
		}
		if p := problems[0]; p.Column != 1 || p.Line < 4 || p.Line > 5 || p.Excerpt != "colour: blue" {
			t.Errorf("place %d:%d, excerpt %q (%s)", p.Line, p.Column, p.Excerpt, row.why)
		}
	}
}
