package cmd

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/report"
)

// examined is what doctor says about a server, by the name of the check.
func examined(t *testing.T, url string, more ...string) (map[string]report.Checkup, report.Doctor, int) {
	t.Helper()
	c := exec.Command(plainProgram(t), append([]string{"doctor", "--redis", url, "--timeout", "10s", "-o", "json"}, more...)...)
	out, _ := c.Output()
	var d report.Doctor
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	checks := map[string]report.Checkup{}
	for _, one := range d.Checks {
		if _, twice := checks[one.Name]; twice || one.Found == "" || (one.Hint == "") != (one.Status == report.StatusOK) {
			t.Errorf("check %+v, twice %t", one, twice)
		}
		checks[one.Name] = one
	}
	return checks, d, c.ProcessState.ExitCode()
}

// TestDoctorFindsWhatIsWrong: each trouble of a server is told by its own check, says
// what to do, and leaves no key behind; a healthy one has none of them.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	specOf(t, "managed")
	for _, row := range []struct {
		name, spoil   string // commands, one a line
		check, status string
		found, hint   string
		exit          int
	}{
		{"healthy", "", "limiters", "ok", "all 6 run", "", 0},
		{"evicts", "config set maxmemory 100mb\nconfig set maxmemory-policy allkeys-lru", "eviction", "warn", "when 100 MB are full: allkeys-lru", "noeviction", 0},
		{"full", "config set maxmemory 1mb", "memory", "warn", "of 1 MB", "maxmemory 1gb", 1},
		{"out of memory", "config set maxmemory 1mb", "limiters", "fail", "OOM", "maxmemory 1gb", 1},
		{"syncs every write", "config set appendonly yes\nconfig set appendfsync always", "persistence", "warn", "synced always", "everysec", 0},
		{"replica", "replicaof 127.0.0.1 1", "role", "fail", "replica", "primary", 1},
		{"read-only", "replicaof 127.0.0.1 1", "limiters", "fail", "READONLY", "primary", 1},
		{"few connections", "config set maxclients 60", "connections", "warn", "of 60 are left", "maxclients", 0},
		{"no scripts", "acl setuser default -@scripting", "limiters", "fail", "NOPERM", "+@scripting", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, err := backend.Open(context.Background(), "managed", backend.Options{Timeout: 30 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for line := range strings.Lines(row.spoil) {
				var args []any
				for _, word := range strings.Fields(line) {
					args = append(args, word)
				}
				if err := s.Client().Do(t.Context(), args...).Err(); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			}
			checks, d, exit := examined(t, s.URL())
			got := checks[row.check]
			if got.Status != row.status || !strings.Contains(got.Found, row.found) || !strings.Contains(got.Hint, row.hint) || exit != row.exit {
				t.Errorf("exit %d, check %+v\nall %+v", exit, got, d.Checks)
			}
			wrong := func(c report.Checkup) bool {
				// Those of this machine are not this test's.
				return c.Status != report.StatusOK && slices.Contains([]string{"redis", "limiters", "eviction", "memory", "role", "persistence", "connections"}, c.Name)
			}
			if row.name == "healthy" && slices.ContainsFunc(d.Checks, wrong) {
				t.Errorf("a healthy server has %+v", d.Checks)
			}
			if keys, err := s.Client().DBSize(t.Context()).Result(); err != nil || keys != 0 {
				t.Errorf("%d keys are left, error %v", keys, err)
			}
		})
	}
}

// TestDoctorWaits for a server that is not there yet, and no longer than it was told.
func TestDoctorWaits(t *testing.T) {
	t.Parallel()
	specOf(t, "managed")
	socket := t.TempDir() + "/later.sock"
	type ended struct {
		checks map[string]report.Checkup
		exit   int
	}
	done := make(chan ended)
	go func() {
		checks, _, exit := examined(t, "unix://"+socket, "--wait", "1m")
		done <- ended{checks, exit}
	}()
	server := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--save", "")
	time.Sleep(300 * time.Millisecond) // it has found nothing by then, or waits even less
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	if got := <-done; got.exit != 0 || got.checks["redis"].Status != report.StatusOK {
		t.Errorf("exit %d, %+v", got.exit, got.checks)
	}
	checks, d, exit := examined(t, "unix://"+socket+".never", "--wait", "1s")
	if exit != exitTarget || checks["redis"].Status != report.StatusFail || !strings.Contains(checks["redis"].Found, "no server listens on that socket") || d.Verdict != "fail" {
		t.Errorf("exit %d, %+v", exit, d)
	}
	if checks["cores"].Name == "" {
		t.Error("the machine was not looked at, though there is no Redis")
	}
}

// TestDoctorJudges: a warning is one with --fatal.
func TestDoctorJudges(t *testing.T) {
	checks, d, exit := examined(t, "embedded")
	if checks["redis"].Status != report.StatusWarn || d.Verdict != "pass" || exit != 0 {
		t.Errorf("exit %d, verdict %s, %+v", exit, d.Verdict, checks["redis"])
	}
	if _, d, exit = examined(t, "embedded", "--fatal"); d.Verdict != "fail" || exit != exitFailed {
		t.Errorf("fatal: exit %d, verdict %s", exit, d.Verdict)
	}
}
