//go:build unix

package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// A stopped server dies with Close, and with the guard's leash.
func TestStoppedServerEnds(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{})
	pid, dir := processOf(t, s), filepath.Dir(s.Client().Options().Addr)
	i := inject(t, s, Fault{Kind: "stall"})
	if !suspended(pid) {
		t.Error("it is not stopped")
	}
	if err := s.Close(); err != nil || alive(pid) || exists(dir) {
		t.Errorf("after Close: alive %t, directory %t, %v", alive(pid), exists(dir), err)
	}
	end(t, i)

	c := start(t, nil)
	stopped := redis.NewClient(&redis.Options{Network: "unix", Addr: c.socket})
	defer stopped.Close()
	text, err := stopped.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	pid, _ = strconv.Atoi(parseInfo(text)["process_id"])
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_ = c.leash.Close() // as the kernel does after a crash
	eventually(t, "the stopped server ends", func() bool { return !alive(pid) && !exists(c.dir) })
	if err := c.stop(); err != nil {
		t.Error(err)
	}
}

// A server whose directory has moved answers there, and takes the new one with it
// when we crash.
func TestGuardFollowsMove(t *testing.T) {
	c := start(t, nil)
	old, moved := c.dir, c.dir+" moved"
	if err := c.move(moved); err != nil {
		t.Fatal(err)
	}
	conn := redis.NewClient(&redis.Options{Network: "unix", Addr: c.socket})
	defer conn.Close()
	if err := conn.Ping(t.Context()).Err(); err != nil || exists(old) {
		t.Errorf("old directory %t, %v", exists(old), err)
	}
	_ = c.leash.Close() // as the kernel does after a crash
	eventually(t, "the directory goes", func() bool { return !exists(moved) })
	if err := c.stop(); err != nil {
		t.Error(err)
	}
}

// After SIGKILL of the process that has put a fault in force, all servers and
// directories go, also a stopped server and a replica.
func TestFaultDiesWithUs(t *testing.T) {
	requireRedis(t)
	for _, kind := range []string{"stall", "failover", "outage"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			temp, err := os.MkdirTemp("/tmp", "t") // t.TempDir is too long for a socket
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(temp)
			helper := exec.Command(os.Args[0])
			helper.Env = append(os.Environ(), asHelper+"="+kind, "TMPDIR="+temp)
			out, err := helper.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := helper.Start(); err != nil {
				t.Fatal(err)
			}
			var pid int
			var text, url string
			if _, err := fmt.Fscan(out, &pid, &text, &url); err != nil || !strings.HasPrefix(url, "unix:") {
				t.Errorf("%d %s %s, %v", pid, text, url, err)
			}
			dirs, _ := os.ReadDir(temp)
			if want := map[string]int{"stall": 1, "failover": 2, "outage": 0}[kind]; len(dirs) != want {
				t.Errorf("%d directories, want %d", len(dirs), want)
			}
			// The ones of the same parent are all: a replica is in no list of ours.
			servers := under(helper.Process.Pid)
			if err := helper.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = helper.Wait()
			eventually(t, "servers end and directories go", func() bool {
				left, _ := os.ReadDir(temp)
				return len(left) == 0 && !alive(pid) && !slices.ContainsFunc(servers, alive)
			})
		})
	}
}

// under are all processes that a process has started, where /proc tells.
func under(parent int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				all = append(append(all, pid), under(pid)...)
			}
		}
	}
	return all
}

// The server that a fault was done to dies by itself meanwhile: End says so, and
// a new one can be had.
func TestServerDiesDuringFault(t *testing.T) {
	requireRedis(t)
	for _, kind := range []string{"stall", "pause", "readonly", "oom", "acl", "password", "failover"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := injectable(t, Managed, Options{})
			pid := processOf(t, s)
			i := inject(t, s, Fault{Kind: kind})
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			eventually(t, "it is dead", s.host.gone)
			err := i.End(t.Context())
			if kind == "failover" { // it has its replica
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e, ok := errors.AsType[*FaultError](err); !ok || !strings.Contains(e.State, "ended by itself") {
				t.Errorf("got %v", err)
			}
			end(t, i)
			if remedy, err := s.Unstick(t.Context()); remedy != RemedyReplaced || err != nil {
				t.Errorf("unstick: %q, %v", remedy, err)
			}
			if err := ask(t, limiterOn(t, s, limiter.Log), "a"); err != nil {
				t.Error(err)
			}
		})
	}
}

// Inject does nothing for who has given up, or when the server is closed.
func TestInjectGivenUp(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{})
	before, pid := stateOf(t, s), processOf(t, s)
	do(t, s, []any{"SET", "a", 1, "EX", 1000})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	faults := func() (all []Fault) {
		for _, kind := range FaultKinds {
			f := Fault{Kind: kind.Name}
			if kind.Name == "latency" {
				f.Delay = 1
			}
			if kind.Name == "eviction" {
				f.Victims = []string{"a"}
			}
			all = append(all, f)
		}
		return all
	}()
	for _, f := range faults {
		if _, err := s.Inject(ctx, f); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", f.Kind, err)
		}
	}
	if after := stateOf(t, s); !maps.Equal(before, after) || processOf(t, s) != pid {
		t.Errorf("the server is now %v\nand was %v", after, before)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		_, err := s.Inject(t.Context(), f)
		if e, ok := errors.AsType[*FaultError](err); !ok || e.Kind != f.Kind || !errors.Is(err, redis.ErrClosed) {
			t.Errorf("%s: %v", f.Kind, err)
		}
	}
}

// An End that is given up can be had again.
func TestEndGivenUp(t *testing.T) {
	requireRedis(t)
	for _, kind := range []string{"outage", "stall", "failover", "password", "oom"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := injectable(t, Managed, Options{})
			l := limiterOn(t, s, limiter.Log)
			i := inject(t, s, Fault{Kind: kind})
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := i.End(ctx)
			if e, ok := errors.AsType[*FaultError](err); !ok || !errors.Is(err, context.Canceled) || e.State != "the fault may still be in force" {
				t.Errorf("got %v", err)
			}
			short, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
			defer cancel()
			_ = i.End(short) // somewhere in the middle
			if err := i.End(t.Context()); err != nil {
				t.Error(err)
			}
			if err := ask(t, l, "a"); err != nil {
				t.Error(err)
			}
		})
	}
}
