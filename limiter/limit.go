package limiter

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bounds of a Limit.
const (
	MaxMax    = int64(1) << 31
	MinWindow = time.Millisecond
	MaxWindow = 31 * 24 * time.Hour
)

// maxExact is the first integer at which a double, and so a Lua number, no
// longer tells neighbours apart.
const maxExact = int64(1) << 53

// Limit is a budget: at most Max units in any Window. Max 0 denies everything;
// the zero Limit is invalid because it has no window.
type Limit struct {
	Max    int64
	Window time.Duration // whole microseconds, MinWindow to MaxWindow
}

// ParseLimit reads "count/window": "100/1m", "10/s", "5000/24h", "3/31d".
func ParseLimit(s string) (Limit, error) {
	count, window, found := strings.Cut(s, "/")
	if !found {
		return Limit{}, fmt.Errorf("limit %q: want count/window, such as 100/1m", s)
	}
	limit, err := strconv.ParseInt(count, 10, 64)
	if err != nil || strings.HasPrefix(count, "+") {
		return Limit{}, fmt.Errorf("limit %q: count %q is not a whole number; want count/window, such as 100/1m", s, count)
	}
	w, err := ParseDuration(window)
	if err != nil {
		return Limit{}, fmt.Errorf("limit %q: %w", s, err)
	}
	l := Limit{Max: limit, Window: w}
	return l, l.Validate()
}

// ParseDuration reads a Go duration, a number of days such as "31d", or a bare
// unit such as "m" for one of it. A number without a unit is an error.
func ParseDuration(s string) (time.Duration, error) {
	text := s
	if text != "" && strings.Trim(text, "nuµμmshd") == "" {
		text = "1" + text
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 32)
		if err != nil || n > int64(math.MaxInt64/(24*time.Hour)) || n < 0 || days[0] == '+' {
			return 0, fmt.Errorf("duration %q: want a whole number of days, such as 31d", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && text != "" && strings.Trim(text, "0123456789.") == "":
		return 0, fmt.Errorf("duration %q has no unit: write %ss, %sms or %sm", s, text, text, text)
	case err != nil:
		return 0, fmt.Errorf("duration %q: want a number and a unit, such as 60s or 1m30s", s)
	}
	return d, nil
}

// Validate reports everything that is wrong with the limit.
func (l Limit) Validate() error {
	var errs []error
	if l.Max < 0 || l.Max > MaxMax {
		errs = append(errs, fmt.Errorf("limit %s: count %d is outside 0 to %d", l, l.Max, MaxMax))
	}
	if l.Window < MinWindow || l.Window > MaxWindow {
		errs = append(errs, fmt.Errorf("limit %s: window %s is outside %s to %s", l,
			FormatDuration(l.Window), FormatDuration(MinWindow), FormatDuration(MaxWindow)))
	} else if l.Window%time.Microsecond != 0 {
		errs = append(errs, fmt.Errorf("limit %s: window %s is not a whole number of microseconds", l, l.Window))
	}
	return errors.Join(errs...)
}

// productFits reports whether max times window can be computed exactly in Lua.
func (l Limit) productFits() error {
	window := l.Window.Microseconds()
	if l.Max > 0 && window > (maxExact-1)/l.Max {
		return fmt.Errorf("limit %s: %d × %d µs is 2^53 or more and cannot be computed exactly; "+
			"the largest count for this window is %d", l, l.Max, window, (maxExact-1)/window)
	}
	return nil
}

// String is the form that ParseLimit reads: "100/1m".
func (l Limit) String() string {
	return strconv.FormatInt(l.Max, 10) + "/" + FormatDuration(l.Window)
}

// FormatDuration writes a duration without zero parts, and whole days above 24
// hours as days: 1m rather than 1m0s, 31d rather than 744h0m0s.
func FormatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d > day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
