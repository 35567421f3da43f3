package cmd

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// filled are the files of init for a limit and limiters.
func filled(t *testing.T, limit string, algorithms ...string) []starter {
	t.Helper()
	var out, errs bytes.Buffer
	o := initOptions{algorithms: algorithms, limit: limit}
	files, err := o.files(&app{Host: still(&out, &errs)})
	if err != nil {
		t.Fatalf("limit %s: %v", limit, err)
	}
	return files
}

func readStarter(text string) (*scenarios.Scenario, error) {
	return scenarios.Read(strings.NewReader(text), "rlbench.yaml", scenarios.BuiltinDefaults())
}

// The scenario is written in terms of its limit, so it holds at any.
func TestInitHoldsAtOtherLimits(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"100/1m", "1/1s", "2/1m", "3/1s", "7/10s", "59/1m", "61/1m", "10/100ms", "33/1m30s", "128/7d", "1000/1h"} {
		s, err := readStarter(filled(t, limit, "all")[0].text)
		if err != nil {
			t.Fatal(err)
		}
		if s.Limit.String() != limit {
			t.Errorf("limit is %s, want %s", s.Limit, limit)
		}
		holdsAt(t, s)
	}
}

var (
	knownKeys = regexp.MustCompile(`unknown key "nosuch" in .*; known: (.*)`)
	example   = regexp.MustCompile(`(?m)^( *)# (- \{.*|[a-z_]+: .*)$`)
	liveKeys  = regexp.MustCompile(`(?m)^keys: .*\n`)
)

// Whatever a scenario file may hold is in the one that init writes.
func TestInitKnowsEveryField(t *testing.T) {
	const all = `{nosuch: 1, keys: {nosuch: 1, zipf: {nosuch: 1}}, checks: [{nosuch: 1}], faults: [{nosuch: 1}],
		phases: [{nosuch: 1, repeat: {nosuch: 1}, retry: {nosuch: 1}}]}`
	_, err := readStarter(all)
	if err == nil {
		t.Fatal("unknown keys are accepted")
	}
	text := filled(t, "100/1m", "log")[0].text
	mappings := knownKeys.FindAllStringSubmatch(err.Error(), -1)
	if len(mappings) != 8 {
		t.Errorf("%d of 8 mappings tell their keys: %v", len(mappings), err)
	}
	for _, m := range mappings {
		for _, key := range strings.Split(m[1], ", ") {
			if !regexp.MustCompile(`\b` + key + `:[ \n]`).MatchString(text) {
				t.Errorf("nothing in rlbench.yaml shows %q", key)
			}
		}
	}
}

// What is commented out works when it is not.
func TestInitExamplesAreRight(t *testing.T) {
	text := filled(t, "100/1m", "log")[0].text
	places := example.FindAllStringSubmatchIndex(text, -1)
	// keys twice, cost, jitter, repeat, limit, senders, skip, skew, pseudonym, also,
	// retry, round, a replay, a check, late, drain, on_failure, timeout, edge_tier,
	// max_in_flight, faults
	if len(places) != 22 {
		t.Errorf("%d examples, want 22", len(places))
	}
	for _, at := range places {
		line := text[at[2]:at[3]] + text[at[4]:at[5]]
		with := text[:at[0]] + line + text[at[1]:]
		if strings.HasPrefix(line, "keys: ") {
			with = liveKeys.ReplaceAllStringFunc(with, func(live string) string {
				if strings.TrimSpace(live) == line {
					return live
				}
				return ""
			})
		}
		if strings.HasPrefix(line, "drain: ") {
			with = strings.Replace(with, "clock: virtual", "clock: server", 1)
		}
		s, err := readStarter(with)
		if err == nil {
			for i := range s.Phases {
				if r := s.Phases[i].Replay; r != nil {
					r.Requests = []scenarios.Recorded{{Key: 1}} // of a log that is there
				}
			}
			_, err = scenarios.NewPlan(s)
		}
		if err != nil {
			t.Errorf("with %q: %v", line, err)
		}
	}
}

// The gate of the workflow is what the limiters promise: at 100/1m a fixed window
// and a counter twice the limit, a bucket one less, a log the limit; at 7/1m a
// bucket 13 of 7, which is six sevenths over.
func TestOvershootOf(t *testing.T) {
	for _, row := range []struct {
		limit limiter.Limit
		names []string
		want  string
	}{
		{limiter.Limit{Max: 100, Window: 60e9}, []string{"log"}, "0%"},
		{limiter.Limit{Max: 100, Window: 60e9}, []string{"log", "gcra"}, "99%"},
		{limiter.Limit{Max: 7, Window: 60e9}, []string{"gcra", "log"}, "86%"},
		{limiter.Limit{Max: 100, Window: 60e9}, []string{"log", "fixed", "gcra"}, "100%"},
		{limiter.Limit{Max: 100, Window: 60e9}, []string{"lua:unknown.lua"}, "0%"},
		// 10⁹ × 100 fits; 2³¹ × 100 × anything must not overflow either.
		{limiter.Limit{Max: limiter.MaxMax, Window: 60e9}, []string{"fixed"}, "100%"},
	} {
		if got := overshootOf(row.names, row.limit); got != row.want {
			t.Errorf("%v at %s: %s, want %s", row.names, row.limit, got, row.want)
		}
	}
}

// workflow is what the tests look at in rlbench-ci.yml.
type workflow struct {
	Env  map[string]string
	Jobs map[string]struct {
		Steps []struct{ Name, Uses, If, Run string }
	}
}

// step is the shell line of a step.
func (w workflow) step(t *testing.T, name string) string {
	t.Helper()
	for _, s := range w.Jobs["rlbench"].Steps {
		if s.Name == name && s.Run != "" {
			return s.Run
		}
	}
	t.Fatalf("no step %q has a shell line", name)
	return ""
}

// The shell lines do what the comments say, in a folder that init has filled.
func TestInitWorkflow(t *testing.T) {
	t.Parallel()
	specOf(t, "managed")
	files := filled(t, "100/1m", defaultLimiters...)
	var w workflow
	if err := yaml.Unmarshal([]byte(files[1].text), &w); err != nil {
		t.Fatal(err)
	}
	upload := w.Jobs["rlbench"].Steps[len(w.Jobs["rlbench"].Steps)-1]
	if !strings.HasPrefix(upload.Uses, "actions/upload-artifact@") || upload.If != "${{ !cancelled() }}" {
		t.Errorf("the last step is %+v, want one that keeps the result of a failure", upload)
	}
	for _, row := range []struct {
		step, from, to string
		code           int
		says           string
		verdict        string // of the result that is kept; "" for none
	}{
		{"Validate the scenario", "", "", 0, "rlbench.yaml: ok", ""},
		{"Run the scenario", "", "", 0, "verdict=pass exit=0", "pass"},
		{"Run the scenario", "--max-overshoot 100%", "--max-overshoot 99%", 1, "::error title=rlbench ", "fail"},
		{"Run the scenario", "--redis managed", "--redis managed --check 'keys_left == 0'", 3, "::warning::inconclusive", "inconclusive"},
		{"Run the scenario", "--redis managed", "--redis redis://127.0.0.1:1", 4, "::error::trouble with Redis", ""},
	} {
		dir := t.TempDir()
		if err := put(dir, files, false); err != nil {
			t.Fatal(err)
		}
		line := w.step(t, row.step)
		if !strings.Contains(line, row.from) {
			t.Fatalf("step %s has no %q", row.step, row.from)
		}
		c := exec.Command("bash", "-e", "-c", strings.Replace(line, row.from, row.to, 1))
		c.Dir = dir
		c.Env = append(os.Environ(), "RLBENCH_TIMEOUT=30s")
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if c.ProcessState.ExitCode() != row.code || !strings.Contains(string(out), row.says) {
			t.Errorf("%s with %q: exit %d, want %d and %q\n%s", row.step, row.to, c.ProcessState.ExitCode(), row.code, row.says, out)
		}
		result, err := os.ReadFile(filepath.Join(dir, "rlbench-result.json"))
		if kept := err == nil; kept != (row.verdict != "") || kept && !strings.Contains(string(result), `"verdict": "`+row.verdict+`"`) {
			t.Errorf("%s with %q: result kept: %t, want verdict %q", row.step, row.to, kept, row.verdict)
		}
	}
}

// A file that cannot be written takes the others back, and brings back what they
// replaced.
func TestPutIsAllOrNothing(t *testing.T) {
	cannot := []starter{{name: "first", text: "new"}, {name: "no/such/folder", text: "new"}}
	t.Run("made", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "made")
		if err := put(dir, cannot, false); err == nil {
			t.Error("written where it cannot be")
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left behind: %v", dir, contents(t, dir))
		}
	})
	t.Run("replaced", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "first"), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := put(dir, cannot, true); err == nil {
			t.Error("written where it cannot be")
		}
		if diff := cmp.Diff([]string{"first=old"}, contents(t, dir)); diff != "" {
			t.Error(diff)
		}
		if err := put(dir, []starter{{name: "first", text: "new"}, {name: "second", text: "new"}}, true); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"first=new", "second=new"}, contents(t, dir)); diff != "" {
			t.Error(diff)
		}
	})
}

// contents are the names and texts of the files of a folder.
func contents(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Name()+"="+string(text))
	}
	slices.Sort(all)
	return all
}
