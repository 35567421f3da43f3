//go:build unix

package backend

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
