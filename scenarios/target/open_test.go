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

// bundled opens a bundled algorithm and starts with the limit of the options.
func bundled(t *testing.T, s *backend.Server, name string, o target.Options) (*target.Target, limiter.Limiter) {
	t.Helper()
	opened, err := target.Open(t.Context(), s, name, o)
	if err != nil {
		t.Fatal(err)
	}
	made, err := opened.Limiter(o.Limit)
	if err != nil {
		t.Fatal(err)
	}
	return opened, made
}

// The keys of a target are known before it has a limiter, and do not change with
// the count of the limit. Another window has keys of other names, and is refused.
func TestKeysBeforeTheFirstLimiter(t *testing.T) {
	s := server(t, "embedded")
	for _, name := range limiter.Names() {
		opened, err := target.Open(t.Context(), s, name, target.Options{Limit: limiter.Limit{Max: 3, Window: time.Minute}, Clock: scenarios.Virtual, Prefix: "p"})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"p:" + name + ":rlbench:60000000:{k}"}
		if got := opened.Keys("k", time.Time{}); !slices.Equal(got, want) {
			t.Errorf("%s: keys %q, want %q", name, got, want)
		}
		if _, err := opened.Limiter(limiter.Limit{Max: 7, Window: time.Minute}); err != nil {
			t.Errorf("%s: another count: %v", name, err)
		}
		if got := opened.Keys("k", luaT0); !slices.Equal(got, want) {
			t.Errorf("%s: after another count keys %q, want %q", name, got, want)
		}
		for _, l := range []limiter.Limit{{Max: 3, Window: time.Second}, {Max: -1, Window: time.Minute}} {
			if made, err := opened.Limiter(l); err == nil || made != nil || !strings.HasPrefix(err.Error(), "open target "+name+": ") {
				t.Errorf("%s: limit %v: got %v and %v", name, l, made, err)
			}
		}
	}
}

// With a real clock keys live for two windows and a second at most.
func TestKeysOfARealClockExpire(t *testing.T) {
	s := server(t, "embedded")
	for _, name := range limiter.Names() {
		l := limiter.Limit{Max: 3, Window: 10 * time.Second}
		opened, made := bundled(t, s, name, target.Options{Limit: l, Clock: scenarios.Server, Prefix: "ttl"})
		if d, err := made.Allow(t.Context(), limiter.Request{Key: "k"}); err != nil || !d.Allowed {
			t.Fatalf("%s: %+v and %v", name, d, err)
		}
		ttl, err := s.Client().PTTL(t.Context(), opened.Keys("k", time.Time{})[0]).Result()
		if err != nil || ttl <= 0 || ttl > 21*time.Second || ttl > opened.LongestTTL(l) {
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
		opened, err := target.Open(t.Context(), s, row.name, o)
		if err == nil || opened != nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v and %v, want an error about %s", row.why, opened, err, row.want)
		}
	}
}

// The tester sees errors as they are, and no policy's answer to them.
func TestTargetsShowErrors(t *testing.T) {
	s := server(t, "embedded")
	opened, made := bundled(t, s, "fixed", target.Options{Limit: limiter.Limit{Max: 1, Window: time.Second}, Clock: scenarios.Virtual, Prefix: "p"})
	if err := s.Client().LPush(t.Context(), opened.Keys("k", time.Time{})[0], "no number").Err(); err != nil {
		t.Fatal(err)
	}
	d, err := made.Allow(t.Context(), limiter.Request{Key: "k", At: time.UnixMicro(1)})
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
			opened, made := bundled(t, s, "log", target.Options{Limit: limiter.Limit{Max: 50, Window: time.Second}, Clock: scenarios.Virtual, Prefix: "m"})
			m, err := target.Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			decided(t, t.Context(), made, 20)
			if row.foreign {
				for range 5 {
					if err := s.Client().Eval(t.Context(), "return 1", nil).Err(); err != nil {
						t.Fatal(err)
					}
				}
			}
			cost, err := m.Stop(t.Context(), slices.Concat(opened.Keys("k0", luaT0), opened.Keys("k1", luaT0), opened.Keys("never used", luaT0)), 2, 20)
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
	opened, made := bundled(t, live, "fixed", target.Options{Limit: limiter.Limit{Max: 50, Window: time.Second}, Clock: scenarios.Virtual, Prefix: "m"})
	m, err := target.Start(t.Context(), live)
	if err != nil {
		t.Fatal(err)
	}
	decided(t, t.Context(), made, 20)
	for range 400 {
		if err := others.Client().Exists(t.Context(), "x").Err(); err != nil {
			t.Fatal(err)
		}
		if err := others.Client().StrLen(t.Context(), "x").Err(); err != nil {
			t.Fatal(err)
		}
	}
	cost, err := m.Stop(t.Context(), opened.Keys("k0", luaT0), 1, 20)
	if err != nil {
		t.Fatal(err)
	}
	if c := cost.CommandsPerDecision; c != nil && *c > 8 {
		t.Errorf("%.1f commands a decision: twenty of each are those of others", *c)
	}
}
