package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter/backend"
)

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

func readme(t *testing.T, language string) []string {
	t.Helper()
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range fence.FindAllStringSubmatch(string(data), -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	if len(blocks) == 0 {
		t.Fatalf("no %s block in the README", language)
	}
	return blocks
}

// build puts the program into a folder and returns its path.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rlbench")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// managed opens a Redis for the examples, or skips loudly.
func managed(t *testing.T) *backend.Server {
	t.Helper()
	s, err := backend.Open(context.Background(), "managed", backend.Options{})
	if err != nil {
		if os.Getenv("RLBENCH_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skipf("NOT TESTED, the README shows a real Redis: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Timings, versions and the width of columns that hold timings vary; every
// count, word and line does not.
var varying = []struct {
	what *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?m)^\w+: hit the edge at attempt \d+, each with fresh budgets\.\n`), ""}, // or at the first
	{regexp.MustCompile(`\d+(\.\d+)?(µs|ms|s)\b`), "TIME"},
	{regexp.MustCompile(`(redis|valkey) \d+\.\d+\.\d+`), "redis VERSION"},
	{regexp.MustCompile(`[ \n]+`), " "},
}

// In real time, so does who is admitted in which instant.
var inRealTime = regexp.MustCompile(`[▁▂▃▄▅▆▇█·|]{5,}|█ is \d+`)

func steadied(s string, args []string) string {
	if slices.Contains(args, "server") {
		s = inRealTime.ReplaceAllString(s, "MARKS")
	}
	for _, v := range varying {
		s = v.what.ReplaceAllString(s, v.to)
	}
	return strings.TrimSpace(s)
}

// Every "$ rlbench" example is run and prints what the README says it prints.
func TestReadmeCommands(t *testing.T) {
	managed(t)
	path, dir := build(t), workplace(t)
	for _, text := range readme(t, "console") {
		command, want, _ := strings.Cut(text, "\n")
		args := strings.Fields(strings.TrimPrefix(command, "$ rlbench "))
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			got := printed(t, path, dir, args, strings.Contains(want, "\nFAIL  "))
			if diff := cmp.Diff(steadied(want, args), steadied(got, args)); diff != "" {
				t.Errorf("differs from the README (-README +printed):\n%s\n%s", diff, got)
			}
		})
	}
}

// workplace is a folder that examples may write to, with what they need of this one.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data, err := filepath.Abs("testdata")
	if err == nil {
		err = os.Symlink(data, filepath.Join(dir, "testdata"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// printed runs an example. In real time a busy machine can miss every edge, and
// then the honest answer is inconclusive: that alone is worth another try. An example
// may show a limiter that fails.
func printed(t *testing.T, path, dir string, args []string, fails bool) string {
	t.Helper()
	for try := 1; ; try++ {
		c := exec.Command(path, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "COLUMNS=80", "RLBENCH_REDIS=managed")
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		err := c.Run()
		if err == nil || fails && c.ProcessState.ExitCode() == 1 {
			return out.String()
		}
		if c.ProcessState.ExitCode() != 3 || !slices.Contains(args, "server") || try == 3 {
			t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
		}
	}
}

// The scenario of the README is valid and holds.
func TestReadmeScenario(t *testing.T) {
	path := build(t)
	for _, text := range readme(t, "yaml") {
		c := exec.Command(path, "run", "-", "--redis", "embedded")
		c.Stdin = strings.NewReader(text)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// The program of the README compiles, runs, and denies the fourth of three.
func TestReadmeProgram(t *testing.T) {
	s := managed(t)
	for _, text := range readme(t, "go") {
		if strings.Contains(text, "ListenAndServe") {
			continue // TestReadmeService
		}
		path := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("go", "run", path)
		c.Env = append(os.Environ(), "REDIS_URL="+s.URL())
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if want := "true 2\ntrue 1\ntrue 0\nfalse 0\n"; string(out) != want {
			t.Errorf("printed %q, want %q", out, want)
		}
	}
}

// The service of the README compiles, serves, and refuses the eleventh of ten.
func TestReadmeService(t *testing.T) {
	s := managed(t)
	at := slices.IndexFunc(readme(t, "go"), func(text string) bool { return strings.Contains(text, "ListenAndServe") })
	if at < 0 {
		t.Fatal("no service in the README")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	text := strings.NewReplacer(`"redis://localhost:6379"`, strconv.Quote(s.URL()), `":8080"`, strconv.Quote(address)).Replace(readme(t, "go")[at])
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "service")
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := exec.Command(program)
	c.Dir = dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	var codes []int
	for deadline := time.Now().Add(10 * time.Second); len(codes) < 11; {
		r, err := http.Get("http://" + address + "/search")
		if err != nil {
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // it is starting
			continue
		}
		r.Body.Close()
		codes = append(codes, r.StatusCode)
		if fields := r.Header.Values("RateLimit"); len(fields) != 1 || !strings.Contains(fields[0], `"search";r=`) {
			t.Errorf("RateLimit: %q", fields)
		}
	}
	want := append(slices.Repeat([]int{http.StatusOK}, 10), http.StatusTooManyRequests)
	if !slices.Equal(codes, want) {
		t.Errorf("answered %v, want %v", codes, want)
	}
}
