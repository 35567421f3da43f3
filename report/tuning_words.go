package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// allowance is a limit and its window in words: 120 requests a minute.
func allowance(limit, windowUS int64) string {
	what := " requests "
	if limit == 1 {
		what = " request "
	}
	return thousands(limit) + what + perWindow(windowUS)
}

func perWindow(us int64) string {
	switch time.Duration(us) * time.Microsecond {
	case time.Second:
		return "a second"
	case time.Minute:
		return "a minute"
	case time.Hour:
		return "an hour"
	case 24 * time.Hour:
		return "a day"
	}
	return "in " + lasting(us)
}

// name is a policy in words: counter, 120 requests a minute per ip.
func (p *Policy) name() string {
	return printable(p.Algorithm + ", " + allowance(p.Limit, p.WindowUS) + " per " + p.Key)
}

// thousands is a count with a comma between thousands.
func thousands(n int64) string {
	digits, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		digits, sign = digits[1:], "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// thousandsOf is a count of things: 1,200 clients.
func thousandsOf(n int64, what string) string {
	return strings.Replace(counted(n, what), number(n), thousands(n), 1)
}

// percent is a share of a whole; of nothing there is none.
func percent(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return Percent(float64(part) / float64(whole))
}

// Percent is a share in words: what is not nothing is never 0%, and what is not all never
// 100%.
func Percent(share float64) string {
	v := share * 100
	switch {
	case v == 0 || v == 100:
		return fmt.Sprintf("%.0f%%", v)
	case v < 0.01:
		return "<0.01%"
	case v < 10 || v > 90 && v < 99.99:
		return fmt.Sprintf("%.2f%%", v)
	case v > 99.95 && v < 100:
		return ">99.99%"
	}
	return fmt.Sprintf("%.1f%%", v)
}

// between is an interval, or one figure if both ends are the same.
func between(low, high string) string {
	if low == high {
		return low
	}
	if strings.HasSuffix(high, "%") {
		low = strings.TrimSuffix(low, "%")
	}
	return low + "–" + high
}

// Size is a number of bytes in words.
func Size(bytes int64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	v, units := float64(bytes), []string{"KiB", "MiB", "GiB", "TiB"}
	unit := ""
	for _, unit = range units {
		if v /= 1024; v < 1023.5 {
			break
		}
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

// stamp is an instant of a log, with the offset of its clock.
func stamp(t time.Time) string { return t.Format("2006-01-02 15:04:05 -07:00") }

// clipped is a name from a log or of a file, without control characters and no wider
// than asked.
func clipped(s string, width int) string {
	const marksOfOne = 4 // combining marks have no width, and there may be any number of them
	cut := false
	if n := 0; len(s) > width {
		for i := range s {
			if n++; n > width*marksOfOne {
				s, cut = s[:i], true
				break
			}
		}
	}
	if s = printable(s); twwidth.Width(s) > width {
		return twwidth.Truncate(s, width, "…")
	}
	if cut {
		s += "…"
	}
	return s
}
