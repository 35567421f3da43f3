package target

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// Whatever a mapping holds, it is refused with places, or it makes calls whose
// keys hold the identity and whose instants nobody has to guess.
func FuzzConvention(f *testing.F) {
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		files, _ := filepath.Glob("../../testdata/lua/" + pattern)
		for _, file := range files {
			data, err := readRegular("mapping", file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(data))
		}
	}
	f.Add("clock: blank\nargs: [now_us, \"{window_us}{\", limit+1]\nreply: {left: 3, nil: denied}")
	f.Add("keys: [\"{{id}}:{window_index-999}\", \"{id\"]\nargs: [elapsed_ratio, rate_per_s]")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := readConvention(scenarios.Document{Name: "f", What: "the mapping", Text: []byte(text)})
		if err != nil {
			problems, ok := errors.AsType[scenarios.Problems](err)
			if !ok || len(problems) == 0 {
				t.Fatalf("refused without a problem: %v", err)
			}
			return
		}
		timely := c.clock == callerClock
		x := call{limit: limiter.Limit{Max: 7, Window: time.Minute}, identity: "SOMEBODY", at: 1, timed: timely, cost: 1, member: "m"}
		for _, k := range c.keys {
			if !strings.Contains(k.fill(x), "SOMEBODY") || k.uses(timed) && !timely {
				t.Errorf("key %q under clock %s becomes %q", k.text, c.clock, k.fill(x))
			}
		}
		for _, a := range c.args {
			if got := a.fill(x); got == "" && a.text != "" && !(c.clock == blankClock && a.uses(now)) {
				t.Errorf("argument %q under clock %s is empty", a.text, c.clock)
			}
		}
		if c.reply.verdict.admits == nil || c.reply.at.none() {
			t.Errorf("no verdict: %+v", c.reply)
		}
	})
}

// A comment is found or not; what is found stands on the lines on which it
// stands in the script.
func FuzzMappingComment(f *testing.F) {
	f.Add("-- rlbench:\n-- model: log\n\nreturn 1")
	f.Add("#!lua\n--[==[ rlbench:\nmodel: log\n]==] return 1")
	f.Add("--[[rlbench:")
	f.Add("#!")
	f.Add("--rlbench:\r\n--\r\n--- x")
	f.Fuzz(func(t *testing.T, source string) {
		c, err := mappingComment("f", source)
		if err != nil || c == nil {
			return
		}
		script := strings.Split(source, "\n")
		for i, line := range strings.Split(string(c.document.Text), "\n") {
			if words := strings.TrimSpace(line); words != "" && !strings.Contains(script[i], words) {
				t.Errorf("line %d of the mapping is %q, that of the script %q", i+1, line, script[i])
			}
		}
	})
}

// Whatever a script replies, it is a decision or an error; a decision of a
// strict form has told its verdict, and what was not told is zero.
func TestEveryReplyIsReadOrRefused(t *testing.T) {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Int64(), func(n int64) any { return n }),
		rapid.Map(rapid.Int64Range(-2, 3), func(n int64) any { return n }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.StringMatching(`[+-]?[0-9]{1,22}(\.[0-9]{1,22})?(e[+-]?[0-9]+)?`), func(s string) any { return s }),
		rapid.Just[any](errors.New("ERR")), rapid.Just[any]([]any{int64(1)}),
	)
	replies := rapid.OneOf(scalar, rapid.Map(rapid.SliceOfN(scalar, 0, 6), func(v []any) any { return v }))
	places := rapid.Map(rapid.IntRange(0, 5), func(n int) place { return place(n) })
	rapid.Check(t, func(t *rapid.T) {
		form := defaultReply
		if rapid.Bool().Draw(t, "mapped") {
			unit := func(what string) time.Duration { return units[rapid.IntRange(0, 2).Draw(t, what)].unit }
			form = replyForm{
				verdict: verdictForms[rapid.IntRange(0, len(verdictForms)-1).Draw(t, "verdict")], at: place(rapid.IntRange(1, 3).Draw(t, "at")),
				remaining: places.Draw(t, "remaining"), limit: places.Draw(t, "limit"), now: places.Draw(t, "now"),
				retry: places.Draw(t, "retry"), retryUnit: unit("retry unit"), reset: places.Draw(t, "reset"), resetUnit: unit("reset unit"),
				resetAt:  rapid.Bool().Draw(t, "reset at"),
				nilMeans: rapid.SampledFrom([]string{"", "denied", "admitted"}).Draw(t, "nil"),
			}
		}
		x := call{limit: limiter.Limit{Max: 3, Window: time.Second}, at: rapid.Int64Range(0, lastMicro-1).Draw(t, "now"), timed: true}
		got, err := form.read(replies.Draw(t, "reply"), x)
		if err != nil {
			if text := err.Error(); text == "" || len(text) > 1500 || strings.ContainsAny(text, "\n\x1b\x00") {
				t.Fatalf("message %q", text)
			}
			return
		}
		switch {
		case !got.remaining && got.Remaining != 0, form.retry.none() && got.RetryAfter != 0, form.reset.none() && got.ResetAfter != 0,
			form.limit.none() && got.Limit != 3, form.now.none() && got.At.UnixMicro() != x.at:
			t.Fatalf("told what the reply does not hold: %+v", got)
		case got.retry > time.Second, got.reset > time.Second, got.retry < 0, got.reset < 0:
			t.Fatalf("units %s and %s", got.retry, got.reset)
		}
	})
}
