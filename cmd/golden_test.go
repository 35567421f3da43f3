package cmd

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/report"
)

var update = flag.Bool("update", false, "rewrite golden files")

// still is a host on which nothing varies: no environment, one date, one
// machine, and a stopwatch that moves 10 µs each time it is read.
func still(out, err *bytes.Buffer) Host {
	var read time.Duration
	return Host{
		In: strings.NewReader(""), Out: out, Err: err,
		Env:       func(string) (string, bool) { return "", false },
		Now:       func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Stopwatch: func() time.Duration { read += 10 * time.Microsecond; return read },
		Signals:   func() (<-chan os.Signal, func()) { return nil, func() {} },
		Machine: func() report.Env {
			return report.Env{Rlbench: "v0", Go: "go1.26", OS: "linux", Arch: "amd64", CPU: "test", Cores: 2}
		},
	}
}

// A run under the virtual clock is the same byte for byte, timings included
// where the stopwatch is.
func TestRunIsRepeatable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		golden string
		args   []string
	}{
		{"boundary-burst.json", []string{"run", "boundary-burst", "--redis", "embedded", "-o", "json"}},
		{"boundary-burst.txt", []string{"run", "boundary-burst", "--redis", "embedded"}},
		{"random.txt", []string{"run", "-", "--redis", "embedded", "--seed", "7"}},
	} {
		t.Run(c.golden, func(t *testing.T) {
			first, second := runStill(t, c.args), runStill(t, c.args)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Fatalf("two runs differ:\n%s", diff)
			}
			path := filepath.Join("..", "testdata", "golden", "run", c.golden)
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(first), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), first); diff != "" {
				t.Errorf("%s differs (-want +got):\n%s", path, diff)
			}
		})
	}
}

const randomScenario = `
version: 1
name: random
description: Two identities, random instants, costs of two.
limit: 10/1s
keys: {count: 2}
phases:
  - {name: crowd, at: edge - window, for: 3*window, shape: poisson, rate: 2*limit/window, cost: 2}
`

func runStill(t *testing.T, args []string) string {
	t.Helper()
	var out, errs bytes.Buffer
	h := still(&out, &errs)
	h.In = strings.NewReader(randomScenario)
	if code := Main(args, h); code != exitOK {
		t.Fatalf("%v: exit %d\n%s%s", args, code, out.String(), errs.String())
	}
	return out.String()
}

// Passwords in arguments do not reach the report.
func TestCommandLineIsRedacted(t *testing.T) {
	got := commandLine([]string{"run", "x", "--redis", "redis://me:hunter2@host:1/0", "--redis=rediss://:a@b@host", "-o", "json=a@b"})
	want := []string{"rlbench", "run", "x", "--redis", "redis://redacted@host:1/0", "--redis=rediss://redacted@host", "-o", "json=a@b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A bug ends with 5 and says that it is one, instead of a stack on the screen
// and Go's exit code 2.
func TestPanicIsInternalError(t *testing.T) {
	var out, errs bytes.Buffer
	h := still(&out, &errs)
	h.Machine = func() report.Env { panic("boom") }
	if code := Main([]string{"version"}, h); code != exitInternal {
		t.Errorf("exit %d, want %d", code, exitInternal)
	}
	if text := errs.String(); !strings.Contains(text, "panic: boom") || !strings.Contains(text, "hint: this is a bug") {
		t.Errorf("stderr is %q", text)
	}
}
