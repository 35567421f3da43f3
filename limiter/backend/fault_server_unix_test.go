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

// step is a timeout that some faults make pass, and that suffices for commands
// on a busy machine.
const step = time.Second

// What is done to a managed server: what a request sees meanwhile, and how many
// requests are counted in the end, of three from before and two from meanwhile.
func TestFaultsOnServer(t *testing.T) {
	requireRedis(t)
	for _, row := range []struct {
		fault     Fault
		algorithm limiter.Algorithm
		want      fate
		text      string
		counted   int
	}{
		{Fault{Kind: "script-flush"}, limiter.Log, fine, "", 5},
		{Fault{Kind: "restart"}, limiter.Log, fine, "", 2},
		{Fault{Kind: "outage"}, limiter.Log, unsent, "connect: connection refused", 0},
		{Fault{Kind: "failover"}, limiter.Log, fine, "", 3},
		// They were in its socket, and it reads them when it goes on.
		{Fault{Kind: "stall"}, limiter.Log, unknown, "i/o timeout", 5},
		// It drops what a paused client has sent when that hangs up.
		{Fault{Kind: "pause"}, limiter.Log, unknown, "i/o timeout", 3},
		{Fault{Kind: "readonly"}, limiter.Log, answered, "READONLY", 3},
		{Fault{Kind: "oom"}, limiter.Fixed, answered, "OOM", 3},
		{Fault{Kind: "oom"}, limiter.Log, answered, "OOM", 3},
		{Fault{Kind: "oom"}, limiter.Counter, answered, "OOM", 3},
		{Fault{Kind: "acl"}, limiter.Log, answered, "NOPERM", 3},
		{Fault{Kind: "password"}, limiter.Log, answered, "NOAUTH", 3},
	} {
		t.Run(row.fault.Kind+" "+row.algorithm.Name, func(t *testing.T) {
			t.Parallel()
			s := injectable(t, Managed, Options{Timeout: step, PoolSize: 3})
			l := limiterOn(t, s, row.algorithm)
			if err := s.Warm(t.Context(), 3); err != nil { // a new connection would not get to the request
				t.Fatal(err)
			}
			for range 3 {
				if err := ask(t, l, "a"); err != nil {
					t.Fatal(err)
				}
			}
			before := stateOf(t, s)
			i := inject(t, s, row.fault)
			for range 2 {
				if err := ask(t, l, "a"); fateOf(err) != row.want || err != nil && !strings.Contains(err.Error(), row.text) {
					t.Errorf("got %v, want %s", err, row.want)
				}
			}
			end(t, i)
			end(t, i)
			if hits := i.Hits(); len(hits) > 0 {
				t.Errorf("hits %v", hits)
			}
			eventually(t, "the count is right", func() bool { return counted(t, l, "a") == row.counted })
			if after := stateOf(t, s); !maps.Equal(before, after) {
				t.Errorf("the server is now %v\nand was %v", after, before)
			}
			testUsable(t, s, l)
		})
	}
}

// stateOf are settings that faults change.
func stateOf(t *testing.T, s *Server) map[string]string {
	t.Helper()
	state := map[string]string{}
	for _, name := range []string{"maxmemory", "maxmemory-policy", "maxmemory-samples", "notify-keyspace-events", "requirepass", "port"} {
		value, err := s.config(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		state[name] = value
	}
	rules, err := s.defaultUser(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		state["acl "+rule.(string)] = "yes"
	}
	fields, err := replication(t.Context(), s.manager)
	if err != nil {
		t.Fatal(err)
	}
	state["role"], state["replicas"] = fields["role"], fields["connected_slaves"]
	return state
}

// testUsable: all can be done after a fault that could be done before, also
// another fault, and Close leaves nothing.
func testUsable(t *testing.T, s *Server, l *limiter.Redis) {
	t.Helper()
	if err := s.Clear(t.Context()); err != nil {
		t.Error(err)
	}
	if n := counted(t, l, "a"); n != 0 {
		t.Errorf("%d counted after Clear", n)
	}
	i := inject(t, s, Fault{Kind: "readonly"})
	if err := ask(t, l, "a"); fateOf(err) != answered {
		t.Errorf("readonly: %v", err)
	}
	end(t, i)
	if err := ask(t, l, "a"); err != nil {
		t.Error(err)
	}
	if remedy, err := s.Unstick(t.Context()); remedy != RemedyNone || err != nil {
		t.Errorf("unstick: %q, %v", remedy, err)
	}
	pid, dir := processOf(t, s), filepath.Dir(s.Client().Options().Addr)
	if !exists(dir) {
		t.Errorf("%s does not exist", dir)
	}
	if err := s.Close(); err != nil || alive(pid) || exists(dir) {
		t.Errorf("after Close: alive %t, directory %t, %v", alive(pid), exists(dir), err)
	}
}

// While any fault is in force, questions of the Server end, with or without an
// answer, and a second fault is refused. Close then leaves nothing.
func TestManagementDuringFaults(t *testing.T) {
	requireRedis(t)
	for _, kind := range FaultKinds {
		if kind.Instant {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := injectable(t, Managed, Options{Timeout: step, PoolSize: 2})
			s.patience = step
			l := limiterOn(t, s, limiter.Log)
			if err := ask(t, l, "a"); err != nil {
				t.Fatal(err)
			}
			pid, dir := processOf(t, s), filepath.Dir(s.Client().Options().Addr)
			f := Fault{Kind: kind.Name}
			switch kind.Name {
			case "latency":
				f.Delay = time.Hour
			case "eviction":
				f.Victims = l.Keys("a")
			}
			i := inject(t, s, f)
			ctx := t.Context()
			for _, question := range []func() error{
				func() error { _, err := s.Describe(ctx); return err },
				func() error { _, err := s.Clock(ctx); return err },
				func() error { _, err := s.MemoryUsage(ctx, l.Keys("a")); return err },
				func() error { return s.Clear(ctx) },
				func() error { _, err := s.Unstick(ctx); return err },
			} {
				began := time.Now()
				err := question()
				if took := time.Since(began); took > 10*step {
					t.Errorf("took %s: %v", took, err)
				}
				silent := slices.Contains([]string{"stall", "outage"}, kind.Name)
				if silent != (err != nil) && kind.Name != "pause" && kind.Name != "readonly" {
					t.Errorf("got %v", err)
				}
			}
			if _, err := s.Inject(ctx, Fault{Kind: "acl"}); (err == nil) != kind.OnConnection {
				t.Errorf("a second fault: %v", err)
			}
			if now := i.server.inForce; now != nil && kind.Name != "outage" && kind.Name != "failover" && !alive(pid) {
				t.Error("the server was replaced")
			}
			if err := s.Close(); err != nil || alive(pid) || exists(dir) {
				t.Errorf("after Close: alive %t, directory %t, %v", alive(pid), exists(dir), err)
			}
			end(t, i)
		})
	}
}

// Evicted victims are reported, budgets start anew, and all fillers go.
func TestEviction(t *testing.T) {
	requireRedis(t)
	for _, policy := range []string{"", "volatile-ttl", "allkeys-random"} {
		t.Run(policy, func(t *testing.T) {
			s := injectable(t, Managed, Options{Config: []string{"--maxmemory-policy", "volatile-random"}})
			l := limiterOn(t, s, limiter.Log)
			for range 3 {
				for _, key := range []string{"a", "b"} {
					if err := ask(t, l, key); err != nil {
						t.Fatal(err)
					}
				}
			}
			before := stateOf(t, s)
			victims := append(l.Keys("a"), l.Keys("b")...)
			i := inject(t, s, Fault{Kind: "eviction", Victims: victims, Policy: policy})
			e := i.Evicted()
			if !slices.Equal(e.Gone, victims) || e.Evicted < 2 || e.Fillers < int(e.Evicted)-2 {
				t.Errorf("evicted %+v", e)
			}
			for _, key := range []string{"a", "b"} {
				if n := counted(t, l, key); n != 0 {
					t.Errorf("%d counted", n)
				}
			}
			if err := ask(t, l, "a"); err != nil {
				t.Errorf("meanwhile: %v", err)
			}
			end(t, i)
			if after := stateOf(t, s); !maps.Equal(before, after) {
				t.Errorf("the server is now %v\nand was %v", after, before)
			}
			if keys, _, err := s.Scan(t.Context(), "rlbench:filler:*", 10); err != nil || len(keys) > 0 {
				t.Errorf("left over: %v, %v", keys, err)
			}
		})
	}
}

func TestEvictionRefuses(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{})
	do(t, s, []any{"SET", "lasting", 1}, []any{"SET", "mortal", 1, "EX", 1000})
	before := stateOf(t, s)
	for _, row := range []struct {
		victims []string
		want    string
	}{
		{[]string{"mortal", "absent"}, "1 of 2 victims do not exist"},
		{[]string{"mortal", "mortal"}, "named twice"},
		{[]string{"lasting"}, "no time to live"},
	} {
		_, err := s.Inject(t.Context(), Fault{Kind: "eviction", Victims: row.victims})
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), untouched) {
			t.Errorf("%v: %v", row.victims, err)
		}
	}
	// A victim that nothing evicts: all that was done is undone.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	do(t, s, []any{"SET", "young", 1, "EX", 100000}) // volatile-ttl takes it last
	_, err := s.Inject(ctx, Fault{Kind: "eviction", Victims: []string{"young"}, Policy: "volatile-ttl"})
	e, ok := errors.AsType[*FaultError](err)
	if !ok || !strings.Contains(e.State, "0 of 1 victims") || !isTimeout(err) {
		t.Errorf("got %v", err)
	}
	if after := stateOf(t, s); !maps.Equal(before, after) {
		t.Errorf("the server is now %v\nand was %v", after, before)
	}
	if n, err := s.Client().Exists(t.Context(), "young", "lasting").Result(); n != 2 || err != nil {
		t.Errorf("%d keys left, %v", n, err)
	}
	if keys, _, err := s.Scan(t.Context(), "rlbench:filler:*", 10); err != nil || len(keys) > 0 {
		t.Errorf("left over: %v, %v", keys, err)
	}
}

// The replica has all that was decided before the cut and nothing from after,
// with requests under way all the time; two failovers in a row work.
func TestFailoverCut(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{PoolSize: 4})
	url, pid := s.URL(), processOf(t, s)
	l, err := limiter.New(s.Client(), limiter.Config{
		Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 1_000_000, Window: time.Hour}, OnFailure: limiter.FailError,
	})
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for round := range 2 {
		stop, sums := make(chan struct{}), make(chan [3]int64)
		var cut time.Time
		known := make(chan struct{})
		go func() {
			type done struct{ sent, replied time.Time }
			var all []done
			for {
				select {
				case <-stop:
					<-known
					var sum [3]int64 // replied before the cut, sent after it, other
					for _, d := range all {
						switch {
						case d.replied.Before(cut):
							sum[0]++
						case d.sent.After(cut):
							sum[1]++
						default:
							sum[2]++
						}
					}
					sums <- sum
					return
				default:
				}
				sent := time.Now()
				if _, err := l.Allow(t.Context(), limiter.Request{Key: "a", At: at}); err != nil {
					t.Error(err)
				}
				all = append(all, done{sent, time.Now()})
			}
		}()
		i := inject(t, s, Fault{Kind: "failover"})
		cut = i.Since()
		for range 50 { // so that some are lost
			if _, err := l.Allow(t.Context(), limiter.Request{Key: "b", At: at}); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		close(known)
		sum := <-sums
		end(t, i)
		d, err := l.Peek(t.Context(), limiter.Request{Key: "a", At: at})
		if err != nil {
			t.Fatal(err)
		}
		now := 1_000_000 - 1 - d.Remaining
		if kept := now - total; kept < sum[0] || kept > sum[0]+sum[2] || sum[1] == 0 {
			t.Errorf("round %d: kept %d; %v before, after, and at the cut", round, kept, sum)
		}
		total = now
		if d, err := l.Peek(t.Context(), limiter.Request{Key: "b", At: at}); err != nil || d.Remaining != 999_999 {
			t.Errorf("round %d: another key has %d left, %v", round, d.Remaining, err)
		}
		if next := processOf(t, s); next == pid || alive(pid) {
			t.Errorf("process %d was %d, alive %t", next, pid, alive(pid))
		} else {
			pid = next
		}
	}
	do(t, open(t, url, Options{}), []any{"PING"})
	if s.URL() != url {
		t.Errorf("URL %s was %s", s.URL(), url)
	}
	dirs, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(s.Client().Options().Addr)), "rlbench-*"))
	t.Logf("%d directories of this and other processes", len(dirs))
}

// A failover that is given up leaves no replica, no pause and no port.
func TestFailoverGivenUp(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{})
	l := limiterOn(t, s, limiter.Log)
	before := stateOf(t, s)
	for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		i, err := s.Inject(ctx, Fault{Kind: "failover"})
		cancel()
		if err == nil {
			end(t, i)
			continue
		}
		if e, ok := errors.AsType[*FaultError](err); !ok || e.State != untouched {
			t.Errorf("after %s: %v", after, err)
		}
		if p := s.host.(*private); p.standby != nil {
			t.Error("a replica is left")
		}
		if now := stateOf(t, s); !maps.Equal(before, now) {
			t.Errorf("the server is now %v\nand was %v", now, before)
		}
		if err := ask(t, l, "a"); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
	}
}

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
