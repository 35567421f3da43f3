package cmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/rlbench/rlbench/limiter/backend"
)

// TestMain puts a program called rlbench on the PATH, so that scripts and signal
// tests run the real thing.
func TestMain(m *testing.M) {
	testscript.Main(leakFree{m}, map[string]func(){
		"rlbench": func() { os.Exit(Main(os.Args[1:], System())) },
	})
}

// leakFree fails a run of tests that leaves goroutines behind.
type leakFree struct{ *testing.M }

func (l leakFree) Run() int {
	code := l.M.Run()
	os.RemoveAll(plainFolder) // nothing if it is ""
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// flavours are the Redis servers that every script runs against.
var flavours = []string{"embedded", "managed", "live"}

// raced are the scripts that the race detector watches on the managed Redis: those
// that run limiters. All else runs the program that a user builds, which is many
// times faster.
var raced = []string{"adversary", "faults", "faulty", "server_clock", "verdicts"}

// lived are the scripts that run on a server by URL, too: for the others it is the
// same Redis as a managed one.
var lived = []string{"audit", "boundary_burst", "client_clock", "doctor", "faults", "keys", "lua", "outputs", "redis_trouble", "server_clock", "verdicts"}

// scriptsOf are the files of the scripts that a flavour runs.
func scriptsOf(t *testing.T, flavour string) []string {
	t.Helper()
	names := []string{"*"}
	if flavour == "live" {
		names = lived
	}
	var files []string
	for _, name := range names {
		found, err := filepath.Glob(filepath.Join("..", "testdata", "script", name+".txtar"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no script %s, error %v", name, err)
		}
		files = append(files, found...)
	}
	return files
}

func TestScripts(t *testing.T) {
	built := filepath.Dir(plainProgram(t))
	for _, flavour := range flavours {
		t.Run(flavour, func(t *testing.T) {
			spec := specOf(t, flavour)
			testscript.Run(t, testscript.Params{
				Files: scriptsOf(t, flavour),
				Setup: func(e *testscript.Env) error {
					e.Setenv("RLBENCH_REDIS", spec)
					script := strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")
					if flavour != "managed" || !slices.Contains(raced, script) {
						e.Setenv("PATH", built+string(os.PathListSeparator)+e.Getenv("PATH"))
					}
					scripts, err := filepath.Abs(filepath.Join("..", "scripts"))
					e.Setenv("SCRIPTS", scripts)
					// The emulator under the race detector on a busy machine.
					e.Setenv("RLBENCH_TIMEOUT", "30s")
					return err
				},
				Condition: func(cond string) (bool, error) {
					switch cond {
					case "embedded", "managed", "live":
						return cond == flavour, nil
					}
					return false, fmt.Errorf("unknown condition %q", cond)
				},
				Cmds:                map[string]func(*testscript.TestScript, bool, []string){"code": code, "settled": settledRun},
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
			})
		})
	}
}

// plainProgram is the program as "go build" makes it: many times faster than the one
// with the race detector, for tests of what it prints.
func plainProgram(t *testing.T) string {
	t.Helper()
	program, err := buildPlain()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

var (
	plainFolder string
	buildPlain  = sync.OnceValues(func() (program string, err error) {
		if plainFolder, err = os.MkdirTemp("", "rlbench-plain-"); err != nil {
			return "", err
		}
		program = filepath.Join(plainFolder, "rlbench")
		if out, err := exec.Command("go", "build", "-o", program, "..").CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return program, nil
	})
)

// specOf is the --redis value for a flavour. A missing redis-server skips
// loudly, or fails where RLBENCH_REQUIRE_REDIS says that it may not be missing.
func specOf(t *testing.T, flavour string) string {
	t.Helper()
	if flavour == "embedded" {
		return flavour
	}
	s, err := backend.Open(context.Background(), "managed", backend.Options{})
	if err != nil {
		if os.Getenv("RLBENCH_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skipf("NOT TESTED on a %s Redis: %v", flavour, err)
	}
	if flavour == "managed" {
		s.Close()
		return flavour
	}
	t.Cleanup(func() { s.Close() })
	return s.URL()
}

// settledRun is the script command "settled program args...": like exec, but tried
// again while it is inconclusive: in real time a busy machine can be late, and
// says so.
func settledRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: settled program [args...]")
	}
	const tries = 5
	for try := 1; ; try++ {
		err := ts.Exec(args[0], args[1:]...)
		switch {
		case err == nil:
			return
		case !strings.Contains(err.Error(), "exit status 3") || try == tries:
			ts.Fatalf("%s, try %d: %v", strings.Join(args, " "), try, err)
		}
	}
}

// code is the script command "code N program args...": like exec, but the exit
// code has to be N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		if strings.Contains(err.Error(), "exit status ") {
			_, err := fmt.Sscanf(err.Error()[strings.Index(err.Error(), "exit status "):], "exit status %d", &got)
			ts.Check(err)
		} else {
			ts.Fatalf("%s: %v", args[1], err)
		}
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}
