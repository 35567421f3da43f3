package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// recipe is a job of docs/ci.md: what it runs, as its CI runs it.
type recipe struct {
	name   string
	script string // as found, with the arguments of rlbench run in it
	run    func(script, dir string) *exec.Cmd
	codes  func(rlbench int) int // what the job ends with
}

func bash(script, dir string) *exec.Cmd {
	c := exec.Command("bash", "-e", "-c", script)
	c.Dir = dir
	return c
}

func same(code int) int { return code }

// recipes are those of the manual.
func recipes(t *testing.T) []recipe {
	t.Helper()
	manual, err := os.ReadFile(filepath.Join("..", "docs", "ci.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := func(language, of string) string {
		t.Helper()
		for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(manual), -1) {
			if strings.Contains(m[1], of) {
				return m[1]
			}
		}
		t.Fatalf("no %s with %q in docs/ci.md", language, of)
		return ""
	}
	var gitlab struct{ Rlbench struct{ Script []string } }
	if err := yaml.Unmarshal([]byte(block("yaml", "before_script")), &gitlab); err != nil {
		t.Fatal(err)
	}
	jenkins := regexp.MustCompile("(?s)sh '''(.*?)'''").FindStringSubmatch(block("groovy", "pipeline"))
	if jenkins == nil || len(gitlab.Rlbench.Script) == 0 {
		t.Fatal("no script in a recipe")
	}
	makes := func(script, dir string) *exec.Cmd {
		if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
		return bash("make limiters", dir)
	}
	two := func(code int) int { return min(code, 1) * 2 }
	return []recipe{
		{"gitlab", strings.Join(gitlab.Rlbench.Script, "\n"), bash, same},
		{"jenkins", jenkins[1], bash, same},
		{"make", block("make", "limiters"), makes, two},
		{"shell", block("sh", "case"), bash, same},
		{"action", actionStep(t, "Run the scenarios"), action, same},
	}
}

// TestRecipesHandTheExitCodeOn: whatever CI runs it, a job ends with the code of
// rlbench, and the last line of rlbench is in its log.
func TestRecipesHandTheExitCodeOn(t *testing.T) {
	t.Parallel()
	specOf(t, "managed")
	path := filepath.Dir(plainProgram(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, r := range recipes(t) {
		for _, row := range []struct {
			to   string
			code int
		}{
			{"--max-overshoot 100%", 0},
			{"--max-overshoot 0%", 1},
			{"--max-overshoot nonsense", 2},
			{"--check keys_left==0", 3},
			{"--redis redis://127.0.0.1:1", 4},
		} {
			t.Run(r.name+"/"+row.to, func(t *testing.T) {
				t.Parallel()
				const usual = "--max-overshoot 100%"
				if !strings.Contains(r.script, usual) {
					t.Fatalf("no %s in\n%s", usual, r.script)
				}
				c := r.run(strings.Replace(r.script, usual, row.to, 1), t.TempDir())
				c.Env = append(append(os.Environ(), c.Env...), "PATH="+path, "RLBENCH_TIMEOUT=30s")
				out, _ := c.CombinedOutput()
				if got := c.ProcessState.ExitCode(); got != r.codes(row.code) {
					t.Errorf("ends with %d, want %d\n%s", got, r.codes(row.code), out)
				}
				if want := regexp.MustCompile(`(?m)^rlbench: verdict=\w+ exit=` + string('0'+rune(row.code)) + `$`); !want.Match(out) {
					t.Errorf("no last line of rlbench\n%s", out)
				}
				if strings.ContainsAny(string(out), "\x1b\r") {
					t.Errorf("an escape byte or a bar in a log\n%s", out)
				}
			})
		}
	}
}

type composite struct {
	Inputs map[string]struct {
		Description string
		Default     *string
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			Name, ID, Uses, If, Shell, Run string
			Env, With                      map[string]string
		}
	}
}

func theAction(t *testing.T) composite {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", ".github", "actions", "rlbench", "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var c composite
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// actionStep is the shell line of a step; its arguments stand for those of an input.
func actionStep(t *testing.T, name string) string {
	t.Helper()
	for _, s := range theAction(t).Runs.Steps {
		if s.Name == name {
			return "export ARGS='--max-overshoot 100%'\n" + s.Run
		}
	}
	t.Fatalf("no step %q", name)
	return ""
}

func action(script, dir string) *exec.Cmd {
	c := bash(script, dir)
	redis := "managed"
	if strings.Contains(script, "redis://127.0.0.1:1") {
		redis = "redis://127.0.0.1:1"
	}
	c.Env = []string{
		"SCENARIOS=boundary-burst", "ALGORITHMS=fixed,log,counter", "REDIS=" + redis, "INCONCLUSIVE=fail",
		"RUNNER_TEMP=" + dir, "GITHUB_STEP_SUMMARY=" + dir + "/summary.md", "GITHUB_OUTPUT=" + dir + "/outputs",
	}
	return c
}

// TestAction: every input is used, by a step that takes it from a variable; what it says
// it leaves behind is there.
func TestAction(t *testing.T) {
	specOf(t, "managed")
	a := theAction(t)
	if a.Runs.Using != "composite" {
		t.Errorf("it runs by %q", a.Runs.Using)
	}
	used := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %q has an expression in its script, which an input could end: %s", s.Name, s.Run)
		}
		if s.Run != "" && s.Shell != "bash" {
			t.Errorf("step %q has shell %q", s.Name, s.Shell)
		}
		for input := range a.Inputs {
			for _, text := range append([]string{s.If}, valuesOf(s.Env, s.With)...) {
				used[input] = used[input] || strings.Contains(text, "inputs."+input)
			}
		}
	}
	for input, about := range a.Inputs {
		if !used[input] || about.Default == nil || about.Description == "" {
			t.Errorf("input %s: used %t, %+v", input, used[input], about)
		}
	}
	dir := t.TempDir()
	c := action(strings.Replace(actionStep(t, "Run the scenarios"), "100%", "0%", 1), dir)
	c.Env = append(append(os.Environ(), c.Env...), "PATH="+filepath.Dir(plainProgram(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, _ := c.CombinedOutput()
	outputs, err := os.ReadFile(filepath.Join(dir, "outputs"))
	for output, about := range a.Outputs {
		if err != nil || !strings.Contains("\n"+string(outputs), "\n"+output+"=") || about.Value != "${{ steps.run.outputs."+output+" }}" {
			t.Errorf("output %s (%s) is not in %q, error %v\n%s", output, about.Value, outputs, err, out)
		}
	}
	for _, left := range []string{"summary.md", "rlbench-results/result.json", "rlbench-results/result.xml"} {
		if _, err := os.Stat(filepath.Join(dir, left)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(string(out), "::error title=rlbench boundary-burst") {
		t.Errorf("no annotation\n%s", out)
	}
	for inconclusive, want := range map[string]int{"fail": exitInconclusive, "pass": exitOK} {
		c := action(strings.Replace(actionStep(t, "Run the scenarios"), "--max-overshoot 100%", "--check keys_left==0", 1), t.TempDir())
		c.Env = append(append(os.Environ(), c.Env...), "INCONCLUSIVE="+inconclusive, "PATH="+filepath.Dir(plainProgram(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out, _ := c.CombinedOutput(); c.ProcessState.ExitCode() != want {
			t.Errorf("inconclusive is to %s, and ends with %d\n%s", inconclusive, c.ProcessState.ExitCode(), out)
		}
	}
}

func valuesOf(all ...map[string]string) (values []string) {
	for _, m := range all {
		for _, v := range m {
			values = append(values, v)
		}
	}
	return values
}
