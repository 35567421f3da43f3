package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// long is a scenario that takes several seconds of real time.
var long = []string{"run", "steady", "--clock", "client", "--limit", "100/2s", "--progress", "none"}

// interrupted starts rlbench, sends signals at the given delays, and returns
// what it wrote and its exit code. Its temporary files go to a folder of their
// own, which has to be empty at the end.
//
// On a busy machine a program may not have come to listen after half a second: who
// was killed without a word by then is tried again with more time, up to 16 s.
func interrupted(t *testing.T, args []string, sig os.Signal, delays ...time.Duration) (stdout, stderr string, code int) {
	t.Helper()
	for {
		stdout, stderr, code = interruptedOnce(t, args, sig, delays...)
		if code != -1 || stdout+stderr != "" || delays[0] < time.Second/2 || delays[0] > 8*time.Second {
			return stdout, stderr, code
		}
		delays = append([]time.Duration{2 * delays[0]}, delays[1:]...)
	}
}

func interruptedOnce(t *testing.T, args []string, sig os.Signal, delays ...time.Duration) (stdout, stderr string, code int) {
	t.Helper()
	return acted(t, args, func(p *os.Process, _ string) {
		for _, d := range delays {
			time.Sleep(d)
			_ = p.Signal(sig) // it may have ended by itself
		}
	})
}

// acted starts rlbench, does something to it, and returns what it wrote and its exit
// code. The folder for temporary files has to be empty at the end.
func acted(t *testing.T, args []string, act func(p *os.Process, tmp string)) (stdout, stderr string, code int) {
	t.Helper()
	tmp, err := os.MkdirTemp("/tmp", "rl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	c := exec.Command("rlbench", args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.Env = append(os.Environ(), "TMPDIR="+tmp)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	act(c.Process, tmp)
	err = c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	eventually(t, "temporary files and the child are gone", func() bool {
		left, _ := filepath.Glob(filepath.Join(tmp, "*"))
		return len(left) == 0
	})
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// interruptedWhen runs rlbench on a private server of its own, and interrupts it once
// enough has happened there.
func interruptedWhen(t *testing.T, enough func(*backend.Server) bool, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	specOf(t, "managed")
	return acted(t, append(args, "--redis", "managed", "--progress", "none"), func(p *os.Process, tmp string) {
		eventually(t, "enough has happened in Redis", func() bool {
			sockets, _ := filepath.Glob(filepath.Join(tmp, "*", "*.sock"))
			if len(sockets) == 0 {
				return false
			}
			s, err := backend.Open(context.Background(), "unix://"+sockets[0], backend.Options{})
			if err != nil {
				return false
			}
			defer s.Close()
			return enough(s)
		})
		_ = p.Signal(os.Interrupt)
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 3000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("not within 30 s: %s", what)
}

// Whenever the first signal comes, the program ends by itself with the shell's
// code, and with a report if anything had begun.
func TestInterruptAtAnyMoment(t *testing.T) {
	t.Parallel()
	specOf(t, "managed") // or skip
	for i := range 12 {
		delay := time.Duration(i*i) * 12 * time.Millisecond
		t.Run(delay.String(), func(t *testing.T) {
			t.Parallel()
			out, errs, code := interrupted(t, append(long, "--redis", "managed", "-o", "json"), os.Interrupt, delay)
			last := lastLine(errs)
			switch {
			case code == -1 && out == "":
				// The signal came before the program could listen.
				if delay > 500*time.Millisecond {
					t.Errorf("killed by a signal at %s", delay)
				}
				return
			case code != exitInterrupt:
				t.Fatalf("exit %d, want %d\n%s", code, exitInterrupt, errs)
			case !strings.HasSuffix(last, "exit=130"):
				t.Errorf("last line is %q", last)
			}
			r, err := report.Decode([]byte(out))
			if err != nil {
				t.Fatal(err)
			}
			if !r.Interrupted || r.Verdict != "inconclusive" {
				t.Errorf("interrupted %v, verdict %s", r.Interrupted, r.Verdict)
			}
			for _, row := range r.Rows {
				if row.Planned != row.Admitted+row.Denied+row.Errored+row.Unknown+row.Missed {
					t.Errorf("a row does not add up: %+v", row)
				}
			}
		})
	}
}

func TestTerminate(t *testing.T) {
	t.Parallel()
	out, errs, code := interrupted(t, append(long, "--redis", "embedded"), syscall.SIGTERM, time.Second)
	if code != exitTerminate || !strings.HasSuffix(lastLine(errs), "verdict=inconclusive exit=143") {
		t.Errorf("exit %d, %q", code, lastLine(errs))
	}
	if !strings.Contains(out, "interrupted after ") {
		t.Errorf("no partial report:\n%s", out)
	}
}

// After one interrupt or two, no key is left on a Redis that outlives us.
func TestInterruptLeavesNoKeys(t *testing.T) {
	t.Parallel()
	if specOf(t, "managed") == "" {
		return
	}
	for _, c := range []struct {
		name   string
		delays []time.Duration
	}{
		{"once", []time.Duration{800 * time.Millisecond}},
		{"twice", []time.Duration{800 * time.Millisecond, time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			s, err := backend.Open(ctx, "managed", backend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, errs, code := interrupted(t, append(long, "--redis", s.URL()), os.Interrupt, c.delays...)
			if code != exitInterrupt {
				t.Errorf("exit %d\n%s", code, errs)
			}
			if keys := s.Client().Keys(ctx, "*").Val(); len(keys) > 0 {
				t.Errorf("left %v\n%s", keys, errs)
			}
		})
	}
}

// A Redis that hangs holds a first interrupt until the timeout, which is an hour
// here, and a second one not at all.
func TestSecondInterruptDoesNotWait(t *testing.T) {
	t.Parallel()
	specOf(t, "managed")
	ctx := context.Background()
	s, err := backend.Open(ctx, "managed", backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var pid int
	info := s.Client().Info(ctx, "server").Val()
	if _, err := fmt.Sscanf(info[strings.Index(info, "process_id:"):], "process_id:%d", &pid); err != nil {
		t.Fatal(err)
	}
	hang := time.AfterFunc(800*time.Millisecond, func() { _ = syscall.Kill(pid, syscall.SIGSTOP) })
	defer hang.Stop()
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	args := append(long, "--redis", s.URL(), "--timeout", "1h")
	_, errs, code := interrupted(t, args, os.Interrupt, 1500*time.Millisecond, 300*time.Millisecond)
	if code != exitInterrupt {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// A server that accepts and says nothing does not hold an interrupt either.
func TestInterruptWhileOpening(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	args := append(long, "--redis", "redis://"+silent.Addr().String(), "--timeout", "1h", "-o", "json")
	out, errs, code := interrupted(t, args, os.Interrupt, time.Second)
	if code != exitInterrupt {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	r, err := report.Decode([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) == 0 || r.Rows[0].Missed != r.Rows[0].Planned || r.Rows[0].Verdict != "inconclusive" {
		t.Errorf("want every limiter as missed, got %+v", r.Rows)
	}
}

// hasDecided: that many decisions, and one more.
func hasDecided(n int64) func(*backend.Server) bool {
	return func(s *backend.Server) bool {
		stats, err := s.CommandStats(context.Background())
		return err == nil && stats["evalsha"].Calls > n
	}
}

func hasKeys(s *backend.Server) bool { return s.Client().DBSize(context.Background()).Val() > 0 }

// lose runs rlbench on a server of its own, closes the server once enough has
// happened, and returns the report, after which the code has to be the target's.
func lose(t *testing.T, enough func(*backend.Server) bool, args ...string) *report.Report {
	t.Helper()
	specOf(t, "managed")
	s, err := backend.Open(context.Background(), "managed", backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, errs, code := acted(t, append(args, "--redis", s.URL(), "--progress", "none", "-o", "json"), func(*os.Process, string) {
		eventually(t, "enough has happened in Redis", func() bool { return enough(s) })
		time.Sleep(100 * time.Millisecond) // for the replies
		s.Close()
	})
	if code != exitTarget {
		t.Fatalf("exit %d, want %d\n%s", code, exitTarget, errs)
	}
	r, err := report.Decode([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The server goes away for good in the middle: what was measured is reported,
// the rest is missed, and the code says that the target is at fault.
func TestTargetLost(t *testing.T) {
	t.Parallel()
	r := lose(t, hasKeys, append(long, "--timeout", "200ms")...)
	if len(r.Reasons) == 0 || r.Reasons[0].Code != "target-lost" || r.Reasons[0].Hint == "" {
		t.Errorf("reasons are %+v", r.Reasons)
	}
	if row := r.Rows[0]; row.Admitted == 0 || row.Missed+row.Errored+row.Unknown == 0 {
		t.Errorf("want some admitted and some not: %+v", row)
	}
	for _, limiter := range []string{"log", "counter"} {
		if !slices.ContainsFunc(r.Rows, func(row report.Row) bool { return row.Limiter == limiter && row.Algorithm == limiter }) {
			t.Errorf("%s had no turn and is not in the report, or without its algorithm", limiter)
		}
	}
}

// The same between two runs: what was finished is reported.
func TestTargetLostBetweenRuns(t *testing.T) {
	r := lose(t, hasDecided(200), "run", "same-microsecond", "--limit", "1/1m", "--runs", "1000")
	lost := slices.ContainsFunc(r.Reasons, func(r scenarios.Reason) bool { return r.Code == "target-lost" })
	if !lost || r.Verdict != scenarios.Inconclusive || len(r.Rows) < 20 {
		t.Errorf("verdict %s, reasons %+v, %d rows", r.Verdict, r.Reasons, len(r.Rows))
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return fmt.Sprint(lines[len(lines)-1])
}
