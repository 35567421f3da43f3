package target_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

const examples = "../../testdata/lua/"

// luaT0 is a multiple of every window here: number 176722560 of 10 s.
var luaT0 = time.Unix(1767225600, 0)

// step is one request and the answer that it must get. Waits and what remains
// are compared if the example tells them.
type step struct {
	at           time.Duration // after luaT0
	allowed      bool
	remaining    int64
	retry, reset time.Duration
}

const (
	sec = time.Second
	us  = time.Microsecond
)

// luaExamples are the scripts of testdata/lua with answers worked out by hand.
var luaExamples = []struct {
	file, limit, model string
	tells              scenarios.Tells // At aside
	steps              []step
	keys               []string // of identity "p:k" by then, sorted
	why                string
}{
	{
		"default-log", "3/10s", "log",
		scenarios.Tells{Remaining: true, Retry: us, Reset: us},
		[]step{
			{0, true, 2, 0, 10 * sec},
			{sec, true, 1, 0, 10 * sec},
			{sec, true, 0, 0, 10 * sec}, // the same instant, another member
			{2 * sec, false, 0, 8 * sec, 9 * sec},
			{10*sec - us, false, 0, us, sec + us},
			{10 * sec, true, 0, 0, 10 * sec}, // the first is exactly a window old
		},
		[]string{"p:k"},
		"called and answering by default",
	},
	{
		"fixed-incr", "3/10s", "fixed",
		scenarios.Tells{},
		[]step{{at: 0, allowed: true}, {at: 10*sec - us, allowed: true}, {at: 10*sec - us, allowed: true}, {at: 10*sec - us}, {at: 10 * sec, allowed: true}},
		[]string{"rl:{p:k}:176722560", "rl:{p:k}:176722561"},
		"a number that is compared with the limit, and a key for each window",
	},
	{
		"weighted-counter", "4/10s", "counter",
		scenarios.Tells{},
		[]step{
			{at: 0, allowed: true},
			{at: 0, allowed: true},
			{at: 0, allowed: true},
			{at: 0, allowed: true},
			{at: 0},
			{at: 10 * sec}, // 4 × 10/10 = 4
			{at: 12500 * time.Millisecond, allowed: true}, // 4 × 7.5/10 = 3
			{at: 12500 * time.Millisecond},                // 3 + 1
			{at: 15 * sec, allowed: true},                 // 4 × 5/10 + 1 = 3
			{at: 15 * sec},
		},
		[]string{"rl:{p:k}:176722560", "rl:{p:k}:176722561"},
		"two keys, 1 and 0, and a mapping in a block comment",
	},
	{
		"log-seconds", "3/10s", "log",
		scenarios.Tells{Remaining: true},
		[]step{
			{250 * time.Millisecond, true, 2, 0, 0},
			{500 * time.Millisecond, true, 1, 0, 0},
			{500 * time.Millisecond, true, 0, 0, 0},
			{10250*time.Millisecond - us, false, 0, 0, 0},
			{10250 * time.Millisecond, true, 0, 0, 0},
		},
		[]string{"rl:p:k"},
		"decimals that are exact to the microsecond",
	},
	{
		"token-bucket", "2/2s", "",
		scenarios.Tells{Remaining: true},
		[]step{
			{0, true, 1, 0, 0},
			{0, true, 0, 0, 0},
			{0, false, 0, 0, 0},
			{999 * time.Millisecond, false, 0, 0, 0},
			{sec, true, 0, 0, 0},
			{3500 * time.Millisecond, true, 1, 0, 0}, // full after 2 s, less one
			{3500 * time.Millisecond, true, 0, 0, 0},
			{3500 * time.Millisecond, false, 0, 0, 0},
		},
		[]string{"bucket:p:k"},
		"a hash, and a limit per second",
	},
	{
		"gcra", "3/12s", "gcra",
		scenarios.Tells{Remaining: true, Retry: us, Reset: us},
		[]step{
			{0, true, 2, 0, 4 * sec},
			{0, true, 1, 0, 8 * sec},
			{0, true, 0, 0, 12 * sec},
			{0, false, 0, 4 * sec, 12 * sec},
			{4*sec - us, false, 0, us, 8*sec + us},
			{4 * sec, true, 0, 0, 12 * sec},
			{16 * sec, true, 2, 0, 4 * sec},
		},
		[]string{"rl:p:k"},
		"one instant as state, and a mapping in a .yml file",
	},
	{
		"booleans", "2/10s", "fixed",
		scenarios.Tells{},
		[]step{{at: 0, allowed: true}, {at: 9 * sec, allowed: true}, {at: 9 * sec}, {at: 10 * sec, allowed: true}},
		[]string{"rl:{p:k}:1767225600000", "rl:{p:k}:1767225610000"},
		"nil that means denied, and keys by the start of the window",
	},
	{
		"limited", "2/10s", "fixed",
		scenarios.Tells{Remaining: true, Retry: sec, Reset: sec},
		[]step{
			{500 * time.Millisecond, true, 1, 0, 10 * sec},
			{500 * time.Millisecond, true, 0, 0, 10 * sec},
			{3200 * time.Millisecond, false, 0, 7 * sec, 7 * sec},
			{10 * sec, true, 1, 0, 10 * sec},
		},
		[]string{"throttle:{p:k}"},
		"1 is a denial, and -1 is no wait",
	},
	{
		"numeric-strings", "2/10s", "log",
		scenarios.Tells{Remaining: true, Retry: us},
		[]step{
			{0, true, 1, 0, 0},
			{750 * time.Millisecond, true, 0, 0, 0},
			{sec, false, 0, 9 * sec, 0},
			{9750 * time.Millisecond, false, 0, 250 * time.Millisecond, 0},
			{10 * sec, true, 0, 0, 0},
		},
		[]string{"p:k"},
		"numbers in text, with decimals that are finer than the unit",
	},
	{
		"article-fixed", "2/10s", "fixed",
		scenarios.Tells{},
		[]step{{at: 0, allowed: true}, {at: 9 * sec, allowed: true}, {at: 9 * sec}, {at: 10 * sec, allowed: true}},
		[]string{"rl:p:k:176722560", "rl:p:k:176722561"},
		"counts denials too",
	},
	{
		"article-log", "2/10s", "log",
		scenarios.Tells{Remaining: true},
		[]step{{0, true, 1, 0, 0}, {0, true, 0, 0, 0}, {10*sec - us, false, 0, 0, 0}, {10 * sec, true, 1, 0, 0}},
		[]string{"rl:log:p:k"},
		"two in one instant have two members",
	},
	{
		"article-counter", "4/10s", "counter",
		scenarios.Tells{Remaining: true},
		[]step{
			{0, true, 3, 0, 0},
			{0, true, 2, 0, 0},
			{0, true, 1, 0, 0},
			{0, true, 0, 0, 0},
			{0, false, 0, 0, 0},
			{10 * sec, false, 0, 0, 0},
			{12500 * time.Millisecond, true, 0, 0, 0}, // 4 - 3 - 1
			{12500 * time.Millisecond, false, 0, 0, 0},
			{15 * sec, true, 0, 0, 0}, // 4 - (2 + 1) - 1
		},
		[]string{"rl:cnt:p:k:176722560", "rl:cnt:p:k:176722561"},
		"what remains is less the estimate",
	},
}

// openedLua opens a script under a prefix and starts with a limit.
func openedLua(t *testing.T, s *backend.Server, file string, o target.Options, limit string) (*target.Target, limiter.Limiter) {
	t.Helper()
	l, err := limiter.ParseLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	o.Prefix = "p"
	name := "lua:" + file
	if err := target.Check(name, target.Needs{Limits: []limiter.Limit{l}, Clock: o.Clock}, o.Model); err != nil {
		t.Fatal(err)
	}
	opened, err := target.Open(t.Context(), s, name, o)
	if err != nil {
		t.Fatal(err)
	}
	made, err := opened.Limiter(l)
	if err != nil {
		t.Fatal(err)
	}
	if opened.Name != name || !opened.Foreign || opened.LongestTTL(l) < 2*l.Window+sec {
		t.Errorf("opened as %+v", opened)
	}
	return opened, made
}

func TestLuaExamples(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		for _, row := range luaExamples {
			t.Run(flavour+"/"+row.file, func(t *testing.T) {
				opened, l := openedLua(t, s, examples+row.file+".lua", target.Options{Clock: scenarios.Virtual}, row.limit)
				var keys []string
				for i, want := range row.steps {
					at := luaT0.Add(want.at)
					d, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: at})
					if err != nil {
						t.Fatalf("step %d: %v (%s)", i, err, row.why)
					}
					told := step{want.at, d.Allowed, d.Remaining, d.RetryAfter, d.ResetAfter}
					if told != want || !d.At.Equal(at) || d.Source != limiter.SourceRedis {
						t.Errorf("step %d: got %+v at %s, want %+v (%s)", i, told, d.At, want, row.why)
					}
					keys = append(keys, opened.Keys("k", at)...)
				}
				claims(t, opened, row.model)
				row.tells.At = true
				if opened.Tells != row.tells {
					t.Errorf("tells %+v, want %+v (%s)", opened.Tells, row.tells, row.why)
				}
				wantKeys(t, s, keys, row.keys)
			})
		}
	}
}

func claims(t *testing.T, opened *target.Target, model string) {
	t.Helper()
	switch a := opened.Algorithm; {
	case a == nil && model != "", a != nil && a.Name != model:
		t.Errorf("claims to be %v, want %q", a, model)
	}
	if a := target.Claims(opened.Name, ""); (a == nil) != (model == "") {
		t.Errorf("before it is opened it claims to be %v, want %q", a, model)
	}
	if a := target.Claims(opened.Name, target.NoModel); a != nil {
		t.Errorf("told to claim nothing it claims to be %s", a.Name)
	}
}

// wantKeys wants these keys in Redis and no others, all of them among those that
// the target names; and forgets them.
func wantKeys(t *testing.T, s *backend.Server, named, want []string) {
	t.Helper()
	found, err := s.Client().Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("left the keys %q, want %q", found, want)
	}
	for _, key := range found {
		if !slices.Contains(named, key) {
			t.Errorf("key %s is not among those that it names: %q", key, named)
		}
		if ttl, err := s.Client().PTTL(t.Context(), key).Result(); err != nil || ttl <= 0 {
			t.Errorf("key %s lives for %s (%v)", key, ttl, err)
		}
		if err := s.Client().Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// The example of the server's clock counts from its first request on.
func TestLuaServerClock(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		t.Run(flavour, func(t *testing.T) {
			s := server(t, flavour)
			opened, l := openedLua(t, s, examples+"server-window.lua", target.Options{Clock: scenarios.Server}, "3/1h")
			before, err := s.Client().Time(t.Context()).Result()
			if err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				d, err := l.Allow(t.Context(), limiter.Request{Key: "k"})
				if err != nil || d.Allowed != (i < 3) {
					t.Fatalf("request %d: %+v, %v", i, d, err)
				}
				after, err := s.Client().Time(t.Context()).Result()
				if err != nil || d.At.Before(before) || d.At.After(after) {
					t.Errorf("decided at %s, want %s to %s (%v)", d.At, before, after, err)
				}
				if d.ResetAfter <= 59*time.Minute || d.ResetAfter > time.Hour || (d.RetryAfter == 0) != d.Allowed || d.RetryAfter > d.ResetAfter {
					t.Errorf("waits %s and %s of an hour", d.RetryAfter, d.ResetAfter)
				}
			}
			want := scenarios.Tells{Retry: time.Millisecond, Reset: time.Millisecond, At: true}
			if opened.Tells != want || opened.Timed {
				t.Errorf("tells %+v, want %+v; its keys depend on the instant: %t", opened.Tells, want, opened.Timed)
			}
			wantKeys(t, s, opened.Keys("k", time.Time{}), []string{"rl:p:k"})
		})
	}
}

// No example is without a test, and none is tested that does not exist.
func TestEveryLuaExampleIsTested(t *testing.T) {
	files, err := filepath.Glob(examples + "*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".lua")
		tested := name == "server-window"
		for _, row := range luaExamples {
			tested = tested || row.file == name
		}
		if !tested {
			t.Errorf("%s is tested by nobody", file)
		}
	}
	if len(files) != len(luaExamples)+1 {
		t.Errorf("%d files for %d rows", len(files), len(luaExamples)+1)
	}
	for _, ending := range []string{"yaml", "yml"} {
		mappings, _ := filepath.Glob(examples + "*." + ending)
		for _, file := range mappings {
			if _, err := os.Stat(strings.TrimSuffix(file, ending) + "lua"); err != nil {
				t.Errorf("%s belongs to no script", file)
			}
		}
	}
}
