package target_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// A script that cannot be read is told before anything is opened.
func TestLuaFilesThatCannotBeRead(t *testing.T) {
	const script = "return 1"
	for _, row := range []struct {
		files     map[string]string
		also      func(folder string) error
		want, why string
	}{
		{nil, nil, "read script x.lua: no such file or directory", "no file"},
		{nil, func(f string) error { return os.Mkdir(filepath.Join(f, "x.lua"), 0o700) }, "read script x.lua: is a directory", "a folder"},
		{map[string]string{"x.lua": ""}, nil, "read script x.lua: file is empty", "no byte"},
		{map[string]string{"x.lua": " \n\t\n"}, nil, "read script x.lua: file is empty", "only blanks"},
		{map[string]string{"x.lua": "-- ok\n-- caf\xe9\nreturn 1\n"}, nil, "read script x.lua: line 2 is not valid UTF-8", "Latin-1"},
		{map[string]string{"x.lua": "--" + strings.Repeat("x", 1<<20)}, nil, "read script x.lua: file is larger than 1048576 bytes", "two bytes too many"},
		{map[string]string{"x.lua": script, "x.yaml": "#" + strings.Repeat("x", 1<<20)}, nil, "read mapping x.yaml: file is larger than 1048576 bytes", "a mapping of that size"},
		{map[string]string{"x.lua": script}, func(f string) error { return os.Mkdir(filepath.Join(f, "x.yml"), 0o700) }, "read mapping x.yml: is a directory", "a folder where a mapping should be"},
		{map[string]string{"x.lua": script, "x.yaml": "model: log", "x.yml": "model: log"}, nil, "read script x.lua: two mappings are beside it, x.yaml and x.yml; keep one", "two mappings"},
		{map[string]string{"x.lua": "-- rlbench:\n-- model: log\n" + script, "x.yml": "model: log"}, nil, "read script x.lua: a mapping is in its comment and another one in x.yml; keep one", "two mappings, one in the script"},
	} {
		folder := written(t, row.files)
		if row.also != nil {
			if err := row.also(folder); err != nil {
				t.Fatal(err)
			}
		}
		if got := checked(t, folder, target.Needs{}, ""); got != row.want {
			t.Errorf("%s; got\n%s\nwant\n%s", row.why, got, row.want)
		}
		if a := target.Claims("lua:"+filepath.Join(folder, "x.lua"), ""); a != nil {
			t.Errorf("%s: claims to be %s", row.why, a.Name)
		}
	}
	if err := target.Check("lua:"+os.DevNull, target.Needs{}, ""); err == nil || err.Error() != "read script "+os.DevNull+": is no regular file" {
		t.Errorf("a device, which might never end: %v", err)
	}
	if err := target.Check("lua:", target.Needs{}, ""); err == nil || err.Error() != "target lua: names no file; write lua:PATH, such as lua:./mine.lua" {
		t.Errorf("no path: %v", err)
	}
	if err := target.Check("lua:\x1b[31m.lua", target.Needs{}, ""); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("an escape in a path reaches the terminal: %v", err)
	}
}

// What traffic needs and a script cannot give is told all at once.
func TestLuaNeeds(t *testing.T) {
	limit := func(n int64, w time.Duration) []limiter.Limit { return []limiter.Limit{{Max: n, Window: w}} }
	for _, row := range []struct {
		mapping     string
		needs       target.Needs
		model, want string
		why         string
	}{
		{"{}", target.Needs{Limits: limit(10, 1500*time.Microsecond), Clock: scenarios.Virtual}, "", "", "microseconds fit any window"},
		{"{}", target.Needs{Clock: scenarios.Client}, "", "", "the caller's clock can be real"},
		{"{}", target.Needs{Clock: scenarios.Server}, "", "target lua:x.lua: clock server: the script is given the time by its caller; use --clock virtual or --clock client", "a time that the caller does not know"},
		{"args: [limit]", target.Needs{Clock: scenarios.Server}, "", "", "the server's clock"},
		{"args: [limit]", target.Needs{Clock: scenarios.Virtual}, "", "target lua:x.lua: clock virtual: the script reads the time of the server; use --clock server", "a time that the script does not ask for"},
		{"args: [limit]", target.Needs{Clock: scenarios.Client}, "", "target lua:x.lua: clock client: the script reads the time of the server; use --clock server", "another one"},
		{"clock: blank", target.Needs{Clock: scenarios.Server}, "", "", "an empty now lets the script read the time"},
		{"clock: blank", target.Needs{Clock: scenarios.Virtual}, "", "", "a now that is not empty does not"},
		{"args: [now_us, window_s]", target.Needs{Limits: limit(10, 2*time.Second)}, "", "", "whole seconds"},
		{"args: [now_us, window_s]", target.Needs{Limits: limit(10, 1500*time.Millisecond)}, "", "target lua:x.lua: limit 10/1.5s: the window is not a whole number of 1s, which is what window_s says; use a finer unit, such as window_us", "half a second would be cut off"},
		{"keys: [\"{id}:{window_start_ms}\"]\nargs: [\"{window_ms}\", now_ms, window_ms]", target.Needs{Limits: limit(10, 1500*time.Microsecond)}, "", `target lua:x.lua: limit 10/1.5ms: the window is not a whole number of 1ms, which is what window_start_ms says; use a finer unit, such as window_start_us
target lua:x.lua: limit 10/1.5ms: the window is not a whole number of 1ms, which is what window_ms says; use a finer unit, such as window_us`, "half a millisecond, in a key and an argument, each once"},
		{"{}", target.Needs{Costs: true}, "", "target lua:x.lua: requests cost more than one unit, and the script is not told: no argument is {cost}", "costs that nobody tells"},
		{"args: [now_us, cost]", target.Needs{Costs: true}, "", "", "costs that are told"},
		{"{}", target.Needs{Limits: limit(limiter.MaxMax, limiter.MaxWindow)}, "log", "", "a model that computes anything"},
		{"{}", target.Needs{Limits: limit(limiter.MaxMax, limiter.MaxWindow)}, "counter", "target lua:x.lua: limit 2147483648/31d: 2147483648 × 2678400000000 µs is 2^53 or more and cannot be computed exactly; the largest count for this window is 3362", "one that does not"},
		{"model: counter", target.Needs{Limits: limit(limiter.MaxMax, limiter.MaxWindow)}, "none", "", "a claim that is taken back"},
		{"{}", target.Needs{}, "cuonter", `target lua:x.lua: unknown model "cuonter" (did you mean "counter"?); known: fixed, log, log-packed, counter, counter-strict, gcra, none`, "a model that is none"},
		{"{}", target.Needs{Limits: limit(1, time.Microsecond), Clock: scenarios.Server, Costs: true}, "", `target lua:x.lua: limit 1/1µs: window 1µs is outside 1ms to 31d
target lua:x.lua: clock server: the script is given the time by its caller; use --clock virtual or --clock client
target lua:x.lua: requests cost more than one unit, and the script is not told: no argument is {cost}`, "all at once"},
	} {
		folder := written(t, map[string]string{"x.lua": "return 1", "x.yaml": row.mapping})
		if got := checked(t, folder, row.needs, row.model); got != row.want {
			t.Errorf("%s; got\n%s\nwant\n%s", row.why, got, row.want)
		}
	}
}
