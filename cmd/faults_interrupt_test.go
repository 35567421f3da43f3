package cmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// child is a process that another one has started, or one of its children.
type child struct {
	pid    int
	state  string // T is stopped
	server bool   // a Redis, and no shell around one
}

// childrenOf are all processes below one that are not over.
func childrenOf(t *testing.T, pid int) []child {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Skip("NOT TESTED: no /proc to look for children in")
	}
	below := map[string][]child{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		end := bytes.LastIndexByte(text, ')')
		if fields := strings.Fields(string(text[end+1:])); len(fields) > 1 && fields[0] != "Z" {
			below[fields[1]] = append(below[fields[1]], child{id, fields[0], bytes.Contains(text[:end], []byte("-server"))})
		}
	}
	found := slices.Clone(below[strconv.Itoa(pid)])
	for i := 0; i < len(found); i++ {
		found = append(found, below[strconv.Itoa(found[i].pid)]...)
	}
	return found
}

// An interrupt while Redis is broken lifts the fault, or kills what is broken; in any
// case no server is left behind, neither stopped nor running.
func TestInterruptDuringAFault(t *testing.T) {
	t.Parallel()
	specOf(t, "managed") // or skip
	stopped := func(servers []child, _ int) bool {
		return slices.ContainsFunc(servers, func(c child) bool { return c.state == "T" })
	}
	// One is for scenarios without faults.
	away := func(servers []child, seen int) bool { return len(servers) == 1 && seen >= 2 }
	for _, row := range []struct {
		fault   string
		signals int
		begun   func(servers []child, seen int) bool // the fault is in force
	}{
		{"stall", 1, stopped}, {"stall", 2, stopped}, {"outage", 1, away}, {"outage", 2, away},
	} {
		t.Run(fmt.Sprintf("%s-%d", row.fault, row.signals), func(t *testing.T) {
			t.Parallel()
			tmp, err := os.MkdirTemp("/tmp", "rl")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(tmp) })
			// Most of it is in force until the end of the second, so that there is time.
			c := exec.Command("rlbench", "run", "-", "-a", "fixed", "--redis", "managed", "--progress", "none", "-q", "-o", "json", "--timeout", "1m")
			c.Stdin = strings.NewReader(`version: 1
name: interrupted
limit: 10/1s
clock: client
on_failure: closed
timeout: 50ms
phases:
- {name: short, at: edge, for: 100ms, shape: constant, count: 5}
- {name: long, for: 4s, shape: constant, rate: 50/s}
faults:
- {at: long, kind: ` + row.fault + "}\n")
			var out, errs bytes.Buffer
			c.Stdout, c.Stderr = &out, &errs
			c.Env = append(os.Environ(), "TMPDIR="+tmp)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { defer close(ended); _ = c.Wait() }()
			seen, servers := map[int]bool{}, map[int]bool{}
			for begun := false; !begun; {
				select {
				case <-ended:
					t.Fatalf("it ended before the fault was seen\n%s", errs.String())
				case <-time.After(5 * time.Millisecond):
				}
				var now []child
				for _, one := range childrenOf(t, c.Process.Pid) {
					seen[one.pid] = true
					if one.server {
						servers[one.pid] = true
						now = append(now, one)
					}
				}
				begun = row.begun(now, len(servers))
			}
			for range row.signals {
				if err := c.Process.Signal(os.Interrupt); err != nil {
					t.Error(err)
				}
				for _, one := range childrenOf(t, c.Process.Pid) {
					seen[one.pid] = true
				}
				time.Sleep(time.Millisecond) // two signals at once are one
			}
			<-ended
			if code := c.ProcessState.ExitCode(); code != exitInterrupt {
				t.Errorf("exit %d\n%s", code, errs.String())
			}
			for pid := range seen {
				eventually(t, fmt.Sprintf("child %d is gone", pid), func() bool { return syscall.Kill(pid, 0) != nil })
			}
			eventually(t, "temporary files are gone", func() bool {
				left, _ := filepath.Glob(filepath.Join(tmp, "*"))
				return len(left) == 0
			})
		})
	}
}
