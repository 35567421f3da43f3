package backend

import (
	"errors"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

func testCompile(t *testing.T, s *Server) {
	for _, row := range []struct {
		name, script   string
		line, embedded int    // where each Lua sees it
		redis, gopher  string // what its message holds
	}{
		{"right", "return 1", 0, 0, "", ""},
		{"a keyword in a wrong place", "local a = 1\nlocal b =\n  return b", 3, 3, "unexpected symbol near 'return'", "near 'return': syntax error"},
		{"control characters", "return 'a\x1b[31m\n", 1, 2, "unfinished string near ''a", "unterminated string"},
	} {
		err := s.Compile(t.Context(), row.script)
		if row.redis == "" {
			if err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		want, line := row.redis, row.line
		if s.Flavour() == Embedded {
			want, line = row.gopher, row.embedded
		}
		e, ok := errors.AsType[*ScriptError](err)
		if !ok || e.Line != line || !strings.Contains(e.Message, want) || e.Message != plain(e.Message) {
			t.Errorf("%s: %#v, want line %d, %q", row.name, err, line, want)
		}
	}
	// The lines of the two Lua differ where the script ends too early.
	e, ok := errors.AsType[*ScriptError](s.Compile(t.Context(), "if true then"))
	if !ok || !strings.Contains(e.Message, "<eof>") && !strings.Contains(e.Message, "at EOF") {
		t.Errorf("unfinished: %v", e)
	}
	// Compiled is not run.
	if err := s.Compile(t.Context(), "redis.call('SET', 'compiled', 1)"); err != nil {
		t.Error(err)
	}
	if n := s.Client().Exists(t.Context(), "compiled").Val(); n != 0 {
		t.Error("the script ran")
	}
}

// Replies of servers that are not here.
func TestScriptFault(t *testing.T) {
	const esc = "\x1b[31m\u202e"
	for _, row := range []struct {
		name, reply string
		want        *ScriptError
		text        string
	}{
		{
			"Redis", "ERR Error compiling script (new function): user_script:12: '=' expected near 'x'",
			&ScriptError{"'=' expected near 'x'", 12}, "compile script: line 12: '=' expected near 'x'",
		},
		{
			"embedded", "ERR Error compiling script (new function): user_script line:2(column:6) near 'end':   syntax error ",
			&ScriptError{"near 'end': syntax error", 2}, "compile script: line 2: near 'end': syntax error",
		},
		{
			"embedded, at the end", "ERR Error compiling script (new function): user_script at EOF:   syntax error ",
			&ScriptError{"at EOF: syntax error", 0}, "compile script: at EOF: syntax error",
		},
		{"kvrocks", "ERR Error while compiling new script: x", &ScriptError{"x", 0}, "compile script: x"},
		{
			"shebang of Redis 7", "ERR Unexpected flag in script shebang: bogus",
			&ScriptError{"Unexpected flag in script shebang: bogus", 0}, "compile script: Unexpected flag in script shebang: bogus",
		},
		{
			"drives a terminal", "ERR Error compiling script (new function): user_script:1: near '" + esc + "\n\xff'",
			&ScriptError{"near ' [31m '", 1}, "compile script: line 1: near ' [31m '",
		},
		{"quotes the script, no command", "ERR unknown command 'SCRIPT', with args beginning with: 'LOAD' '-- compiled'", nil, ""},
		{"may not", "NOPERM this user has no permissions to run the 'script|load' command", nil, ""},
		{"busy", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", nil, ""},
	} {
		got := scriptFault(row.reply)
		if (got == nil) != (row.want == nil) || got != nil && (*got != *row.want || got.Error() != row.text) {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
	long := scriptFault("ERR Error compiling script (new function): user_script:1: " + strings.Repeat("é", 301))
	if want := strings.Repeat("é", 299) + "…"; long.Message != want {
		t.Errorf("too long: %q", long.Message)
	}
}

// A refusal is about the user, and is no *ScriptError.
func TestCompileRefused(t *testing.T) {
	m := miniredis.RunT(t)
	s := open(t, "redis://"+m.Addr(), Options{})
	m.SetError("NOPERM this user has no permissions")
	err := s.Compile(t.Context(), "return 1")
	if _, ok := errors.AsType[*ScriptError](err); ok || err == nil || err.Error() != "compile script: NOPERM this user has no permissions" {
		t.Errorf("got %T %v", err, err)
	}
}
