package target_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// What the server cannot compile is told with its line, before any request.
func TestLuaThatDoesNotCompile(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		name := "lua:" + filepath.Join(written(t, map[string]string{"x.lua": "-- a limiter\nlocal a =\n\nif then end\n"}), "x.lua")
		_, err := target.Open(t.Context(), s, name, target.Options{Clock: scenarios.Virtual, Prefix: "p"})
		var script *backend.ScriptError
		if !errors.As(err, &script) || script.Line != 4 || !strings.Contains(err.Error(), "x.lua:4: compile script: ") {
			t.Errorf("%s: got %v, want a mistake in line 4", flavour, err)
		}
	}
}

func TestLuaOpenRefuses(t *testing.T) {
	s := server(t, "embedded")
	folder := written(t, map[string]string{"x.lua": "return 1", "bad.lua": "return 1", "bad.yaml": "modle: log"})
	for _, row := range []struct {
		file    string
		options target.Options
		want    string
	}{
		{"x.lua", target.Options{Clock: scenarios.Server, Prefix: "p"}, "use --clock virtual"},
		{"x.lua", target.Options{Clock: scenarios.Virtual, Prefix: "a{b}"}, `key prefix "a{b}"`},
		{"x.lua", target.Options{Clock: scenarios.Virtual, Prefix: "p", Model: "lok"}, `did you mean "log"?`},
		{"bad.lua", target.Options{Clock: scenarios.Virtual, Prefix: "p"}, `did you mean "model"?`},
		{"none.lua", target.Options{Clock: scenarios.Virtual, Prefix: "p"}, "no such file"},
	} {
		opened, err := target.Open(t.Context(), s, "lua:"+filepath.Join(folder, row.file), row.options)
		if opened != nil || err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s with %+v: got %v, want %s", row.file, row.options, err, row.want)
		}
	}
	opened, err := target.Open(t.Context(), s, "lua:"+filepath.Join(folder, "x.lua"), target.Options{Clock: scenarios.Virtual, Prefix: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Limiter(limiter.Limit{Max: 1}); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("a limit without a window: %v", err)
	}
}

// echo answers every call with an error that holds what it was given.
const echo = "return redis.error_reply('ECHO ' .. table.concat(KEYS, ' ') .. ' | ' .. table.concat(ARGV, ' '))"

func TestLuaCalls(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		for _, row := range []struct {
			mapping string
			clock   scenarios.Clock
			request limiter.Request
			want    string
			why     string
		}{
			{"args: [limit, now_us, window_us, x]", scenarios.Virtual, limiter.Request{At: luaT0}, "ECHO p:k | 10 1767225600000000 60000000 x", "a literal"},
			{"keys: [\"{{id}}:{window_index-1}\", \"{{id}}:{window_index}\"]\nargs: [cost]", scenarios.Client, limiter.Request{At: luaT0, Cost: 4}, "ECHO {p:k}:29453759 {p:k}:29453760 | 4", "two keys and a cost"},
			{"keys: []\nargs: [id, now_s]", scenarios.Virtual, limiter.Request{At: luaT0}, "ECHO  | p:k 1767225600", "a script that names its keys itself"},
			{"clock: blank\nargs: [now_us, limit]", scenarios.Server, limiter.Request{}, "ECHO p:k |  10", "an empty now"},
			{"clock: blank\nargs: [now_us, limit]", scenarios.Virtual, limiter.Request{At: luaT0}, "ECHO p:k | 1767225600000000 10", "one that is not"},
			{"args: [now_ms, ttl_floor_ms]", scenarios.Virtual, limiter.Request{At: luaT0}, "ECHO p:k | 1767225600000 3600000", "keys that outlive virtual time"},
			{"args: [now_ms, ttl_floor_ms]", scenarios.Client, limiter.Request{At: luaT0}, "ECHO p:k | 1767225600000 0", "and need not outlive a real one"},
		} {
			folder := written(t, map[string]string{"x.lua": echo, "x.yaml": row.mapping})
			opened, l := openedLua(t, s, filepath.Join(folder, "x.lua"), target.Options{Clock: row.clock}, "10/1m")
			row.request.Key = "k"
			_, err := l.Allow(t.Context(), row.request)
			if err == nil || !strings.Contains(err.Error(), row.want) || !limiter.Answered(err) || errors.Is(err, limiter.ErrUnknown) {
				t.Errorf("%s, %s: got %v, want the answer %q", flavour, row.why, err, row.want)
			}
			floor := time.Duration(0)
			if strings.Contains(row.mapping, "ttl_floor_ms") && row.clock == scenarios.Virtual {
				floor = time.Hour
			}
			if opened.TTLFloor != floor || opened.Costs != strings.Contains(row.mapping, "cost") || opened.Timed != strings.Contains(row.mapping, "window_index") {
				t.Errorf("%s: opened as %+v", row.why, opened)
			}
			at := opened.Tells.At
			if at != (row.clock != scenarios.Server) {
				t.Errorf("%s: tells the instant: %t", row.why, at)
			}
		}
	}
}

// Requests that a script cannot take are not sent.
func TestLuaRefusedRequests(t *testing.T) {
	s := server(t, "embedded")
	folder := written(t, map[string]string{"x.lua": "redis.call('INCR', KEYS[1]) return 1"})
	opened, l := openedLua(t, s, filepath.Join(folder, "x.lua"), target.Options{Clock: scenarios.Virtual}, "10/1m")
	for _, row := range []struct {
		request limiter.Request
		want    string
	}{
		{limiter.Request{At: luaT0}, "no key"},
		{limiter.Request{Key: "k"}, "the request has no instant, and the script is given the time by its caller"},
		{limiter.Request{Key: "k", At: luaT0, Cost: 2}, "the request costs 2 units, and the script is not told"},
		{limiter.Request{Key: "k", At: luaT0, Cost: -1}, "cost is negative"},
	} {
		_, err := l.Allow(t.Context(), row.request)
		if err == nil || !strings.Contains(err.Error(), row.want) || errors.Is(err, limiter.ErrUnknown) || limiter.Answered(err) {
			t.Errorf("%+v: got %v, want %s", row.request, err, row.want)
		}
	}
	if n, err := s.Client().Exists(t.Context(), opened.Keys("k", luaT0)...).Result(); n != 0 || err != nil {
		t.Errorf("%d keys (%v): something was sent", n, err)
	}
}

// A server that forgot the script is sent it again, and the call counts once.
func TestLuaAfterScriptFlush(t *testing.T) {
	s := server(t, "managed")
	folder := written(t, map[string]string{"x.lua": "return redis.call('INCR', KEYS[1])", "x.yaml": "reply: {count: self}"})
	opened, l := openedLua(t, s, filepath.Join(folder, "x.lua"), target.Options{Clock: scenarios.Virtual}, "2/1m")
	for i := range 3 {
		if err := s.Client().ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if d, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: luaT0}); err != nil || d.Allowed != (i < 2) {
			t.Errorf("call %d: %+v, %v", i, d, err)
		}
	}
	if n, err := s.Client().Get(t.Context(), opened.Keys("k", luaT0)[0]).Int(); n != 3 || err != nil {
		t.Errorf("counted %d (%v), want 3", n, err)
	}
}

// Members are unique among concurrent requests, limiters and targets: each is
// one of the log.
func TestLuaMembersAreUnique(t *testing.T) {
	s := server(t, "managed")
	_, first := openedLua(t, s, examples+"default-log.lua", target.Options{Clock: scenarios.Virtual}, "1000/1m")
	opened, second := openedLua(t, s, examples+"default-log.lua", target.Options{Clock: scenarios.Virtual}, "1000/1m")
	third, err := opened.Limiter(limiter.Limit{Max: 500, Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var senders sync.WaitGroup
	for _, l := range []limiter.Limiter{first, second, third, third} {
		senders.Go(func() {
			for range 100 {
				if d, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: luaT0}); err != nil || !d.Allowed {
					t.Errorf("%+v, %v", d, err)
				}
			}
		})
	}
	senders.Wait()
	if n, err := s.Client().ZCard(t.Context(), opened.Keys("k", luaT0)[0]).Result(); n != 400 || err != nil {
		t.Errorf("%d members (%v), want 400", n, err)
	}
}

// The keys of a target are those of all its limits, the scenario's included.
func TestLuaKeysOfAllLimits(t *testing.T) {
	s := server(t, "embedded")
	folder := written(t, map[string]string{"x.lua": "return 1", "x.yaml": "keys: [\"{id}:{window_index}\"]"})
	o := target.Options{Clock: scenarios.Virtual, Limit: limiter.Limit{Max: 1, Window: time.Minute}}
	opened, _ := openedLua(t, s, filepath.Join(folder, "x.lua"), o, "1/10s")
	if got, want := opened.Keys("k", luaT0), []string{"p:k:29453760", "p:k:176722560"}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
	if got := opened.Keys("k", time.Time{}); got != nil {
		t.Errorf("without an instant the keys are %q, want none", got)
	}
}

// A script that never ends costs a request its timeout, and nobody knows what
// became of it.
func TestLuaThatLoops(t *testing.T) {
	needServer(t)
	s, err := backend.Open(t.Context(), "managed", backend.Options{Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	folder := written(t, map[string]string{"x.lua": "while true do end"})
	_, l := openedLua(t, s, filepath.Join(folder, "x.lua"), target.Options{Clock: scenarios.Virtual}, "10/1m")
	_, err = l.Allow(t.Context(), limiter.Request{Key: "k", At: luaT0})
	if !errors.Is(err, limiter.ErrUnknown) || limiter.Answered(err) {
		t.Errorf("got %v, want an unknown fate", err)
	}
}
