package target

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// call is what the templates of one call are filled from.
type call struct {
	limit    limiter.Limit
	identity string // with the prefix of the run
	at       int64  // microseconds since 1970, unless the server's clock decides
	timed    bool   // at means something
	cost     int64
	member   string
	ttlFloor time.Duration
}

func (c call) window() int64 { return c.limit.Window.Microseconds() }

// index counts windows since 1970.
func (c call) index() int64 {
	i := c.at / c.window()
	if c.at%c.window() < 0 {
		i--
	}
	return i
}

func (c call) start() int64   { return c.index() * c.window() }
func (c call) elapsed() int64 { return c.at - c.start() }

// ttl outlives all that two windows can hold.
func (c call) ttl() time.Duration { return 2*c.limit.Window + time.Second }

// placeholder is a name that stands for a value of the call.
type placeholder struct {
	name, doc string
	value     func(call) string
	use       use
	// unit is what the window has to be a whole number of; 0 if it need not.
	unit time.Duration
}

// use says where a placeholder fits.
type use int

const (
	timed   use = 1 << iota // it needs the instant of the request
	now                     // it is that instant
	shifts                  // it takes an offset in windows, as in window_index-1
	perCall                 // it differs between calls, so no key can hold it
)

// placeholders is the table of all names. To add one, add its row.
var placeholders = []placeholder{
	{"id", "the identity, with a prefix that is unique to the run", func(c call) string { return c.identity }, 0, 0},
	{"limit", "how much one window admits", func(c call) string { return whole(c.limit.Max) }, 0, 0},
	{"cost", "how many units the request takes", func(c call) string { return whole(c.cost) }, perCall, 0},
	{"member", "a name for the request that is unique", func(c call) string { return c.member }, perCall, 0},

	{"now_s", "the instant in seconds since 1970, cut", func(c call) string { return per(c.at, time.Second) }, timed | now, 0},
	{"now_ms", "in milliseconds, cut", func(c call) string { return per(c.at, time.Millisecond) }, timed | now, 0},
	{"now_us", "in microseconds", func(c call) string { return per(c.at, time.Microsecond) }, timed | now, 0},
	{"now_ns", "in nanoseconds, the last three digits 0", func(c call) string { return whole(c.at * 1000) }, timed | now, 0},
	{"now_s_float", "in seconds with six decimals", func(c call) string { return fmt.Sprintf("%d.%06d", c.at/1e6, c.at%1e6) }, timed | now, 0},

	{"window_s", "the length of the window in seconds", func(c call) string { return per(c.window(), time.Second) }, 0, time.Second},
	{"window_ms", "in milliseconds", func(c call) string { return per(c.window(), time.Millisecond) }, 0, time.Millisecond},
	{"window_us", "in microseconds", func(c call) string { return whole(c.window()) }, 0, 0},
	{"window_s_float", "in seconds, with as many decimals as it takes", func(c call) string { return seconds(c.window()) }, 0, 0},

	{"window_index", "windows since 1970, cut", func(c call) string { return whole(c.index()) }, timed | shifts, 0},
	{"window_start_s", "when this window began, in seconds since 1970", func(c call) string { return per(c.start(), time.Second) }, timed | shifts, time.Second},
	{"window_start_ms", "in milliseconds", func(c call) string { return per(c.start(), time.Millisecond) }, timed | shifts, time.Millisecond},
	{"window_start_us", "in microseconds", func(c call) string { return whole(c.start()) }, timed | shifts, 0},

	{"elapsed_ratio", "the share of this window that is over, 0 to below 1", func(c call) string { return float(float64(c.elapsed()) / float64(c.window())) }, timed, 0},
	{"elapsed_ms", "how much of this window is over, in milliseconds, cut", func(c call) string { return per(c.elapsed(), time.Millisecond) }, timed, 0},
	{"elapsed_us", "in microseconds", func(c call) string { return whole(c.elapsed()) }, timed, 0},

	{"rate_per_s", "the limit per second, a float", func(c call) string { return float(float64(c.limit.Max) * 1e6 / float64(c.window())) }, 0, 0},
	{"ttl_s", "two windows and a second, in seconds, rounded up", func(c call) string { return up(c.ttl(), time.Second) }, 0, 0},
	{"ttl_ms", "in milliseconds, rounded up", func(c call) string { return up(c.ttl(), time.Millisecond) }, 0, 0},
	{
		"ttl_floor_ms", "the least time that a key should live: an hour under the virtual clock, else 0",
		func(c call) string { return whole(c.ttlFloor.Milliseconds()) }, 0, 0,
	},
}

func whole(n int64) string { return strconv.FormatInt(n, 10) }

// per is a number of microseconds in a larger unit, cut. It is never negative
// where it is used, but for windows before 1970.
func per(us int64, unit time.Duration) string { return whole(us / unit.Microseconds()) }

func up(d, unit time.Duration) string { return whole(int64((d + unit - 1) / unit)) }

// float is the shortest text that reads back as the same number, without an
// exponent.
func float(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// seconds writes microseconds as seconds, exactly.
func seconds(us int64) string {
	s := fmt.Sprintf("%d.%06d", us/1e6, us%1e6)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

func placeholderNamed(name string) (placeholder, bool) {
	for _, p := range placeholders {
		if p.name == name {
			return p, true
		}
	}
	return placeholder{}, false
}

func placeholderNames() []string {
	names := make([]string, len(placeholders))
	for i, p := range placeholders {
		names[i] = p.name
	}
	return names
}
