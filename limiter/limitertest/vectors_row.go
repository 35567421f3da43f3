package limitertest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// readRow reads a request and refuses answers that contradict themselves.
func readRow(fields []string, base time.Time, l limiter.Limit) (step, error) {
	s := step{repeat: 1}
	var err error
	if fields[0] == "repeat" && len(fields) > 1 {
		s.repeat, err = strconv.Atoi(fields[1])
		if err != nil || s.repeat < 2 {
			return s, errors.New("want repeat N, at least 2")
		}
		fields = fields[2:]
		if len(fields) > 1 && fields[0] == "every" {
			if s.every, err = parseSum(fields[1]); err != nil {
				return s, err
			}
			fields = fields[2:]
		}
	}
	if len(fields) > 0 && fields[0] == "peek" {
		s.op, fields = opPeek, fields[1:]
	}
	if len(fields) != 7 {
		return s, errors.New("want AT KEY COST VERDICT REMAINING RETRY RESET")
	}
	return s, s.readFields(fields, base, l)
}

func (s *step) readFields(f []string, base time.Time, l limiter.Limit) error {
	if f[0][0] != '+' && f[0][0] != '-' {
		return errors.New("want an instant such as +1m-1µs, or a known word, first")
	}
	offset, err := parseSum(f[0])
	if err != nil {
		return err
	}
	s.request = limiter.Request{Key: f[1], At: base.Add(offset)}
	s.want = limiter.Decision{Limit: l.Max, At: s.request.At}

	if s.request.Cost, err = strconv.ParseInt(f[2], 10, 64); err != nil || s.request.Cost < 1 {
		return fmt.Errorf("cost %q: want a whole number, at least 1", f[2])
	}
	if err := s.request.Validate(); err != nil {
		return err
	}
	switch f[3] {
	case "allow":
		s.want.Allowed = true
	case "deny":
	default:
		return fmt.Errorf("verdict %q: want allow or deny", f[3])
	}
	s.want.Remaining, err = strconv.ParseInt(f[4], 10, 64)
	if err != nil || s.want.Remaining < 0 || s.want.Remaining > l.Max {
		return fmt.Errorf("remaining %q: want 0 to %d", f[4], l.Max)
	}
	s.want.RetryAfter = limiter.Never
	if f[5] != "never" {
		if s.want.RetryAfter, err = parseSum(f[5]); err != nil {
			return err
		}
	}
	if s.want.Allowed != (s.want.RetryAfter == 0) || s.want.RetryAfter < 0 {
		return fmt.Errorf("retry %q: want 0s for allow and more for deny", f[5])
	}
	s.want.ResetAfter, err = parseSum(f[6])
	if err == nil && s.want.ResetAfter < 0 {
		err = fmt.Errorf("reset %q is negative", f[6])
	}
	return err
}

// parseSum reads a sum of durations: "1m", "+1m-1µs", "31d+5h". Parts are whole
// microseconds.
func parseSum(s string) (time.Duration, error) {
	var sum time.Duration
	for rest := s; rest != ""; {
		sign := time.Duration(1)
		if rest[0] == '+' || rest[0] == '-' {
			if rest[0] == '-' {
				sign = -1
			}
			rest = rest[1:]
		}
		term := rest
		if i := strings.IndexAny(rest, "+-"); i >= 0 {
			term = rest[:i]
		}
		rest = rest[len(term):]
		d, err := limiter.ParseDuration(term)
		if err != nil {
			return 0, fmt.Errorf("in the sum %q: %w", s, err)
		}
		if d%time.Microsecond != 0 {
			return 0, fmt.Errorf("in the sum %q: %s is not a whole number of microseconds", s, term)
		}
		sum += sign * d
	}
	return sum, nil
}
