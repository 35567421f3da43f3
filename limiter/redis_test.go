package limiter_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// open makes a limiter on the embedded server; change adds what the test is about.
func open(t *testing.T, a limiter.Algorithm, change func(*limiter.Config)) *limiter.Redis {
	t.Helper()
	c := config(a)
	c.Policy = strings.NewReplacer("/", ".", " ", ".").Replace(t.Name())
	if change != nil {
		change(&c)
	}
	l, err := limiter.New(embedded(t).Client(), c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func allow(t *testing.T, l limiter.Limiter, r limiter.Request) limiter.Decision {
	t.Helper()
	d, err := l.Allow(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestKeys pins the names: operators write ACLs and dashboards after them.
func TestKeys(t *testing.T) {
	client := embedded(t).Client()
	for _, row := range []struct {
		why            string
		prefix, policy string
		identity, want string
	}{
		{"the defaults", "", "", "id", "rl:fixed:default:60000000:{id}"},
		{"one's own names", "shop:rl", "search.v2", "id", "shop:rl:fixed:search.v2:60000000:{id}"},
		{"a brace would end the hash tag early", "", "", "a}b", "rl:fixed:default:60000000:{a%7Db}"},
		{"so what stands for one is escaped too", "", "", "a%7Db", "rl:fixed:default:60000000:{a%257Db}"},
		{"an opening brace is harmless", "", "", "{a", "rl:fixed:default:60000000:{{a}"},
		{"a lone closing brace would leave an empty tag", "", "", "}", "rl:fixed:default:60000000:{%7D}"},
	} {
		c := config(limiter.Fixed)
		c.Prefix, c.Policy = row.prefix, row.policy
		l, err := limiter.New(client, c)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Keys(row.identity); !slices.Equal(got, []string{row.want}) {
			t.Errorf("%s: keys of %q are %q, want %q", row.why, row.identity, got, row.want)
		}
	}
}

// TestSeparateBudgets: what is part of the key separates, the limit does not.
func TestSeparateBudgets(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*limiter.Config)
		shared bool
	}{
		{"another process", func(*limiter.Config) {}, true},
		{"another limit", func(c *limiter.Config) { c.Limit.Max = 11 }, true},
		{"another window", func(c *limiter.Config) { c.Limit.Window = time.Hour }, false},
		{"another policy", func(c *limiter.Config) { c.Policy = "other" }, false},
		{"another prefix", func(c *limiter.Config) { c.Prefix = "other" }, false},
		{"another algorithm", func(c *limiter.Config) { c.Algorithm = limiter.Counter }, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			first, second := open(t, limiter.Fixed, nil), open(t, limiter.Fixed, row.change)
			allow(t, first, limiter.Request{Key: "k", At: t0, Cost: 10})
			d := allow(t, second, limiter.Request{Key: "k", At: t0, Cost: 1})
			if used := d.Limit - d.Remaining; (used > 1) != row.shared {
				t.Errorf("%d used after 10 and 1, shared should be %t", used, row.shared)
			}
		})
	}
}

// TestNanosecondsAreCut: instants are cut to whole microseconds, never rounded
// into the next window.
func TestNanosecondsAreCut(t *testing.T) {
	edge := t0.Add(time.Minute)
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			l := open(t, a, func(c *limiter.Config) { c.Limit.Max = 1 })
			allow(t, l, limiter.Request{Key: "k", At: t0.Add(999)})
			d := allow(t, l, limiter.Request{Key: "k", At: edge.Add(-1)})
			if d.Allowed || !d.At.Equal(edge.Add(-tick)) {
				t.Errorf("one nanosecond before the edge: admitted %t at %s, want a denial at %s", d.Allowed, d.At, edge.Add(-tick))
			}
		})
	}
}

// TestServerClock: a request without an instant is decided by the server's.
func TestServerClock(t *testing.T) {
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			l := open(t, a, func(c *limiter.Config) { c.Limit.Window = time.Hour })
			before, err := embedded(t).Client().Time(t.Context()).Result()
			if err != nil {
				t.Fatal(err)
			}
			d := allow(t, l, limiter.Request{Key: "k"})
			after, err := embedded(t).Client().Time(t.Context()).Result()
			if err != nil {
				t.Fatal(err)
			}
			if d.At.Before(before) || d.At.After(after) || d.At.Location() != time.UTC {
				t.Errorf("decided at %s, want %s to %s", d.At, before, after)
			}
			if d.Source != limiter.SourceRedis || d.Cause != nil {
				t.Errorf("source %q, cause %v, want redis and none", d.Source, d.Cause)
			}
		})
	}
}

// TestTTLFloor: simulated windows of milliseconds outlive real pauses, admitted
// or denied, and a used-up window that is longer than the floor keeps its own.
func TestTTLFloor(t *testing.T) {
	for _, a := range limiter.Algorithms {
		for _, row := range []struct {
			why           string
			window, floor time.Duration
			min, max      time.Duration
		}{
			{"no floor", time.Minute, 0, time.Minute, 2*time.Minute + time.Second},
			{"a floor above the window", time.Millisecond, time.Hour, time.Hour, time.Hour},
			{"a floor below the window", time.Hour, time.Minute, time.Hour, 2*time.Hour + time.Second},
		} {
			t.Run(a.Name+"/"+row.why, func(t *testing.T) {
				l := open(t, a, func(c *limiter.Config) { c.Limit.Window, c.TTLFloor = row.window, row.floor })
				const slack = 5 * time.Second // of real time, between the calls
				allow(t, l, limiter.Request{Key: "k", At: t0, Cost: l.Limit().Max})
				life, err := embedded(t).Client().PTTL(t.Context(), l.Keys("k")[0]).Result()
				if err != nil || life > row.max || life < row.min-slack {
					t.Errorf("the key lives %s, error %v, want %s to %s", life, err, row.min, row.max)
				}
			})
		}
	}
}

// TestWrongReplies: a script that breaks the convention is an error that names
// it, not a decision.
func TestWrongReplies(t *testing.T) {
	for _, row := range []struct{ why, script string }{
		{"too few values", `return {1, 2}`},
		{"too many values", `return {1, 2, 3, 4, 5, 6}`},
		{"no array", `return 1`},
		{"nothing", `return nil`},
		{"text among the integers", `return {1, 2, 3, '4', 5}`},
		{"an error of its own", `return redis.error_reply('ERR no')`},
		{"not Lua", `)`},
	} {
		t.Run(row.why, func(t *testing.T) {
			l := open(t, limiter.Fixed, func(c *limiter.Config) {
				c.Algorithm.Name, c.Algorithm.Script = "mine", row.script
			})
			if d, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: t0}); err == nil {
				t.Errorf("got the decision %+v", d)
			}
		})
	}
}
