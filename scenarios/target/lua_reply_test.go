package target_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// asked opens a script with a mapping at 10/1m and sends it one request.
func asked(t *testing.T, s *backend.Server, mapping, script string) (*target.Target, limiter.Decision, error) {
	t.Helper()
	folder := written(t, map[string]string{"x.lua": script, "x.yaml": mapping})
	opened, l := openedLua(t, s, filepath.Join(folder, "x.lua"), target.Options{Clock: scenarios.Virtual}, "10/1m")
	d, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: luaT0})
	return opened, d, err
}

// A reply that is no decision says which value is wrong, what came and what was
// wanted. The script has run, so what became of the request is not known; and
// the server is well.
func TestLuaBadReplies(t *testing.T) {
	const (
		verdict = "reply: {allowed: 1}"
		all     = "reply: {allowed: 1, remaining: 2, retry_after_ms: 3, now_us: 4}"
	)
	rows := []struct{ mapping, script, want, why string }{
		{verdict, "return {'yes'}", `allowed at position 1: got "yes", want 0 or 1`, "a word"},
		{verdict, "return {2}", "allowed at position 1: got 2, want 0 or 1", "a number that means nothing"},
		{verdict, "return {'0.5'}", `allowed at position 1: got "0.5", want 0 or 1`, "half a decision"},
		{verdict, "return {}", "allowed at position 1: the array ends after 0, want 0 or 1; nil ends an array of Lua early", "nothing"},
		{verdict, "return {false, 1}", "allowed at position 1: got nil, want 0 or 1; if nil is an answer, say so by nil: denied or nil: admitted", "false"},
		{verdict, "return {{1}}", "allowed at position 1: got an array of 1, want 0 or 1", "an array too many"},
		{verdict, "return {redis.status_reply('OK')}", `allowed at position 1: got "OK", want 0 or 1`, "a status"},
		{verdict, "return 1", "the reply: got 1, want an array; for one value, write allowed: self", "one value"},
		{verdict, "return nil", "the reply: got nil, want an array; for one value, write allowed: self", "nil for all"},
		{verdict, "return string.rep('x', 5000)", `the reply: got "` + strings.Repeat("x", 80) + `…", want an array; for one value, write allowed: self`, "a novel"},
		{verdict, "return {'\\27[31m\\0\\255'}", `allowed at position 1: got "\x1b[31m\x00�", want 0 or 1`, "what a terminal would obey"},
		{"reply: {allowed: self}", "return {1}", "the reply, allowed: got an array of 1, want 0 or 1", "an array for one value"},
		{"reply: {allowed: self}", "return nil", "the reply, allowed: got nil, want 0 or 1; if nil is an answer, say so by nil: denied or nil: admitted", "nil for one value"},
		{"reply: {count: 2}", "return {1, 'many'}", `count at position 2: got "many", want a number`, "a count in words"},
		{"reply: {count: 1}", "return {'1e+3'}", `count at position 1: got "1e+3", want a number`, "an exponent, which has lost digits"},
		{"reply: {left: 1}", "return {'nan'}", `left at position 1: got "nan", want a number`, "not a number"},
		{all, "return {1}", "remaining at position 2: the array ends after 1, want a number; nil ends an array of Lua early", "too short"},
		{all, "return {0, 0, 'soon', 0}", `retry_after_ms at position 3: got "soon", want a number`, "a wait in words"},
		{all, "return {0, 0, '999999999999999999', 0}", `retry_after_ms at position 3: got "999999999999999999", want less than 292 years`, "a wait that nobody survives"},
		{all, "return {1, 9, 0, '12:00'}", `now_us at position 4: got "12:00", want microseconds since 1970`, "a time of day"},
		{all, "return {1, 9, 0, -1}", "now_us at position 4: got -1, want microseconds since 1970", "a time before the first"},
		{"{}", "return {1, 'x'}", `remaining at position 2: got "x", want a number`, "text where the default has what remains"},
		{"{}", "return 'x'", `the reply, allowed: got "x", want 0 or 1`, "text where the default has a decision"},
	}
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		for _, row := range rows {
			_, d, err := asked(t, s, row.mapping, row.script)
			var reply *limiter.ReplyError
			if !errors.As(err, &reply) || reply.Err.Error() != row.want {
				t.Errorf("%s, %s; got %+v and\n%v\nwant\n%s", flavour, row.why, d, err, row.want)
				continue
			}
			if !errors.Is(err, limiter.ErrUnknown) || !limiter.Answered(err) || d.Allowed {
				t.Errorf("%s, %s: unknown %t, answered %t", flavour, row.why, errors.Is(err, limiter.ErrUnknown), limiter.Answered(err))
			}
		}
	}
}

// What a reply says is told as it is; judging it is for others.
func TestLuaReplies(t *testing.T) {
	tells := func(remaining bool, retry, reset time.Duration) scenarios.Tells {
		return scenarios.Tells{Remaining: remaining, Retry: retry, Reset: reset, At: true}
	}
	const ms = time.Millisecond
	rows := []struct {
		mapping, script string
		want            limiter.Decision // Limit 10, and At the instant of the request, unless told
		tells           scenarios.Tells
		why             string
	}{
		{"{}", "return 1", limiter.Decision{Allowed: true}, tells(false, 0, 0), "one number by default"},
		{"{}", "return 0", limiter.Decision{}, tells(false, 0, 0), "one number that denies"},
		{"{}", "return {0, 0}", limiter.Decision{}, tells(true, 0, 0), "two by default"},
		{"{}", "return {0, 0, 5, 6}", limiter.Decision{RetryAfter: 5 * us, ResetAfter: 6 * us}, tells(true, us, us), "four by default"},
		{"{}", "return {1, 4, 0, 6, 'more'}", limiter.Decision{Allowed: true, Remaining: 4, ResetAfter: 6 * us}, tells(true, us, us), "what comes after is not looked at"},
		{"{}", "return {0, -3, -1}", limiter.Decision{Remaining: -3, RetryAfter: limiter.Never}, tells(true, us, 0), "less than nothing, and never"},
		{"reply: {denied: 2}", "return {7, '1'}", limiter.Decision{}, tells(false, 0, 0), "1 is a denial"},
		{"reply: {denied: 2}", "return {7, '0'}", limiter.Decision{Allowed: true}, tells(false, 0, 0), "0 is none"},
		{"reply: {count: self}", "return 10", limiter.Decision{Allowed: true}, tells(false, 0, 0), "the limit itself"},
		{"reply: {count: self}", "return 11", limiter.Decision{}, tells(false, 0, 0), "one more"},
		{"reply: {count: self}", "return '10.001'", limiter.Decision{}, tells(false, 0, 0), "a thousandth more"},
		{"reply: {count_before: self}", "return 9", limiter.Decision{Allowed: true}, tells(false, 0, 0), "one below the limit before this one"},
		{"reply: {count_before: self}", "return 10", limiter.Decision{}, tells(false, 0, 0), "the limit before this one"},
		{"reply: {left: self}", "return 0", limiter.Decision{Allowed: true}, tells(true, 0, 0), "the last one"},
		{"reply: {left: self}", "return '2.75'", limiter.Decision{Allowed: true, Remaining: 2}, tells(true, 0, 0), "two and a part"},
		{"reply: {left: self}", "return -1", limiter.Decision{}, tells(true, 0, 0), "one too many, of which none remain"},
		{"reply: {left: 1, remaining: 2}", "return {-1, -1}", limiter.Decision{Remaining: -1}, tells(true, 0, 0), "unless what remains is told too"},
		{"reply: {allowed: self, nil: denied}", "return false", limiter.Decision{}, tells(false, 0, 0), "nil that denies"},
		{"reply: {denied: self, nil: admitted}", "return false", limiter.Decision{Allowed: true}, tells(false, 0, 0), "nil that admits"},
		{"reply: {allowed: 1, limit: 2}", "return {1, 12}", limiter.Decision{Allowed: true, Limit: 12}, tells(false, 0, 0), "another limit"},
		{"reply: {allowed: 1, retry_after_ms: 2}", "return {0, 250}", limiter.Decision{RetryAfter: 250 * ms}, tells(false, ms, 0), "milliseconds"},
		{"reply: {allowed: 1, retry_after_s: 2}", "return {0, '0.25'}", limiter.Decision{RetryAfter: 250 * ms}, tells(false, 10*ms, 0), "hundredths of a second"},
		{"reply: {allowed: 1, retry_after_s: 2}", "return {0, '0.0000001'}", limiter.Decision{RetryAfter: us}, tells(false, us, 0), "less than a microsecond is one"},
		{"reply: {allowed: 1, retry_after_s: 2}", "return {1}", limiter.Decision{Allowed: true}, tells(false, sec, 0), "an admission needs no wait"},
		{"reply: {allowed: 1, retry_after_s: 2}", "return {1, -1}", limiter.Decision{Allowed: true}, tells(false, sec, 0), "-1 is none"},
		{"reply: {allowed: 1, retry_after_s: 2}", "return {1, 3}", limiter.Decision{Allowed: true, RetryAfter: 3 * sec}, tells(false, sec, 0), "a wait is one, even where it is wrong"},
		{"reply: {allowed: 1, reset_after_s: 2}", "return {1, 60}", limiter.Decision{Allowed: true, ResetAfter: time.Minute}, tells(false, 0, sec), "the whole window"},
		{"reply: {allowed: 1, reset_at_us: 2}", "return {1, '1767225600250000'}", limiter.Decision{Allowed: true, ResetAfter: 250 * ms}, tells(false, 0, us), "an instant"},
		{"reply: {allowed: 1, reset_at_s: 2}", "return {1, 1767225630}", limiter.Decision{Allowed: true, ResetAfter: 30 * sec}, tells(false, 0, 0), "a rounded instant is told, and not judged"},
		{"reply: {allowed: 1, now_us: 2}", "return {1, '1767225600000007'}", limiter.Decision{Allowed: true, At: luaT0.Add(7 * us)}, tells(false, 0, 0), "another instant"},
		{"reply: {allowed: 1, reset_at_us: 3, now_us: 2}", "return {1, '1767225600000007', '1767225600000010'}", limiter.Decision{Allowed: true, At: luaT0.Add(7 * us), ResetAfter: 3 * us}, tells(false, 0, us), "the wait is from the instant that is told"},
	}
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		for _, row := range rows {
			opened, d, err := asked(t, s, row.mapping, row.script)
			want := row.want
			want.Source = limiter.SourceRedis
			if want.Limit == 0 {
				want.Limit = 10
			}
			if want.At.IsZero() {
				want.At = luaT0
			}
			want.At = want.At.UTC()
			if err != nil || d != want {
				t.Errorf("%s, %s; got %+v and %v\nwant %+v", flavour, row.why, d, err, want)
			}
			if opened.Tells != row.tells {
				t.Errorf("%s, %s: tells %+v, want %+v", flavour, row.why, opened.Tells, row.tells)
			}
		}
	}
}

// A script without a mapping tells only what all of its replies hold.
func TestLuaTellsWhatAllRepliesHold(t *testing.T) {
	s := server(t, "embedded")
	folder := written(t, map[string]string{"x.lua": `
local n = redis.call('INCR', KEYS[1])
if n == 1 then return {1, 5} end          -- admitted: a wait would be nothing
if n == 2 then return {0, 0, 7, 8} end
return 0`})
	opened, l := openedLua(t, s, filepath.Join(folder, "x.lua"), target.Options{Clock: scenarios.Virtual}, "10/1m")
	for i, want := range []scenarios.Tells{
		{At: true, Remaining: true},
		{At: true, Remaining: true, Retry: us},
		{At: true},
	} {
		if _, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: luaT0}); err != nil {
			t.Fatal(err)
		}
		if opened.Tells != want {
			t.Errorf("after reply %d it tells %+v, want %+v", i+1, opened.Tells, want)
		}
	}
}
