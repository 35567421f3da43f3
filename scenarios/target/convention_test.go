package target_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/scenarios/target"
)

// written puts files into a folder and returns it.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// checked is the whole message about x.lua in a folder, without its name.
func checked(t *testing.T, folder string, n target.Needs, model string) string {
	t.Helper()
	err := target.Check("lua:"+filepath.Join(folder, "x.lua"), n, model)
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), "")
}

// badMappings have one mistake each, unless they are about several.
var badMappings = []struct{ text, want, why string }{
	{"modle: log\n", `x.yaml:1:1: unknown key "modle" in the mapping (did you mean "model"?); known: version, description, model, keys, args, reply, clock`, "a typo in a key"},
	{"model: log\nmodel: log\n", `x.yaml:2:1: key "model" is there twice`, "a key that is there twice"},
	{"model: lok\n", `x.yaml:1:8: unknown model "lok" (did you mean "log"?); known: fixed, log, log-packed, counter, counter-strict, gcra, none`, "a typo in a value"},
	{"version: 2\n", `x.yaml:1:10: version "2": want a whole number from 1 to 1`, "a mapping of a later time"},
	{"", "x.yaml: the mapping is empty", "no byte"},
	{"# nothing\n", "x.yaml: the mapping is empty", "only a comment"},
	{"[log]\n", "x.yaml:1:1: the mapping has to be a mapping of keys to values", "a list"},
	{"model: log\n---\nmodel: log\n", "x.yaml:2:1: a second document starts here; want one", "two documents"},
	{"keys: rl:{id}\n", "x.yaml:1:7: keys has to be a list", "a key that is no list"},
	{"keys:\n  - {id}\n", `x.yaml:2:5: braces at the start have to be in quotes, such as "{id}"`, "braces that YAML takes for a mapping"},
	{"keys: [\"rl:all\"]\n", `x.yaml:1:8: key "rl:all" has no {id}: all identities and all runs would share it`, "one budget for all"},
	{"keys: [\"{id}:{member}\"]\n", `x.yaml:1:8: key "{id}:{member}" differs with every request: {cost} and {member} are for args`, "a key for each request"},
	{"keys: [\"{id}:{windw_index}\"]\n", `x.yaml:1:8: unknown placeholder "windw_index" (did you mean "window_index"?)`, "a typo in braces, which would be a key for ever"},
	{"keys: [\"{id}:{now_s-1}\"]\n", "x.yaml:1:8: now_s takes no offset: now_s-1", "an offset where there are no windows"},
	{"args: [now_us, windw_us]\n", `x.yaml:1:16: unknown placeholder "windw_us" (did you mean "window_us"?)`, "a typo in a bare name, which would be a literal"},
	{"keys: []\nargs: [now_us]\n", "x.yaml:1:1: neither keys nor args hold {id}: the script could not tell identities apart", "no identity anywhere"},
	{"reply: {remaining: 1}\n", "x.yaml:1:8: reply needs exactly one of allowed, denied, count, count_before and left; this has 0", "no verdict"},
	{"reply: {allowed: 1, left: 2}\n", "x.yaml:1:8: reply needs exactly one of allowed, denied, count, count_before and left; this has 2", "two verdicts"},
	{"reply: {allowed: 0}\n", `x.yaml:1:18: allowed "0": want a whole number from 1 to 64`, "positions count from 1, as in Lua"},
	{"reply: {allowed: self, remaining: 2}\n", "x.yaml:1:8: a reply that is one value has no positions: self stands alone", "one value with a second one"},
	{"reply: {allowed: self, reset_after_s: 2}\n", "x.yaml:1:8: a reply that is one value has no positions: self stands alone", "one value with a wait"},
	{"reply: {allowed: 1, retry_after_s: 2, retry_after_ms: 3}\n", "x.yaml:1:55: the same is told twice, in different units", "two waits"},
	{"reply: {allowed: 1, nil: yes}\n", `x.yaml:1:26: unknown nil "yes"; known: admitted, denied`, "nil that means neither"},
	{"args: [limit]\nclock: caller\n", "x.yaml:2:8: clock is caller, but neither keys nor args tell the time; pass now_us, or write clock: server", "a caller who tells no time"},
	{"clock: server\n", "x.yaml:1:8: clock is server, but now_us is the caller's time; leave it out, or write clock: caller", "a time that the script does not want"},
	{"clock: blank\nargs: [now_us, window_index]\n", "x.yaml:1:8: clock is blank, but what tells the time is not just one of now_s, now_ms, now_us, now_ns and now_s_float as an argument of its own", "a window that nobody knows"},
	{"clock: blank\nkeys: [\"{id}:{window_index}\"]\nargs: [now_us]\n", "x.yaml:1:8: clock is blank, but what tells the time is not just one of now_s, now_ms, now_us, now_ns and now_s_float as an argument of its own", "a key that nobody could name"},
	{"args: [limit]\nreply: {allowed: 1, reset_at_s: 2}\n", "x.yaml:1:1: reset_at_ is an instant; to make a wait of it, the reply has to tell now_us, or the script needs clock: caller", "an instant without a now"},
	{
		"modle: log\nkeys: [\"rl\"]\nreply: {alowed: 1}\nclock: sever\n",
		`x.yaml:1:1: unknown key "modle" in the mapping (did you mean "model"?); known: version, description, model, keys, args, reply, clock
x.yaml:2:8: key "rl" has no {id}: all identities and all runs would share it
x.yaml:3:9: unknown key "alowed" in reply (did you mean "allowed"?)
x.yaml:4:8: unknown clock "sever" (did you mean "server"?); known: caller, server, blank`,
		"all at once, in the order of the file",
	},
}

func TestBadMappings(t *testing.T) {
	for _, row := range badMappings {
		folder := written(t, map[string]string{"x.lua": "return 1\n", "x.yaml": row.text})
		got := checked(t, folder, target.Needs{}, "")
		// The line with the caret is tested with scenarios.
		var lines []string
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, " ") {
				line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "; known: remaining")
				lines = append(lines, line)
			}
		}
		if got = strings.Join(lines, "\n"); got != row.want {
			t.Errorf("%s; got\n%s\nwant\n%s", row.why, got, row.want)
		}
	}
}

// Mistakes in a comment are where they are in the script.
func TestMappingComments(t *testing.T) {
	const sound = "return 1\n"
	for _, row := range []struct{ script, want, why string }{
		{"-- rlbench:\n-- model: log\n" + sound, "", "lines"},
		{"-- rlbench:\r\n-- model: log\r\n" + sound, "", "lines of Windows"},
		{"--rlbench:\n--model: log\n" + sound, "", "without blanks"},
		{"#!lua\n\n-- rlbench:\n-- model: log\n" + sound, "", "below the shebang of Redis 7"},
		{"--[[ rlbench:\nmodel: log\n]]\n" + sound, "", "a block"},
		{"--[==[rlbench: {model: log}]==]\n" + sound, "", "a block in one line"},
		{"-- A limiter.\n" + sound, "", "another comment"},
		{"#!lua", "", "a shebang and nothing else"},
		{
			"-- rlbench:\n-- keys: [\"{id}\"]\n-- modle: log\n" + sound,
			"x.lua:3:4: unknown key \"modle\" in the mapping (did you mean \"model\"?); known: version, description, model, keys, args, reply, clock\n  -- modle: log\n     ^",
			"a mistake in a line",
		},
		{
			"--rlbench:\n--modle: log\n" + sound,
			"x.lua:2:3: unknown key \"modle\" in the mapping (did you mean \"model\"?); known: version, description, model, keys, args, reply, clock\n  --modle: log\n    ^",
			"a mistake in a line without a blank",
		},
		{
			"--[[ rlbench:\nmodle: log\n]]\n" + sound,
			"x.lua:2:1: unknown key \"modle\" in the mapping (did you mean \"model\"?); known: version, description, model, keys, args, reply, clock\n  modle: log\n  ^",
			"a mistake in a block",
		},
		{"-- rlbench:\n" + sound, "x.lua: the mapping is empty", "a mapping of nothing"},
		{"-- rlbench: {model: log}\n" + sound, "x.lua:1:1: the mapping has to start on the next line", "a mapping in the first line"},
		{"--[[ rlbench:\nmodel: log\n" + sound, "x.lua:1:1: the comment that starts here does not end", "a block without an end"},
		{"local a = 1\n-- rlbench:\n-- model: log\n" + sound, "x.lua:2:1: a mapping has to be the first thing in a script, and only once", "a mapping that would go unnoticed"},
		{"-- rlbench:\n-- model: log\n\n-- rlbench:\n-- model: fixed\n" + sound, "x.lua:4:1: a mapping has to be the first thing in a script, and only once", "two of them"},
	} {
		folder := written(t, map[string]string{"x.lua": row.script})
		if got := checked(t, folder, target.Needs{}, ""); got != row.want {
			t.Errorf("%s; got\n%s\nwant\n%s", row.why, got, row.want)
		}
	}
}

// What a mapping says about the model arrives, wherever it is written.
func TestMappingIsFound(t *testing.T) {
	for _, row := range []struct {
		files map[string]string
		want  string
		why   string
	}{
		{map[string]string{"x.lua": "return 1"}, "", "none"},
		{map[string]string{"x.lua": "return 1", "x.yaml": "model: log"}, "log", "a file"},
		{map[string]string{"x.lua": "return 1", "x.yml": "model: log"}, "log", "a file with the short ending"},
		{map[string]string{"x.lua": "-- rlbench:\n-- model: counter\nreturn 1"}, "counter", "a comment"},
		{map[string]string{"x.lua": "return 1", "y.yaml": "modle: log"}, "", "the file of another script"},
	} {
		name := "lua:" + filepath.Join(written(t, row.files), "x.lua")
		got := ""
		if a := target.Claims(name, ""); a != nil {
			got = a.Name
		}
		if got != row.want {
			t.Errorf("%s: claims to be %q, want %q", row.why, got, row.want)
		}
		if a := target.Claims(name, "fixed"); a == nil || a.Name != "fixed" {
			t.Errorf("%s: a model that is asked for does not win: %v", row.why, a)
		}
	}
}
