package scenarios_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/scenarios"
)

var update = flag.Bool("update", false, "write the messages of testdata/bad anew; read the diff")

const badFiles = "../testdata/bad"

// bad are the files that have to be refused. Next to each is the whole message.
var bad = []struct{ file, why string }{
	{"unknown-root-key", "a key that does not exist, with the one that was meant"},
	{"unknown-phase-key", "the same in a phase that is written over several lines, one near and one far off"},
	{"unknown-keys-key", "the same under keys"},
	{"unknown-check-key", "the same in a check"},
	{"duplicate-root-key", "the second of two limits, which YAML would let win silently"},
	{"duplicate-phase-key", "the second of two counts"},
	{"missing-keys", "everything that is required, all at once"},
	{"missing-units", "durations and rates without a unit"},
	{"too-many-units", "numbers, durations and rates in each other's places"},
	{"bad-limit", "a limit in words"},
	{"bad-limit-range", "a limit with two mistakes, which are two problems"},
	{"wrong-types", "mappings for values, values for lists, a list for a number"},
	{"wrong-types-inside", "the same inside of phases, keys and checks"},
	{"null-values", "a key whose value was forgotten"},
	{"null-in-phase", "the same inside of phases, and a phase that was forgotten"},
	{"many-mistakes", "one of nearly every kind, in the order of the file"},
	{"empty", "no byte at all"},
	{"only-comments", "nothing but comments"},
	{"only-marker", "the start of a document, and then none"},
	{"two-documents", "a second document, which a lenient reader would drop"},
	{"tab-indent", "a tab as indentation, which YAML forbids"},
	{"tab-before-value", "a tab before a value is fine, so the mistake is in the value"},
	{"invalid-utf8", "Latin-1"},
	{"control-character", "a bell in a string"},
	{"future-version", "a file of a later rlbench"},
	{"scalar-root", "a name where a file was meant"},
	{"list-root", "the phases without anything around them"},
	{"unknown-names", "a typo in each closed list, with what was meant"},
	{"unknown-far-names", "names that resemble nothing"},
	{"phase-name-twice", "a phase that checks could not refer to"},
	{"bad-names", "names that are unfit for a path or a command line"},
	{"burst-with-for", "a burst has no length"},
	{"burst-with-rate", "two things that a burst does not take, each in its place"},
	{"constant-both", "count and rate contradict each other"},
	{"constant-neither", "two things that are missing"},
	{"zero-phases", "a scenario of nothing"},
	{"counts", "counts, rates and lengths that are negative, fractional, nothing or too large"},
	{"expressions", "every way to get an expression wrong"},
	{"division-by-zero", "what cannot be computed for the limit of this very file"},
	{"too-long", "spans that are one tick or a year too long"},
	{"huge-key-count", "more keys than there may be"},
	{"huge-key", "a key of 300 letters: the message stays readable"},
	{"unclosed", "a brace that is not closed"},
	{"unterminated-string", "a quote that is not closed"},
	{"bad-indent", "a line that is indented by one blank too few"},
	{"unquoted-op", ">= is the start of a block scalar"},
	{"unquoted-op-flow", "and not allowed inside of braces"},
	{"unquoted-not-equal", "!= is a YAML tag"},
	{"unknown-alias", "an alias of nothing"},
	{"merge-key", "merge keys are not YAML any more"},
	{"self-alias", "a list that contains itself"},
	{"non-ascii-column", "the caret is right behind umlauts too"},
	{"faults", "kinds, times and parameters that faults do not have or need"},
	{"ramps", "rates that are nothing, missing, negative, too many or no rates"},
	{"drips", "gaps that are nothing, missing, negative or not taken"},
	{"herds", "what herds and saturation do not take, and a flood"},
	{"other-clients", "budgets, skews, jitters and pseudonyms that cannot be"},
	{"repeats", "repetitions that are none, too many, too long or half said"},
	{"retries", "clients that cannot wait, or wait for two reasons"},
	{"zipf-without-s", "a distribution without its exponent"},
	{"zipf-without-exponent", "the same, by its name"},
	{"zipf-and-cycle", "two distributions"},
	{"zipf-and-typo", "one mistake is told once"},
	{"zipf-zero", "an exponent that makes all keys equal has a name: uniform"},
	{"zipf-number", "an exponent where a mapping is wanted"},
	{"zipf-unknown-key", "a key that zipf does not have"},
	{"drain-too-long", "a wait of more than an hour"},
	{"drain-negative", "a wait that is over before it begins, by this limit"},
	{"drain-without-unit", "5 of what"},
	{"drain-list", "a list of waits"},
	{"late-number", "late by 5 of what"},
	{"check-clock", "a check for a clock that is none"},
	{"edge-tiers", "a tier of which everything is wrong"},
	{"edge-tier-empty", "a tier without a limit"},
	{"edge-tier-both", "a tier with two limits"},
	{"edge-tier-range", "what only the tier itself knows to be wrong, three at once"},
	{"services", "paths that are none or missing, and what a service does not go with"},
	{"no-service", "a path that nobody is asked for"},
	{"senders", "numbers of senders that cannot be"},
	{"addresses", "one address is no network, and other numbers"},
	{"addresses-masked", "a network with an address in it, with what it is"},
	{"addresses-few", "more keys than addresses"},
	{"addresses-step", "steps that are wider than the network"},
	{"addresses-client", "clients of IPv4 that are longer than an address"},
	{"addresses-none", "steps and clients of no addresses"},
	{"replays", "logs, parts and speeds that cannot be, and what a replay does not take"},
	{"check-dimensions", "numbers for durations, durations for numbers, and a percentile that is not there"},
}

func TestBadFiles(t *testing.T) {
	for _, row := range bad {
		t.Run(row.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(badFiles, row.file+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			s, err := scenarios.Read(strings.NewReader(string(data)), row.file+".yaml", scenarios.BuiltinDefaults())
			if err == nil {
				t.Fatalf("accepted as %+v (%s)", s, row.why)
			}
			golden(t, row.file+".txt", err.Error()+"\n", row.why)
		})
	}
}

// golden compares with a file, or writes it.
func golden(t *testing.T, file, got, why string) {
	t.Helper()
	path := filepath.Join(badFiles, file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s; got\n%s\nwant\n%s", why, got, want)
	}
}

func TestEveryBadFileIsTested(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(badFiles, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range bad {
		listed = append(listed, row.file+".yaml", row.file+".txt")
	}
	for _, file := range files {
		if !slices.Contains(listed, filepath.Base(file)) {
			t.Errorf("%s is tested by nobody", file)
		}
	}
	if len(files) != len(listed) {
		t.Errorf("%d files, %d are listed", len(files), len(listed))
	}
}

// TestProblemsOfBadFiles holds what is true of every message.
func TestProblemsOfBadFiles(t *testing.T) {
	for _, row := range bad {
		data, err := os.ReadFile(filepath.Join(badFiles, row.file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = scenarios.Read(strings.NewReader(string(data)), "f.yaml", scenarios.BuiltinDefaults())
		checkProblems(t, string(data), err)
	}
}
