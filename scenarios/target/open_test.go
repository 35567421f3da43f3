package target_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/runner"
	"github.com/rlbench/rlbench/scenarios/target"
)

// server opens a Redis for one test.
func server(t *testing.T, flavour string) *backend.Server {
	t.Helper()
	if flavour == "managed" {
		needServer(t)
	}
	s, err := backend.Open(t.Context(), flavour, backend.Options{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func needServer(t *testing.T) {
	t.Helper()
	for _, binary := range []string{"redis-server", "valkey-server"} {
		if _, err := exec.LookPath(binary); err == nil {
			return
		}
	}
	const missing = "no redis-server or valkey-server on PATH: NOTHING WAS TESTED ON A REAL REDIS"
	if os.Getenv("RLBENCH_REQUIRE_REDIS") != "" {
		t.Fatal(missing + ", and RLBENCH_REQUIRE_REDIS is set")
	}
	t.Skip(missing)
}

// Every built-in passes with every bundled algorithm, from the file to the
// verdict: read, planned, opened, run and judged.
func TestBundledAlgorithmsPassEveryBuiltin(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		t.Run(flavour, func(t *testing.T) {
			s := server(t, flavour)
			for _, b := range scenarios.Builtins() {
				sc, err := b.Read(scenarios.BuiltinDefaults())
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range limiter.Names() {
					j, c := judged(t, s, sc, name)
					if j.Verdict != scenarios.Pass {
						t.Errorf("%s with %s: %s, %+v", b.Name, name, j.Verdict, j.Findings)
					}
					if want := oracle.Expect(c.Plan, *c.Algorithm); j.Measures != want.Measures {
						t.Errorf("%s with %s: got %+v, the model gives %+v", b.Name, name, j.Measures, want.Measures)
					}
				}
			}
		})
	}
}

func judged(t *testing.T, s *backend.Server, sc *scenarios.Scenario, name string) (*scenarios.Judgement, *oracle.Case) {
	t.Helper()
	p, err := scenarios.NewPlan(sc)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := target.Open(s, name, target.Options{Limit: p.Limit, Clock: p.Clock, Prefix: "t:" + sc.Name})
	if err != nil {
		t.Fatal(err)
	}
	if opened.Name != name || opened.Algorithm == nil || opened.Algorithm.Name != name {
		t.Errorf("opened %s as %+v", name, opened)
	}
	h, err := runner.Run(t.Context(), runner.Config{
		Limiter: opened.Limiter, Plan: p, MaxInFlight: 8,
		Identity: func(key int32, attempt int) string { return fmt.Sprintf("id%d-%d", key, attempt) },
	})
	if err != nil {
		t.Fatal(err)
	}
	checkKeys(t, s, opened.Keys("id0-1"), "t:"+sc.Name)
	c := &oracle.Case{Plan: p, Results: h.Results, Edge: h.Edge, Algorithm: opened.Algorithm, Name: name, Checks: sc.Checks}
	j, err := oracle.Judge(c)
	if err != nil {
		t.Fatal(err)
	}
	return j, c
}

// checkKeys wants exactly these keys under a prefix, with a long time to live:
// instants of the virtual clock say nothing about real time.
func checkKeys(t *testing.T, s *backend.Server, keys []string, prefix string) {
	t.Helper()
	client := s.Client()
	found, err := client.Keys(t.Context(), prefix+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		ttl, err := client.PTTL(t.Context(), key).Result()
		if err != nil || ttl < 30*time.Minute || ttl > 2*time.Hour {
			t.Errorf("key %s lives for %s (%v)", key, ttl, err)
		}
		if !strings.HasPrefix(key, prefix) || !slices.Contains(found, key) {
			t.Errorf("key %s is not among %q", key, found)
		}
	}
	if len(found) != len(keys) {
		t.Errorf("the run left %q, the target knows of %q", found, keys)
	}
	if err := client.Del(t.Context(), found...).Err(); err != nil {
		t.Fatal(err)
	}
}

// With a real clock keys live for two windows and a second at most.
func TestKeysOfARealClockExpire(t *testing.T) {
	s := server(t, "embedded")
	for _, name := range limiter.Names() {
		l := limiter.Limit{Max: 3, Window: 10 * time.Second}
		opened, err := target.Open(s, name, target.Options{Limit: l, Clock: scenarios.Server, Prefix: "ttl"})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := opened.Limiter.Allow(t.Context(), limiter.Request{Key: "k"}); err != nil || !d.Allowed {
			t.Fatalf("%s: %+v and %v", name, d, err)
		}
		ttl, err := s.Client().PTTL(t.Context(), opened.Keys("k")[0]).Result()
		if err != nil || ttl <= 0 || ttl > 21*time.Second {
			t.Errorf("%s: the key lives for %s (%v)", name, ttl, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	s := server(t, "embedded")
	good := target.Options{Limit: limiter.Limit{Max: 1, Window: time.Second}, Clock: scenarios.Virtual, Prefix: "p"}
	for _, row := range []struct {
		name   string
		change func(*target.Options)
		want   string
		why    string
	}{
		{"lok", func(*target.Options) {}, `unknown limiter "lok" (did you mean "log"?)`, "a name that is none"},
		{"counter", func(o *target.Options) { o.Limit = limiter.Limit{Max: limiter.MaxMax, Window: limiter.MaxWindow} }, "2^53", "a limit that it cannot compute"},
		{"fixed", func(o *target.Options) { o.Limit = limiter.Limit{} }, "window", "no limit"},
		{"fixed", func(o *target.Options) { o.Prefix = "a{b}" }, "prefix", "a prefix that moves the hash tag"},
	} {
		o := good
		row.change(&o)
		opened, err := target.Open(s, row.name, o)
		if err == nil || opened != nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v and %v, want an error about %s", row.why, opened, err, row.want)
		}
	}
}

// The tester sees errors as they are, and no policy's answer to them.
func TestTargetsShowErrors(t *testing.T) {
	s := server(t, "embedded")
	opened, err := target.Open(s, "fixed", target.Options{Limit: limiter.Limit{Max: 1, Window: time.Second}, Clock: scenarios.Virtual, Prefix: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Client().LPush(t.Context(), opened.Keys("k")[0], "no number").Err(); err != nil {
		t.Fatal(err)
	}
	d, err := opened.Limiter.Allow(t.Context(), limiter.Request{Key: "k", At: time.UnixMicro(1)})
	if err == nil || !limiter.Answered(err) || d.Allowed {
		t.Errorf("a key of another type: %+v and %v", d, err)
	}
}

// decided makes n decisions.
func decided(t *testing.T, ctx context.Context, l limiter.Limiter, n int) {
	t.Helper()
	for i := range n {
		if _, err := l.Allow(ctx, limiter.Request{Key: fmt.Sprintf("k%d", i%2), At: time.UnixMicro(int64(i))}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMeter(t *testing.T) {
	for _, row := range []struct {
		flavour  string
		foreign  bool // somebody else runs scripts too
		measured bool
		why      string
	}{
		{"embedded", false, false, "the stand-in has no statistics"},
		{"managed", false, true, "a server of one's own"},
		{"managed", true, false, "a server that others use: their commands cannot be told apart"},
	} {
		t.Run(row.why, func(t *testing.T) {
			s := server(t, row.flavour)
			opened, err := target.Open(s, "log", target.Options{Limit: limiter.Limit{Max: 50, Window: time.Second}, Clock: scenarios.Virtual, Prefix: "m"})
			if err != nil {
				t.Fatal(err)
			}
			m, err := target.Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			decided(t, t.Context(), opened.Limiter, 20)
			if row.foreign {
				for range 5 {
					if err := s.Client().Eval(t.Context(), "return 1", nil).Err(); err != nil {
						t.Fatal(err)
					}
				}
			}
			cost, err := m.Stop(t.Context(), slices.Concat(opened.Keys("k0"), opened.Keys("k1"), opened.Keys("never used")), 2, 20)
			if err != nil {
				t.Fatal(err)
			}
			if cost.Keys != 2 {
				t.Errorf("%d keys, want the two that exist", cost.Keys)
			}
			if sized := cost.BytesPerIdentity != nil; sized != (row.flavour == "managed") || sized && *cost.BytesPerIdentity < 50 {
				t.Errorf("bytes per identity: %v", cost.BytesPerIdentity)
			}
			if (cost.CommandsPerDecision != nil) != row.measured || (cost.ScriptMicros != nil) != row.measured {
				t.Errorf("commands %v, script %v, measured %t", cost.CommandsPerDecision, cost.ScriptMicros, row.measured)
			}
			if row.measured && (*cost.CommandsPerDecision < 2 || *cost.CommandsPerDecision > 8 || *cost.ScriptMicros <= 0) {
				t.Errorf("%.1f commands and %.1f µs a decision", *cost.CommandsPerDecision, *cost.ScriptMicros)
			}
		})
	}
}

func TestMeterOfNothing(t *testing.T) {
	s := server(t, "managed")
	m, err := target.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if cost, err := m.Stop(t.Context(), nil, 0, 0); err != nil || cost != (target.Cost{}) {
		t.Errorf("no keys and no decisions: %+v and %v", cost, err)
	}
}

// Others on a live server who run no scripts are others all the same: the number
// is right, or there is none.
func TestMeterDoesNotCountTheReadsOfOthers(t *testing.T) {
	others := server(t, "managed")
	live, err := backend.Open(t.Context(), others.URL(), backend.Options{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	opened, err := target.Open(live, "fixed", target.Options{Limit: limiter.Limit{Max: 50, Window: time.Second}, Clock: scenarios.Virtual, Prefix: "m"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := target.Start(t.Context(), live)
	if err != nil {
		t.Fatal(err)
	}
	decided(t, t.Context(), opened.Limiter, 20)
	for range 400 {
		if err := others.Client().Exists(t.Context(), "x").Err(); err != nil {
			t.Fatal(err)
		}
		if err := others.Client().StrLen(t.Context(), "x").Err(); err != nil {
			t.Fatal(err)
		}
	}
	cost, err := m.Stop(t.Context(), opened.Keys("k0"), 1, 20)
	if err != nil {
		t.Fatal(err)
	}
	if c := cost.CommandsPerDecision; c != nil && *c > 8 {
		t.Errorf("%.1f commands a decision: twenty of each are those of others", *c)
	}
}
