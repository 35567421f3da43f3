package limitertest

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
)

func read(text string) ([]Case, error) {
	return Read(fstest.MapFS{"v.txt": {Data: []byte(text)}}, "v.txt")
}

const good = `base 2026-01-01T00:00:00Z
case one
why  It is short.
limit 2/1m
+0s a 1 allow 1 0s 1m
`

func TestReadFaults(t *testing.T) {
	for _, row := range []struct {
		why, text string
		want      string // empty: no fault
	}{
		{"a whole file", good, ""},
		{"comments and blank lines", "# head\n\n" + good + "\n  # tail\n", ""},
		{"every part of a row", good + "repeat 3 every 1s peek +1m-1µs a 1 deny 0 1m+1µs 31d-5h", ""},
		{"an empty file tests nothing", "# nothing\n", "v.txt: no case"},
		{"a row without a case", "+0s a 1 allow 1 0s 1m", `v.txt:1: want base or case first: "+0s a 1 allow 1 0s 1m"`},
		{"a row without a limit", "base 2026-01-01T00:00:00Z\ncase x\nwhy X.\n+0s a 1 allow 1 0s 1m", "v.txt:4: want a limit"},
		{"a limit without a base", "case x\nwhy X.\nlimit 1/1m\n", "v.txt:3: want a base"},
		{"a case without a reason", "base 2026-01-01T00:00:00Z\ncase x\nlimit 1/1m\nreset a", `case "x" has no why`},
		{"a case that asks nothing", good + "case x\nwhy X.\nlimit 1/1m\n", `case "x" has no request`},
		{"two cases of one name", good + "case one", "v.txt:6: a case of this name exists"},
		{"a reason that is no sentence", good + "case x\nwhy because", "full stop"},
		{"an unknown word", good + "expect nothing", "v.txt:6: want AT KEY COST"},
		{"a word in the place of an instant", good + "now a 1 allow 0 0s 1m", "or a known word"},
		{"a column is missing", good + "+0s a 1 allow 0 0s", "v.txt:6: want AT KEY COST"},
		{"an unknown verdict", good + "+0s a 1 alow 0 0s 1m", `verdict "alow": want allow or deny: "+0s a 1 alow 0 0s 1m"`},
		{"an admission that waits", good + "+0s a 1 allow 0 1s 1m", `retry "1s"`},
		{"a denial that does not wait", good + "+0s a 1 deny 0 0s 1m", `retry "0s"`},
		{"a denial that waits backwards", good + "+0s a 1 deny 0 1s-2s 1m", `retry "1s-2s"`},
		{"more remains than the limit", good + "+0s a 1 allow 3 0s 1m", `remaining "3": want 0 to 2`},
		{"a cost of 0", good + "+0s a 0 allow 1 0s 1m", `cost "0"`},
		{"a negative reset", good + "+0s a 1 allow 1 0s 1s-1m", `reset "1s-1m" is negative`},
		{"a reset that is finer than the clock", good + "+0s a 1 allow 1 0s 1ns", "whole number of microseconds"},
		{"a duration without a unit", good + "+0s a 1 allow 1 0s 60", "no unit"},
		{"an instant before 1970", good + "-30000d a 1 allow 1 0s 1m", "outside 1970"},
		{"a window that changes", good + "limit 2/1h", "keeps its window"},
		{"a base that hides where the edges are", "base 2026-01-01T00:00:30Z\ncase x\nwhy X.\nlimit 1/1m", "not a multiple of the window"},
		{"a base after the limit", good + "base 2026-01-01T00:00:00Z", "want the base before the limit"},
		{"a repetition of one", good + "repeat 1 +0s a 1 allow 1 0s 1m", "at least 2"},
		{"a reset of nothing", good + "reset", "want reset KEY"},
	} {
		_, err := read(row.text)
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", row.why, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: got error %v, want one with %q", row.why, err, row.want)
		}
	}
}

// TestReadReportsAll: one run shows every fault of a file.
func TestReadReportsAll(t *testing.T) {
	_, err := read(good + "+0s a 1 alow 0 0s 1m\nlimit 2\nreset\n")
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) || len(all.Unwrap()) != 3 {
		t.Errorf("want three faults, got %v", err)
	}
}

func TestReadRow(t *testing.T) {
	cases, err := read(good + "repeat 3 every 1s peek +1m-1µs b 2 deny 0 never 31d+5h-1µs")
	if err != nil {
		t.Fatal(err)
	}
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := base.Add(time.Minute - time.Microsecond)
	want := step{
		line: 6, op: opPeek, repeat: 3, every: time.Second,
		request: limiter.Request{Key: "b", At: at, Cost: 2},
		want: limiter.Decision{
			Limit: 2, RetryAfter: limiter.Never, At: at,
			ResetAfter: 31*24*time.Hour + 5*time.Hour - time.Microsecond,
		},
	}
	steps := cases[0].steps
	if diff := cmp.Diff(want, steps[len(steps)-1], cmp.AllowUnexported(step{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestRunSeesWrongAnswers changes one number of a right case at a time.
func TestRunSeesWrongAnswers(t *testing.T) {
	const right = `base 2026-01-01T00:00:00Z
case one
why  It is right.
limit 3/1m
+0s a 1 allow 2 0s 1m
repeat 2 every 1s +1s a 1 allow 0 0s 58s
+3s a 1 deny 0 57s 57s
reset a
peek +3s a 2 allow 1 0s 57s
`
	for _, row := range []struct{ why, from, to, want string }{
		{"nothing is wrong", "", "", ""},
		{"a verdict", "+3s a 1 deny 0 57s 57s", "+3s a 1 allow 0 0s 57s", "v.txt:7 (one)"},
		{"the verdict of a repetition", "repeat 2 every 1s +1s a 1 allow 0 0s", "repeat 2 every 1s +1s a 1 deny 0 58s", "v.txt:6 (one): repetition 1"},
		{"the last numbers of a repetition", "allow 0 0s 58s", "allow 0 0s 59s", "v.txt:6 (one): repetition 2"},
		{"what remains", "allow 2 0s 1m", "allow 1 0s 1m", "v.txt:5 (one)"},
		{"a wait", "57s 57s", "56s 57s", "v.txt:7 (one)"},
		{"a reset", "57s 57s", "57s 56s", "v.txt:7 (one)"},
		{"a peek", "2 allow 1", "2 allow 0", "v.txt:9 (one)"},
		{"a forgotten reset", "reset a", "# reset a", "v.txt:9 (one)"},
	} {
		cases, err := read(strings.Replace(right, row.from, row.to, 1))
		if err != nil {
			t.Fatalf("%s: %v", row.why, err)
		}
		err = cases[0].Run(t.Context(), NewReference(limiter.Fixed).Limiter)
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", row.why, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: got %v, want an error with %q", row.why, err, row.want)
		}
	}
}

// FuzzRead: what is accepted runs, and what is refused says where.
func FuzzRead(f *testing.F) {
	f.Add(good)
	f.Add(good + "repeat 3 every 1s peek +1m-1µs b 2 deny 0 never 31d+5h-1µs")
	f.Add("base 1970-01-01T00:00:00Z\ncase a\nwhy .\nlimit 1/1ms\n--1h a 1 deny 0 never 0s")
	f.Fuzz(func(t *testing.T, text string) {
		cases, err := read(text)
		if err != nil && !strings.HasPrefix(err.Error(), "v.txt") {
			t.Errorf("the error names no file: %v", err)
		}
		for _, c := range cases {
			if err == nil && (c.Name == "" || !strings.HasSuffix(c.Why, ".") || len(c.steps) < 2) {
				t.Errorf("an incomplete case was accepted: %+v", c)
			}
		}
	})
}
