//go:build unix

package backend

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestManagedLeavesNothing(t *testing.T) {
	requireRedis(t)
	s := open(t, "managed", Options{})
	pid, dir := processOf(t, s), filepath.Dir(s.Client().Options().Addr)
	if group, err := syscall.Getpgid(pid); err != nil || group == syscall.Getpgrp() {
		t.Errorf("process group %d is ours: Ctrl-C would end the server (%v)", group, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if alive(pid) || exists(dir) {
		t.Errorf("after Close: alive %t, directory %t", alive(pid), exists(dir))
	}
}

// A server that hangs in a script is ended all the same.
func TestManagedEndsBusyServer(t *testing.T) {
	requireRedis(t)
	for _, script := range []string{idleLoop, writingLoop} {
		s := open(t, "managed", Options{})
		pid := processOf(t, s)
		hang(t, s, script)
		if err := s.Close(); err != nil || alive(pid) {
			t.Errorf("%s: after Close: alive %t, %v", script, alive(pid), err)
		}
	}
}

// After SIGKILL of the process that opened it, server and directory go too.
func TestManagedDiesWithUs(t *testing.T) {
	requireRedis(t)
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), asHelper+"=1")
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, strings.TrimSpace(url), Options{})
	pid, dir := processOf(t, s), filepath.Dir(s.Client().Options().Addr)

	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait()
	eventually(t, "the server ends and its directory goes", func() bool { return !alive(pid) && !exists(dir) })
}

// Signals that are meant for the program do not take the guard away.
func TestGuardIgnoresSignals(t *testing.T) {
	c := start(t, nil)
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := c.shell.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	conn := redis.NewClient(&redis.Options{Network: "unix", Addr: c.socket})
	defer conn.Close()
	if err := conn.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.stop(); err != nil || !c.shell.ProcessState.Success() || exists(c.dir) {
		t.Errorf("the guard did not end by itself: %v, %v", c.shell.ProcessState, err)
	}
}

// If something kills the guard, Close still ends the server.
func TestGuardKilled(t *testing.T) {
	c := start(t, nil)
	if err := c.shell.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.stop(); err != nil || exists(c.dir) {
		t.Errorf("directory %t, %v", exists(c.dir), err)
	}
	select {
	case <-c.gone:
	default:
		t.Error("the server lives")
	}
}

func start(t *testing.T, config []string) *child {
	t.Helper()
	requireRedis(t)
	binary, err := findServer()
	if err != nil {
		t.Fatal(err)
	}
	c, err := startChild(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.await(t.Context()); err != nil {
		t.Fatal(err, c.stop())
	}
	return c
}

// A cluster of one: commands for keys of several slots at once would fail.
func TestManagedCluster(t *testing.T) {
	t.Parallel()
	requireRedis(t)
	s := open(t, "managed", Options{Config: []string{"--cluster-enabled", "yes", "--port", freePort(t)}})
	if err := s.Client().ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the cluster is up", func() bool { return s.Client().Set(t.Context(), "up", 1, 0).Err() == nil })
	if d, err := s.Describe(t.Context()); err != nil || d.Mode != "cluster" {
		t.Errorf("got %+v, %v", d, err)
	}
	testKeys(t, s)
}

// A user who may do little gets what is left, and no failure.
func TestManagedRestrictedUser(t *testing.T) {
	requireRedis(t)
	s := open(t, "managed", Options{})
	err := s.Client().ACLSetUser(t.Context(), "poor", "on", ">"+secret, "~*", "+ping", "+exists", "+set", "+hello").Err()
	if err != nil {
		t.Fatal(err)
	}
	poor := open(t, strings.Replace(s.URL(), "unix://", "unix://poor:"+secret+"@", 1), Options{})
	if d, err := poor.Describe(t.Context()); err != nil || d != (Description{}) {
		t.Errorf("got %+v, %v", d, err)
	}
	if _, err := poor.CommandStats(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if err := poor.Client().Set(t.Context(), "a", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if u, err := poor.MemoryUsage(t.Context(), []string{"a", "b"}); u != (Usage{Keys: 1}) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %+v, %v", u, err)
	}
	if err := poor.Delete(t.Context(), []string{"a"}); err == nil {
		t.Error("deleted")
	}
}

func TestManagedFails(t *testing.T) {
	for _, row := range []struct {
		name, program string // what stands in for the server
		patience      time.Duration
		want          string
	}{
		{"ends at once", "echo first; echo '# Out of memory' >&2; exit 1", time.Minute, "it ended at once; its log ends:\nfirst\n# Out of memory"},
		{"ends and says nothing", "exit 1", time.Minute, "it ended at once; it wrote no log"},
		{"gets never ready", "echo booting; exec /bin/sleep 60", time.Second, "too slow; its log ends:\nbooting"},
		{
			"writes more than fits", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i; done", time.Minute,
			"line 1995\nline 1996\nline 1997\nline 1998\nline 1999\nline 2000",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			temp := stage(t, row.program)
			ctx, cancel := context.WithTimeoutCause(t.Context(), row.patience, errors.New("too slow"))
			defer cancel()
			_, err := Open(ctx, "auto", Options{})
			e, ok := errors.AsType[*OpenError](err)
			if !ok || e.Spec != "auto" || !strings.Contains(e.Error(), row.want) || !strings.Contains(e.Hint, "/redis-server --port 0") {
				t.Errorf("got %v", err)
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestManagedRefusesConfig(t *testing.T) {
	requireRedis(t)
	_, err := Open(t.Context(), "managed", Options{Config: []string{"--nonsense", "1"}})
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("got %v", err)
	}
}

func TestNoServerInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	wantOpenError(t, "managed", patient, "no redis-server or valkey-server on PATH", "apt-get install redis-server")
	if s := open(t, "auto", Options{}); s.Flavour() != Embedded {
		t.Errorf("auto opened %q", s.Flavour())
	}
}

func TestAutoPrefersManaged(t *testing.T) {
	requireRedis(t)
	if s := open(t, "auto", Options{}); s.Flavour() != Managed {
		t.Errorf("auto opened %q", s.Flavour())
	}
}

// A valkey-server will do, in a directory with a space, with no rm on PATH, and
// with a temporary directory that is too long for a socket.
func TestManagedOddPaths(t *testing.T) {
	requireRedis(t)
	binary, err := findServer()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "a b")
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Mkdir(long, 0o700), os.Symlink(binary, filepath.Join(bin, "valkey-server"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("TMPDIR", long)
	s := open(t, "managed", Options{})
	if !strings.HasPrefix(s.URL(), "unix:///tmp/rlbench-") {
		t.Errorf("URL %s", s.URL())
	}
	if left, _ := os.ReadDir(long); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// stage puts a shell program on PATH as redis-server, and returns the
// temporary directory that it runs with.
func stage(t *testing.T, program string) (temp string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "redis-server"), []byte("#!/bin/sh\n"+program+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp("/tmp", "t") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", temp)
	return temp
}

func processOf(t *testing.T, s *Server) int {
	t.Helper()
	fields, err := s.info(t.Context(), "server")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(fields["process_id"])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
