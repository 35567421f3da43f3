package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/faulty"
	"github.com/rlbench/rlbench/scenarios"
)

// docs/scenarios.md is made of the built-ins, so that it cannot say anything else
// than what they do.
func TestScenarioDocs(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "scenarios.md")
	got := scenarioDocs(t)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is stale; make update rewrites it (-want +got):\n%s", path, diff)
	}
}

// The pictures of the README are what "make docs" draws.
func TestPicturesAreCurrent(t *testing.T) {
	t.Parallel()
	for file, args := range map[string][]string{
		"boundary-burst.svg": {"run", "boundary-burst"},
		"counter-worst.svg":  {"run", "counter-worst", "-a", "log,counter"},
	} {
		want, err := os.ReadFile(filepath.Join("..", "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		got := planned(t, append(args, "--redis", "embedded", "-o", "svg"))
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("docs/%s is stale; make docs draws it (-want +got):\n%s", file, diff)
		}
	}
}

// planned is what the program prints.
func planned(t *testing.T, args []string) string {
	t.Helper()
	c := exec.Command(plainProgram(t), args...)
	c.Dir = ".."
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return string(out)
}

func scenarioDocs(t *testing.T) string {
	t.Helper()
	var index, body bytes.Buffer
	for _, b := range scenarios.Builtins() {
		s, err := b.Read(scenarios.BuiltinDefaults())
		if err != nil {
			t.Fatal(err)
		}
		shown := "what the traffic of a log would"
		if !b.Log {
			p, err := scenarios.NewPlan(s)
			if err != nil {
				t.Fatal(err)
			}
			shown = exposes(t, p)
		}
		fmt.Fprintf(&index, "| [%s](#%s) | %s | %s |\n", b.Name, b.Name, s.Description, shown)
		prose := leadingComment(b)
		if prose == "" {
			t.Errorf("scenario %s has no comment that says what it is for", b.Name)
		}
		fmt.Fprintf(&body, "\n## %s\n\n%s\n", b.Name, prose)
		run := "rlbench run " + b.Name + " -a all"
		plan := []string{"plan", b.Name, "-a", "all"}
		if b.Log {
			run += " --trace access.log"
			plan = append(plan, "--limit", "10/1m", "--trace", "testdata/logs/access.log")
		}
		fmt.Fprintf(&body, "\n```console\n$ rlbench %s\n%s```\n", strings.Join(plan, " "), planned(t, plan))
		fmt.Fprintf(&body, "\nChecks:\n\n```\n%s```\n", checksOf(s))
		if found := foundBy(b.Name); found != "" {
			fmt.Fprintf(&body, "\nIt has to find %s.\n", found)
		}
		fmt.Fprintf(&body, "\nRun it: `%s`\n", run)
	}
	return fmt.Sprintf(docsHead, index.String()) + body.String() + docsShapes()
}

const docsHead = `<!-- Made of scenarios/library by make update. Edits here are lost. -->

# The built-in scenarios

Below each scenario is what it is for, when it sends what, and what every bundled algorithm makes of it at the
scenario's own limit, if each request is decided at its planned instant. *Peak* is the most that is admitted in any
trailing window, *worst case* the most that the algorithm promises under any traffic. ` + "`rlbench show NAME`" + ` prints a
scenario to edit, and [the file format](scenario-file.md) is explained apart.

In the table, a factor is the peak divided by the limit where it is above it, and a wrong denial is one that an exact
trailing window would not have made. A known bug is a limiter of ` + "`rlbench list specimens`" + ` that has to be caught here.

| scenario | | what it exposes |
|---|---|---|
%s`

// leadingComment is what the author of a scenario says above it.
func leadingComment(b scenarios.Builtin) string {
	var lines []string
	for line := range strings.Lines(string(b.Source)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		lines = append(lines, strings.TrimSpace(text))
	}
	return strings.NewReplacer("*", `\*`, "<", `\<`).Replace(strings.Join(lines, "\n"))
}

// exposes sums up what algorithms do under a plan that an exact limiter would not.
func exposes(t *testing.T, p *scenarios.Plan) string {
	var peaks, denials []string
	for _, a := range limiter.Algorithms {
		m := expect(t, p, a).Measures
		// A changed limit has no one factor.
		if m.PeakInWindow > m.Limit && m.Limit > 0 {
			peaks = append(peaks, fmt.Sprintf("%s %.2f×", a.Name, float64(m.PeakInWindow)/float64(m.Limit)))
		}
		if m.WrongDenials > 0 {
			denials = append(denials, fmt.Sprintf("%s %d", a.Name, m.WrongDenials))
		}
	}
	var all []string
	if len(peaks) > 0 {
		all = append(all, strings.Join(peaks, ", "))
	}
	if len(denials) > 0 {
		all = append(all, "wrong denials: "+strings.Join(denials, ", "))
	}
	if n := len(specimensOf(p.Scenario)); n > 0 {
		all = append(all, plural(n, "known bug"))
	}
	if len(peaks)+len(denials) == 0 {
		all = append([]string{"sound limiters are exact"}, all...)
	}
	return strings.Join(all, "; ")
}

func specimensOf(scenario string) (found []faulty.Specimen) {
	for _, s := range faulty.Specimens {
		if s.Scenario == scenario {
			found = append(found, s)
		}
	}
	return found
}

func foundBy(scenario string) string {
	var names []string
	for _, s := range specimensOf(scenario) {
		names = append(names, "`faulty:"+s.Name+"`")
	}
	return strings.Join(names, ", ")
}

// checksOf are the checks as --check takes them, with what that cannot say.
func checksOf(s *scenarios.Scenario) string {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.TabIndent)
	for _, c := range s.Checks {
		text := c.String()
		if c.Clock != "" {
			text += "\t# " + string(c.Clock) + " clock"
		}
		if c.Warn {
			text += "\t# a warning"
		}
		fmt.Fprintln(t, text)
	}
	t.Flush()
	return b.String()
}

func docsShapes() string {
	var b strings.Builder
	b.WriteString("\n# The shapes of traffic\n\nHow a phase spreads its requests; time goes from left to right.\n")
	for _, s := range scenarios.Shapes {
		e := shapeEntry(s)
		fmt.Fprintf(&b, "\n## Shape %s\n\n%s%s. It %s.\n\n```\n%s\n```\n", s.Name, strings.ToUpper(e.doc[:1]), e.doc[1:], e.more[0], strings.Join(e.more[1:], "\n"))
	}
	fmt.Fprintf(&b, "\n%s\n", shapeNote)
	return b.String()
}
