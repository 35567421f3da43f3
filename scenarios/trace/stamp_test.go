package trace

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Every clock reads what the time package writes, in any zone and year.
func TestClocksAgreeWithTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		us := rapid.Int64Range(0, 4e15).Draw(t, "µs")
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		at := time.UnixMicro(us).In(zone)
		for _, c := range []struct {
			clock clock
			form  string
			unit  time.Duration
		}{
			{commonTime, "02/Jan/2006:15:04:05 -0700", time.Second},
			{isoTime, "2006-01-02T15:04:05.000000Z07:00", time.Microsecond},
			{isoTime, "2006-01-02 15:04:05,000-0700", time.Millisecond},
			{isoTime, "2006-01-02T15:04:05.000000000-07", 0},
			{anyTime, "02/Jan/2006:15:04:05 -0700", time.Second},
			{anyTime, "2006-01-02T15:04:05.000Z07:00", time.Millisecond},
		} {
			if strings.HasSuffix(c.form, "-07") && at.Format("04") != at.UTC().Format("04") {
				continue // this form has no minutes of a zone
			}
			text, want := at.Format(c.form), us
			if c.unit > 0 {
				want -= want % c.unit.Microseconds()
			}
			if got, err := c.clock([]byte(text)); err != nil || got != want {
				t.Fatalf("%s: %d, %v; want %d", text, got, err, want)
			}
		}
	})
}

func TestUnixTime(t *testing.T) {
	for text, want := range map[string]int64{
		"1790381608.0767596":  1790381608076759,
		"1790381608":          1790381608000000,
		"1790381608076":       1790381608076000,
		"1790381608076759":    1790381608076759,
		"1790381608076759600": 1790381608076759,
		"0":                   0,
	} {
		if got, err := anyTime([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestNoTime(t *testing.T) {
	for _, text := range []string{
		"", "-", "x", "-1", "10/Oct/2000:13:55:36", "31/Feb/2001:00:00:00 +0000", "29/Feb/1900:00:00:00 +0000", "10/Foo/2000:13:55:36 -0700",
		"10/Oct/2000:24:00:00 +0000", "10/Oct/2000:13:60:00 +0000", "10/Oct/2000:13:55:36 0700", "10/Oct/2000:13:55:36 +2500",
		"2015-13-01T00:00:00Z", "2015-05-13", "2015-05-13T23:39:43.1x", "2015-05-13T23:39:43+1", "2015-05-13T2a:39:43Z",
		"99999999999999999999", "1e9", "1700000000.junk", strings.Repeat("9", 10_000),
	} {
		if got, err := anyTime([]byte(text)); err == nil {
			t.Errorf("%.40q is %d", text, got)
		} else if len(err.Error()) > 200 {
			t.Errorf("%.40q: a message of %d bytes", text, len(err.Error()))
		}
	}
}
