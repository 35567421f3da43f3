package scenarios_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/scenarios"
)

// vocabulary are the closed lists that people mistype.
func vocabulary() map[string][]string {
	lists := map[string][]string{
		"keys of a scenario": {"version", "name", "description", "limit", "clock", "seed", "keys", "phases", "checks", "faults", "drain", "late"},
		"keys of keys":       {"count", "distribution", "zipf"},
		"keys of a phase": {
			"name", "at", "for", "shape", "count", "rate", "from", "to", "every", "cost", "limit", "skew", "jitter", "pseudonym", "repeat", "retry",
			"trace", "format", "speed", "since", "until", "spread",
		},
		"keys of repeat": {"times", "every"},
		"keys of retry":  {"mode", "wait", "round", "jitter", "within"},
		"distributions":  scenarios.Distributions,
	}
	for _, m := range scenarios.RetryModes {
		lists["retry modes"] = append(lists["retry modes"], m.Name)
	}
	for _, s := range scenarios.Shapes {
		lists["shapes"] = append(lists["shapes"], s.Name)
	}
	for _, m := range scenarios.Metrics {
		lists["metrics"] = append(lists["metrics"], m.Name)
	}
	for _, k := range scenarios.FaultKinds {
		lists["faults"] = append(lists["faults"], k.Name)
	}
	lists["spreads"] = scenarios.Spreads
	lists["failure policies"] = scenarios.FailurePolicies
	for _, c := range scenarios.Clocks {
		lists["clocks"] = append(lists["clocks"], string(c.Name))
	}
	return lists
}

// The manual has every word that a file may use.
func TestTheManualKnowsEveryWord(t *testing.T) {
	manual, err := os.ReadFile("../docs/scenario-file.md")
	if err != nil {
		t.Fatal(err)
	}
	for list, words := range vocabulary() {
		for _, word := range words {
			if what, suffix, ok := strings.Cut(word, "_"); ok && (what == "service" || what == "response") && suffix != "p50" {
				word = "_" + suffix // behind the first of its kind
			}
			// Most are names in backticks, keys of nested mappings are shown in use.
			if text := string(manual); !strings.Contains(text, "`"+word+"`") && !strings.Contains(text, word+": ") && !strings.Contains(text, ": "+word+"`") {
				t.Errorf("%s: %s is not in the manual", list, word)
			}
		}
	}
}

// The commonest typos are one letter too many, too few or wrong, and two letters
// swapped. Of words of at least five letters all of them are recognised.
func TestEveryCommonTypoIsRecognised(t *testing.T) {
	for list, words := range vocabulary() {
		for _, word := range words {
			if len(word) < 5 || slices.Contains([]string{"retry", "trace", "format", "spread"}, word) { // "every", "rate", "from" and "speed" are as near
				continue
			}
			for what, typo := range typos(word) {
				got, ok := scenarios.Nearest(typo, words)
				if ok && percentile.MatchString(word) && percentile.ReplaceAllString(got, "") == percentile.ReplaceAllString(word, "") &&
					strings.HasPrefix(typo, percentile.ReplaceAllString(word, "")) {
					continue // a typo in the digits can be another percentile of the same
				}
				if !ok || got != word {
					t.Errorf("%s: %s of %q is %q: suggested %q", list, what, word, typo, got)
				}
			}
		}
	}
}

// percentile is what percentiles of one thing differ in.
var percentile = regexp.MustCompile(`p[0-9]+$`)

func typos(word string) map[string]string {
	all := map[string]string{}
	for i := range word {
		all[fmt.Sprintf("a letter more at %d", i)] = word[:i] + "x" + word[i:]
		all[fmt.Sprintf("a letter less at %d", i)] = word[:i] + word[i+1:]
		all[fmt.Sprintf("a wrong letter at %d", i)] = word[:i] + "x" + word[i+1:]
		if i > 0 && word[i] != word[i-1] {
			all[fmt.Sprintf("a swap at %d", i)] = word[:i-1] + word[i:i+1] + word[i-1:i] + word[i+1:]
		}
	}
	return all
}

func TestNoSuggestionIsBetterThanANonsensicalOne(t *testing.T) {
	known := []string{"fixed", "log", "counter"}
	for _, row := range []struct{ word, why string }{
		{"", "nothing was written"},
		{"token-bucket", "a name of something else"},
		{"gcra", "another one, as short as a known one"},
		{"x", "a single letter"},
		{strings.Repeat("log", 1000), "too long to compare"},
	} {
		if got := scenarios.DidYouMean(row.word, known); got != "" {
			t.Errorf("%.20q: got %s, want nothing (%s)", row.word, got, row.why)
		}
	}
	if got := scenarios.DidYouMean("fixd", nil); got != "" {
		t.Errorf("without known words: got %s", got)
	}
	if got, want := scenarios.DidYouMean("fixd", known), ` (did you mean "fixed"?)`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
