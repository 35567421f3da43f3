package target_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// What no server can put into a reply reads the same on both, and ends neither.
func TestLuaRepliesThatAreNone(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		for _, row := range []struct{ script, want, why string }{
			{"return tostring", "got nil", "a function"},
			{"return {tostring, 1}", "got nil", "a function in an array"},
			{"return {1, 2, 3}", "", "an answer"},
			{"return {1, 2}, tostring", "", "more values than one, of which the first counts"},
			{"return 1 -- the end", "", "a comment at the end"},
			{"local type = nil return 1", "", "a name that somebody else uses too"},
		} {
			folder := written(t, map[string]string{"x.lua": row.script})
			_, l := openedLua(t, s, filepath.Join(folder, "x.lua"), target.Options{Clock: scenarios.Virtual}, "10/1m")
			d, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: luaT0})
			if row.want == "" && (err != nil || !d.Allowed) || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%s, %s: %+v and %v", flavour, row.why, d, err)
			}
		}
		if err := s.Client().Ping(t.Context()).Err(); err != nil {
			t.Errorf("%s is gone: %v", flavour, err)
		}
	}
}
