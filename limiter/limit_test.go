package limiter_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

const day = 24 * time.Hour

func TestParseLimit(t *testing.T) {
	for _, row := range []struct {
		why, text string
		want      limiter.Limit
		fault     string // part of the error; empty: none
	}{
		{"the usual form", "100/1m", limiter.Limit{Max: 100, Window: time.Minute}, ""},
		{"a bare unit is one of it", "10/s", limiter.Limit{Max: 10, Window: time.Second}, ""},
		{"a bare day", "10/d", limiter.Limit{Max: 10, Window: day}, ""},
		{"hours stay hours", "5000/24h", limiter.Limit{Max: 5000, Window: day}, ""},
		{"the longest window", "3/31d", limiter.Limit{Max: 3, Window: 31 * day}, ""},
		{"the shortest window", "3/1ms", limiter.Limit{Max: 3, Window: time.Millisecond}, ""},
		{"mixed units", "3/1m30s", limiter.Limit{Max: 3, Window: 90 * time.Second}, ""},
		{"a fraction", "3/1.5s", limiter.Limit{Max: 3, Window: 1500 * time.Millisecond}, ""},
		{"0 denies everything", "0/1m", limiter.Limit{Max: 0, Window: time.Minute}, ""},
		{"the largest count", "2147483648/1m", limiter.Limit{Max: limiter.MaxMax, Window: time.Minute}, ""},

		{"nothing", "", limiter.Limit{}, `limit "": want count/window`},
		{"no slash", "100", limiter.Limit{}, `limit "100": want count/window`},
		{"no count", "/1m", limiter.Limit{}, `count "" is not a whole number`},
		{"no window", "100/", limiter.Limit{}, `duration ""`},
		{"a fraction of a request", "1.5/1m", limiter.Limit{}, `count "1.5" is not a whole number`},
		{"a sign", "+5/1m", limiter.Limit{}, `count "+5" is not a whole number`},
		{"a space", "5 / 1m", limiter.Limit{}, `count "5 " is not a whole number`},
		{"a window without a unit", "100/60", limiter.Limit{}, `duration "60" has no unit: write 60s, 60ms or 60m`},
		{"two windows", "100/1m/1h", limiter.Limit{}, `duration "1m/1h"`},
		{"negative", "-1/1m", limiter.Limit{}, "limit -1/1m: count -1 is outside 0 to 2147483648"},
		{"one more than the largest", "2147483649/1m", limiter.Limit{}, "count 2147483649 is outside"},
		{"more than 64 bits", "9223372036854775808/1m", limiter.Limit{}, "is not a whole number"},
		{"a window of nothing", "1/0s", limiter.Limit{}, "window 0s is outside 1ms to 31d"},
		{"below a millisecond", "1/999µs", limiter.Limit{}, "window 999µs is outside 1ms to 31d"},
		{"above 31 days", "1/31d1ns", limiter.Limit{}, `duration "31d1ns"`},
		{"a day too long", "1/32d", limiter.Limit{}, "window 32d is outside 1ms to 31d"},
		{"finer than the clock", "1/1000001ns", limiter.Limit{}, "limit 1/1.000001ms: window 1.000001ms is not a whole number of microseconds"},
	} {
		got, err := limiter.ParseLimit(row.text)
		switch {
		case row.fault == "" && (err != nil || got != row.want):
			t.Errorf("%s: ParseLimit(%q) = %v, %v, want %v", row.why, row.text, got, err, row.want)
		case row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault)):
			t.Errorf("%s: ParseLimit(%q): got error %v, want one with %q", row.why, row.text, err, row.fault)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, row := range []struct {
		why, text string
		want      time.Duration
		fault     string
	}{
		{"Go's own form", "1h2m3.5s", time.Hour + 2*time.Minute + 3500*time.Millisecond, ""},
		{"days, which Go has not", "7d", 7 * day, ""},
		{"as many days as fit", "106751d", 106751 * day, ""},
		{"a bare unit", "ms", time.Millisecond, ""},
		{"a bare micro sign", "µs", time.Microsecond, ""},
		{"negative", "-5s", -5 * time.Second, ""},

		{"nothing", "", 0, `duration "": want a number and a unit`},
		{"no unit", "5", 0, `duration "5" has no unit`},
		{"a fraction without a unit", "2.5", 0, `duration "2.5" has no unit`},
		{"one day more than fits", "106752d", 0, `duration "106752d": want a whole number of days`},
		{"a part of a day", "1.5d", 0, `duration "1.5d": want a whole number of days`},
		{"negative days", "-1d", 0, `duration "-1d": want a whole number of days`},
		{"units of nothing", "hd", 0, `duration "hd"`},
		{"a unit that Go has not", "1w", 0, `duration "1w"`},
	} {
		got, err := limiter.ParseDuration(row.text)
		switch {
		case row.fault == "" && (err != nil || got != row.want):
			t.Errorf("%s: ParseDuration(%q) = %v, %v, want %v", row.why, row.text, got, err, row.want)
		case row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault)):
			t.Errorf("%s: ParseDuration(%q): got error %v, want one with %q", row.why, row.text, err, row.fault)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for _, row := range []struct {
		why  string
		d    time.Duration
		want string
	}{
		{"no zero seconds", time.Minute, "1m"},
		{"no zero minutes", time.Hour, "1h"},
		{"a day is 24 hours to read", day, "24h"},
		{"more are days", 2 * day, "2d"},
		{"no whole days", 36 * time.Hour, "36h"},
		{"zeros that count stay", 10 * time.Minute, "10m"},
		{"zeros in the middle stay", time.Hour + time.Second, "1h0m1s"},
		{"below a second", 250 * time.Millisecond, "250ms"},
		{"nothing", 0, "0s"},
		{"negative", -time.Minute, "-1m"},
	} {
		if got := limiter.FormatDuration(row.d); got != row.want {
			t.Errorf("%s: FormatDuration(%d) = %q, want %q", row.why, row.d, got, row.want)
		}
	}
}

// TestValidateNamesTheLimit: every fault is reported, and each with the whole
// bad value.
func TestValidateNamesTheLimit(t *testing.T) {
	for _, row := range []struct {
		why    string
		l      limiter.Limit
		faults int
	}{
		{"right", limiter.Limit{Max: 1, Window: time.Second}, 0},
		{"the zero value has no window", limiter.Limit{}, 1},
		{"below 0", limiter.Limit{Max: -7, Window: time.Second}, 1},
		{"above the largest", limiter.Limit{Max: limiter.MaxMax + 1, Window: time.Second}, 1},
		{"negative window", limiter.Limit{Max: 1, Window: -time.Second}, 1},
		{"parts of a microsecond", limiter.Limit{Max: 1, Window: time.Second + 1}, 1},
		{"both", limiter.Limit{Max: math.MinInt64, Window: math.MaxInt64}, 2},
	} {
		err := row.l.Validate()
		var lines []string
		if err != nil {
			lines = strings.Split(err.Error(), "\n")
		}
		if len(lines) != row.faults {
			t.Errorf("%s: %d faults, want %d: %v", row.why, len(lines), row.faults, err)
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "limit "+row.l.String()+": ") {
				t.Errorf("%s: the fault does not name the limit %s: %s", row.why, row.l, line)
			}
		}
	}
}

// TestInexactLimitsAreRefused: the largest count for a window is what the error
// says it is, for those who multiply the two.
func TestInexactLimitsAreRefused(t *testing.T) {
	for _, row := range []struct {
		why    string
		l      limiter.Limit
		refuse bool
	}{
		{"2^53 - 1 over 31 days is 3362", limiter.Limit{Max: 3362, Window: limiter.MaxWindow}, false},
		{"one more", limiter.Limit{Max: 3363, Window: limiter.MaxWindow}, true},
		{"the largest count in four seconds", limiter.Limit{Max: limiter.MaxMax, Window: 4 * time.Second}, false},
		{"in a minute", limiter.Limit{Max: limiter.MaxMax, Window: time.Minute}, true},
		{"0 always fits", limiter.Limit{Window: limiter.MaxWindow}, false},
	} {
		for _, a := range []limiter.Algorithm{limiter.Counter, limiter.GCRA} {
			err := a.Validate(row.l)
			if (err != nil) != row.refuse {
				t.Errorf("%s: %s: got error %v, want one: %t", row.why, a.Name, err, row.refuse)
			}
			if err != nil && !strings.Contains(err.Error(), row.l.String()) {
				t.Errorf("%s: %s: the error does not name the limit %s: %v", row.why, a.Name, row.l, err)
			}
		}
		for _, a := range []limiter.Algorithm{limiter.Fixed, limiter.Log} {
			if err := a.Validate(row.l); err != nil {
				t.Errorf("%s: %s refuses what it can compute: %v", row.why, a.Name, err)
			}
		}
	}
}

// FuzzParseLimit: what is accepted is valid, and is read again as it is written.
func FuzzParseLimit(f *testing.F) {
	for _, seed := range []string{"100/1m", "10/s", "0/31d", "2147483648/1ms", "-0/d", "1/1.5h", "1/µs", "/", "1/-1d", "1/1e3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := limiter.ParseLimit(s)
		if err != nil {
			return
		}
		if err := l.Validate(); err != nil {
			t.Errorf("ParseLimit(%q) accepted an invalid limit: %v", s, err)
		}
		again, err := limiter.ParseLimit(l.String())
		if err != nil || again != l {
			t.Errorf("ParseLimit(%q) = %v, but ParseLimit(%q) = %v, %v", s, l, l.String(), again, err)
		}
	})
}

// FuzzParseDuration: a duration is read again as it is written, and an error
// quotes what it is about.
func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"1m30s", "31d", "d", "µs", "-1h", "106751d", "inf", "1e3", "0", "+5d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := limiter.ParseDuration(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "duration \"") {
				t.Errorf("ParseDuration(%q): the error does not quote it: %v", s, err)
			}
			return
		}
		again, err := limiter.ParseDuration(limiter.FormatDuration(d))
		if err != nil || again != d {
			t.Errorf("ParseDuration(%q) = %d, but %q is read as %d, %v", s, d, limiter.FormatDuration(d), again, err)
		}
	})
}
