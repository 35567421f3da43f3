package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter/audit"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// crowded is a Redis with more keys than one batch, each an address, or skips.
func crowded(t *testing.T) *backend.Server {
	t.Helper()
	specOf(t, "managed")
	s, err := backend.Open(context.Background(), "managed", backend.Options{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p := s.Client().Pipeline()
	for i := range 2000 {
		p.Set(t.Context(), fmt.Sprintf("k%d:203.0.113.7", i), 1, 0)
	}
	if _, err := p.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// swept waits until a server was asked for the types of keys.
func swept(t *testing.T, s *backend.Server) {
	t.Helper()
	eventually(t, "the audit looks at keys", func() bool {
		stats, err := s.CommandStats(t.Context())
		return err == nil && stats["type"].Calls > 0
	})
}

func decodeAudit(t *testing.T, out []byte) report.Audit {
	t.Helper()
	var a report.Audit
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return a
}

// A signal in the middle ends with the shell's code and what was seen until then.
// The audit would rest for an hour otherwise.
func TestAuditIsInterrupted(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: exitInterrupt, syscall.SIGTERM: exitTerminate, syscall.SIGHUP: exitHangUp} {
		t.Run(sig.String(), func(t *testing.T) {
			s := crowded(t)
			var out, errs bytes.Buffer
			h := still(&out, &errs)
			signals := make(chan os.Signal, 1)
			h.Signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
			ended := make(chan int)
			go func() {
				ended <- Main([]string{"audit", "--redis", s.URL(), "--pace", "1h", "-o", "json", "--timeout", "30s"}, h)
			}()
			swept(t, s)
			signals <- sig
			if code := <-ended; code != want {
				t.Errorf("exit %d, want %d\n%s", code, want, errs.String())
			}
			a := decodeAudit(t, out.Bytes())
			if !a.Interrupted || a.Verdict != scenarios.Fail || a.Sweep.Keys == 0 || a.Sweep.Keys == 2000 {
				t.Errorf("interrupted %v, %s, %d keys", a.Interrupted, a.Verdict, a.Sweep.Keys)
			}
			if last := lastLine(errs.String()); last != fmt.Sprintf("rlbench: verdict=fail exit=%d", want) {
				t.Errorf("last line is %q", last)
			}
		})
	}
}

// A signal before anything was looked at leaves a report that says so.
func TestAuditIsInterruptedAtOnce(t *testing.T) {
	s := crowded(t)
	var out, errs bytes.Buffer
	h := still(&out, &errs)
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	h.Signals = func() (<-chan os.Signal, func()) { return signals, func() {} }
	if code := Main([]string{"audit", "--redis", s.URL(), "--pace", "1h", "-o", "json", "--timeout", "30s"}, h); code != exitInterrupt {
		t.Errorf("exit %d, want %d\n%s", code, exitInterrupt, errs.String())
	}
	a := decodeAudit(t, out.Bytes())
	if !a.Interrupted || a.Verdict == scenarios.Pass || len(a.Unchecked) == 0 || a.Unchecked[0].Code != "interrupted" {
		t.Errorf("interrupted %v, %s, %+v", a.Interrupted, a.Verdict, a.Unchecked)
	}
}

// A server that is lost in the middle is target trouble, after a report.
func TestAuditLosesItsServer(t *testing.T) {
	s := crowded(t)
	var out, errs bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- Main([]string{"audit", "--redis", s.URL(), "--pace", "2s", "-o", "json", "--timeout", "30s"}, still(&out, &errs))
	}()
	swept(t, s)
	s.Close()
	if code := <-ended; code != exitTarget {
		t.Errorf("exit %d, want %d\n%s", code, exitTarget, errs.String())
	}
	if a := decodeAudit(t, out.Bytes()); a.Sweep.Keys == 0 || a.Unchecked[0].Code != "target-lost" {
		t.Errorf("%d keys, %+v", a.Sweep.Keys, a.Unchecked)
	}
	if !strings.Contains(errs.String(), "\nhint: run it again") || strings.Contains(errs.String(), "203.0") {
		t.Errorf("stderr is %q", errs.String())
	}
}

// What was given with --address does not get into the document.
func TestAuditCommandIsRedacted(t *testing.T) {
	got := withoutAddresses([]string{"rlbench", "audit", "--key-prefix", "rl:203.0.113.7", "--redis", "redis://10.0.0.9", "--address", "203.0.113.7", "--address=2001:db8::1", "--addresses", "f", "--address", "--address"})
	want := []string{"rlbench", "audit", "--key-prefix", "rl:<ipv4 203.…, 11 bytes>", "--redis", "redis://10.0.0.9", "--address", "redacted", "--address=redacted", "--addresses", "f", "--address", "redacted"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The manual names everything that can be found, and all commands that are sent.
func TestAuditManual(t *testing.T) {
	manual, err := os.ReadFile("../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range audit.Kinds {
		if !strings.Contains(string(manual), "| `"+string(k.Code)+"` | "+string(k.Severity)+" |") {
			t.Errorf("no row for %s", k.Code)
		}
	}
	for _, command := range audit.Commands {
		if !strings.Contains(string(manual), "+"+command) {
			t.Errorf("no word about %s", command)
		}
	}
}
