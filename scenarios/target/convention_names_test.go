package target

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Every placeholder, at an instant that tells cutting from rounding: 4.5678915 s
// into a window of 10 s that begins at 1767225600.
func TestPlaceholders(t *testing.T) {
	c := call{
		limit: limiter.Limit{Max: 25, Window: 10 * time.Second}, identity: "p:k", at: 1767225604_567891, timed: true,
		cost: 3, member: "m1", ttlFloor: time.Hour,
	}
	odd := c // a window of 1.5005 s: 1767225604567891 = 1177757817 × 1500500 + 499391
	odd.limit.Window, odd.at = 1500500*time.Microsecond, 1177757817*1500500+499391
	for _, row := range []struct {
		text string
		call call
		want string
	}{
		{"id", c, "p:k"},
		{"limit", c, "25"},
		{"cost", c, "3"},
		{"member", c, "m1"},
		{"now_s", c, "1767225604"},
		{"now_ms", c, "1767225604567"},
		{"now_us", c, "1767225604567891"},
		{"now_ns", c, "1767225604567891000"},
		{"now_s_float", c, "1767225604.567891"},
		{"window_s", c, "10"},
		{"window_ms", c, "10000"},
		{"window_us", c, "10000000"},
		{"window_s_float", c, "10"},
		{"window_s_float", odd, "1.5005"},
		{"window_index", c, "176722560"},
		{"window_index-1", c, "176722559"},
		{"window_index+1", c, "176722561"},
		{"window_index", odd, "1177757817"},
		{"window_start_s", c, "1767225600"},
		{"window_start_s+1", c, "1767225610"},
		{"window_start_ms", c, "1767225600000"},
		{"window_start_us", c, "1767225600000000"},
		{"elapsed_ratio", c, "0.4567891"},
		{"elapsed_ms", c, "4567"},
		{"elapsed_us", c, "4567891"},
		{"elapsed_us", odd, "499391"},
		{"rate_per_s", c, "2.5"},
		{"ttl_s", c, "21"},
		{"ttl_s", odd, "5"}, // 4.001 s
		{"ttl_ms", c, "21000"},
		{"ttl_ms", odd, "4001"},
		{"ttl_floor_ms", c, "3600000"},

		{"rl:{{id}}:{window_index-1}", c, "rl:{p:k}:176722559"},
		{"{id}{id}", c, "p:kp:k"},
		{"{app}:{id}", c, "{app}:p:k"}, // a tag of one's own
		{"{", c, "{"},
		{"", c, ""},
		{"60", c, "60"},
		{"sliding", c, "sliding"},
	} {
		parsed, err := parseArgument(row.text)
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		if got := parsed.fill(row.call); got != row.want {
			t.Errorf("%s is %q, want %q", row.text, got, row.want)
		}
	}
}

// Small shares are written without an exponent, which not every parser reads.
func TestElapsedRatioIsPlain(t *testing.T) {
	c := call{limit: limiter.Limit{Max: 1, Window: 31 * 24 * time.Hour}, at: 1, timed: true}
	if got := must(parseArgument, "elapsed_ratio")[0].fill(c); strings.ContainsAny(got, "eE") || !strings.HasPrefix(got, "0.000000000000373") {
		t.Errorf("1 µs of 31 days is %s", got)
	}
}

// Before the first window there is one that begins earlier, not the same again.
func TestWindowBefore1970(t *testing.T) {
	c := call{limit: limiter.Limit{Max: 1, Window: 10 * time.Second}, at: 5_000_000, timed: true}
	for text, want := range map[string]string{"window_index": "0", "window_index-1": "-1", "window_start_s-1": "-10"} {
		if got := must(parseArgument, text)[0].fill(c); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// The manual names everything that a mapping can say.
func TestManualIsComplete(t *testing.T) {
	data, err := os.ReadFile("../../docs/your-own-lua.md")
	if err != nil {
		t.Fatal(err)
	}
	names := placeholderNames()
	for _, v := range verdictForms {
		names = append(names, v.name)
	}
	names = append(names, "version", "description", "model", "keys", "args", "reply", "clock", callerClock, serverClock, blankClock,
		"remaining", "now_us", "nil", "retry_after_ms", "reset_after_s", "reset_at_us", "self")
	for _, name := range names {
		if !strings.Contains(string(data), "`"+name+"`") {
			t.Errorf("the manual does not explain %s", name)
		}
	}
}
