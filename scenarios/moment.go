package scenarios

import (
	"fmt"
	"regexp"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Moment is a place in a log: an instant, a time of day, or a distance from its first
// request. The zero value is none.
type Moment struct {
	text  string
	at    int64 // µs since 1970
	day   bool  // after is the time of day
	after time.Duration
	fixed bool // at is the instant
}

var timeOfDay = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?$`)

// ParseMoment reads 2026-01-01T10:00:00Z, 10:00:00 of UTC, or 10m.
func ParseMoment(text string) (Moment, error) {
	wrong := func(why string) (Moment, error) {
		return Moment{}, fmt.Errorf("moment %q: want an instant such as 2026-01-01T10:00:00Z, a time of day such as 10:00:00 (UTC), or a time from the first request on, such as 10m%s", clip(text), why)
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return Moment{text: text, at: at.UnixMicro(), fixed: true}, nil
	}
	if timeOfDay.MatchString(text) {
		form := "15:04:05"
		if len(text) == len("15:04") {
			form = "15:04"
		}
		at, err := time.Parse(form, text)
		if err != nil {
			return wrong("")
		}
		return Moment{text: text, day: true, after: at.Sub(at.Truncate(24 * time.Hour))}, nil
	}
	d, err := limiter.ParseDuration(text)
	switch {
	case err != nil:
		return wrong("")
	case d < 0 || d > maxSpan:
		return wrong("; this is outside 0s to " + limiter.FormatDuration(maxSpan))
	}
	return Moment{text: text, after: d}, nil
}

// Present reports whether there is one.
func (m Moment) Present() bool { return m.text != "" }

// String is the form that ParseMoment reads; "" if there is none.
func (m Moment) String() string { return m.text }

// In is the instant in a log whose first request arrived at first, in µs since 1970. A
// time of day is the first such at or after some instant, in µs since 1970 too.
func (m Moment) In(first, from int64) int64 {
	const day = int64(24 * time.Hour / time.Microsecond)
	switch {
	case m.fixed:
		return m.at
	case !m.day:
		return first + m.after.Microseconds()
	}
	into := (from - m.after.Microseconds()) % day
	switch {
	case into == 0:
		return from
	case into < 0:
		return from - into
	}
	return from + day - into
}
