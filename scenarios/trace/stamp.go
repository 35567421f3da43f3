package trace

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// A clock reads the time stamps of a format: microseconds since 1970, UTC.
type clock func([]byte) (int64, error)

// commonTime reads 10/Oct/2000:13:55:36 -0700, as Apache and nginx write it.
func commonTime(b []byte) (int64, error) {
	const form = "02/Jan/2006:15:04:05 -0700"
	if len(b) != len(form) || b[2] != '/' || b[6] != '/' || b[11] != ':' || b[14] != ':' || b[17] != ':' || b[20] != ' ' {
		return 0, stampError(b, form)
	}
	month := monthOf(b[3:6])
	zone, ok := zoneOf(b[21:], false)
	if !ok || month == 0 {
		return 0, stampError(b, form)
	}
	at, ok := instant(b[7:11], month, b[0:2], b[12:14], b[15:17], b[18:20])
	if !ok {
		return 0, stampError(b, form)
	}
	return (at - zone) * 1e6, nil
}

// isoTime reads 2015-05-13T23:39:43.945958Z: any number of digits of a second, and a zone
// that may be missing, which is UTC. A blank in place of the T is fine.
func isoTime(b []byte) (int64, error) {
	const form = "2006-01-02T15:04:05.999999Z"
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || b[10] != 'T' && b[10] != ' ' || b[13] != ':' || b[16] != ':' {
		return 0, stampError(b, form)
	}
	month, ok := digits(b[5:7])
	at, ok2 := instant(b[0:4], month, b[8:10], b[11:13], b[14:16], b[17:19])
	if !ok || !ok2 {
		return 0, stampError(b, form)
	}
	micros, rest := int64(0), b[19:]
	if len(rest) > 0 && (rest[0] == '.' || rest[0] == ',') {
		end := 1
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		micros, rest = fraction(rest[1:end]), rest[end:]
	}
	zone, ok := zoneOf(rest, true)
	if !ok {
		return 0, stampError(b, form)
	}
	return (at-zone)*1e6 + micros, nil
}

// unixTime reads a number of seconds since 1970, with or without a fraction. Numbers too
// large for that are taken as milliseconds, microseconds or nanoseconds: until the year
// 5138 the three cannot be confused.
func unixTime(b []byte) (int64, error) {
	whole, rest, _ := bytes.Cut(b, []byte("."))
	n, err := strconv.ParseInt(string(whole), 10, 64)
	if _, ok := digits(rest); err != nil || n < 0 || !ok && len(rest) > 0 {
		return 0, stampError(b, "1700000000.123456")
	}
	const most = 99_999_999_999
	switch {
	case n <= most:
		return n*1e6 + fraction(rest), nil
	case n <= most*1000:
		return n * 1000, nil
	case n <= most*1_000_000:
		return n, nil
	default:
		return n / 1000, nil
	}
}

// anyTime tells the three apart.
func anyTime(b []byte) (int64, error) {
	switch {
	case len(b) > 4 && b[4] == '-':
		return isoTime(b)
	case len(b) > 2 && b[2] == '/':
		return commonTime(b)
	default:
		return unixTime(b)
	}
}

// stampError does not repeat what was read, as no message of this package does: anything
// may be somebody's address.
func stampError(b []byte, form string) error {
	return fmt.Errorf("%d bytes that are no time like %s", len(b), form)
}

// instant is a civil time as seconds since 1970.
func instant(year []byte, month int64, day, hour, minute, second []byte) (int64, bool) {
	y, ok1 := digits(year)
	d, ok2 := digits(day)
	h, ok3 := digits(hour)
	m, ok4 := digits(minute)
	s, ok5 := digits(second)
	at := time.Date(int(y), time.Month(month), int(d), int(h), int(m), int(s), 0, time.UTC)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || month < 1 || month > 12 || d < 1 || at.Add(-time.Duration(s)*time.Second).Day() != int(d) || h > 23 || m > 59 || s > 60 {
		return 0, false
	}
	return at.Unix(), true
}

func monthOf(name []byte) int64 {
	for m := time.January; m <= time.December; m++ {
		if string(name) == m.String()[:3] {
			return int64(m)
		}
	}
	return 0
}

// zoneOf is an offset from UTC in seconds: Z, +02, +0200 or +02:00, or nothing where that
// is allowed.
func zoneOf(b []byte, optional bool) (int64, bool) {
	if len(b) == 0 {
		return 0, optional
	}
	if string(b) == "Z" || string(b) == "z" {
		return 0, true
	}
	if len(b) != 3 && len(b) != 5 && (len(b) != 6 || b[3] != ':') || b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	hours, ok := digits(b[1:3])
	minutes, ok2 := digits(b[len(b)-2:])
	if len(b) == 3 {
		minutes, ok2 = 0, true
	}
	offset := hours*3600 + minutes*60
	if b[0] == '-' {
		offset = -offset
	}
	return offset, ok && ok2 && hours < 24 && minutes < 60
}

// digits is a number without a sign.
func digits(b []byte) (int64, bool) {
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(b) > 0
}

// fraction is what follows a point, in millionths; what is finer is cut off.
func fraction(b []byte) int64 {
	n, scale := int64(0), int64(100_000)
	for _, c := range b {
		if c < '0' || c > '9' || scale == 0 {
			break
		}
		n, scale = n+int64(c-'0')*scale, scale/10
	}
	return n
}
