package scenarios

import (
	"fmt"
	"math/big"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Quantity is an exact number with a dimension: a power of time. Times are in
// microseconds, rates per microsecond. Quantities are values; nothing changes
// the Rat.
type Quantity struct {
	value *big.Rat
	time  int // 0 count, 1 duration, -1 rate
}

func count(r *big.Rat) Quantity { return Quantity{value: r} }

// Count is n as a quantity.
func Count(n int64) Quantity { return count(new(big.Rat).SetInt64(n)) }

func duration(d time.Duration) Quantity {
	return Quantity{value: big.NewRat(int64(d), int64(time.Microsecond)), time: 1}
}

// kind names a dimension for people.
func (q Quantity) kind() string {
	switch q.time {
	case 0:
		return "a number"
	case 1:
		return "a duration"
	case -1:
		return "a rate"
	default:
		return "neither a number, a duration nor a rate"
	}
}

// String is the shortest decimal, for messages.
func (q Quantity) String() string {
	switch {
	case q.time == 1 && q.value.IsInt() && q.value.Num().IsInt64():
		return limiter.FormatDuration(time.Duration(q.value.Num().Int64()) * time.Microsecond)
	case q.value.IsInt():
		return q.value.Num().String()
	default:
		f, _ := q.value.Float64()
		return fmt.Sprintf("%.6g", f)
	}
}

// Cmp compares the values of two quantities of one dimension.
func (q Quantity) Cmp(other Quantity) int { return q.value.Cmp(other.value) }

// floor is the largest integer not above the value; false if it exceeds int64.
func (q Quantity) floor() (int64, bool) {
	n := new(big.Int).Div(q.value.Num(), q.value.Denom()) // Euclidean: the denominator is positive
	return n.Int64(), n.IsInt64()
}

// wholeCount is the value as a whole number of things.
func (q Quantity) wholeCount() (int64, error) {
	switch {
	case q.time != 0:
		return 0, fmt.Errorf("want a number, this is %s", q.kind())
	case !q.value.IsInt():
		return 0, fmt.Errorf("%s is not a whole number; use floor() or ceil()", q)
	case !q.value.Num().IsInt64():
		return 0, fmt.Errorf("%s is too large", q)
	}
	return q.value.Num().Int64(), nil
}

// maxSpan bounds every duration in a scenario, well inside time.Duration.
const maxSpan = 10 * 365 * 24 * time.Hour

// span is the value as a duration, rounded down to the microsecond.
func (q Quantity) span() (time.Duration, error) {
	switch {
	case q.time == 0:
		return 0, fmt.Errorf("want a duration, this is a number; write a unit, such as %ss or %sms", q, q)
	case q.time != 1:
		return 0, fmt.Errorf("want a duration, this is %s", q.kind())
	}
	us, ok := q.floor()
	if limit := maxSpan.Microseconds(); !ok || us > limit || us < -limit {
		return 0, fmt.Errorf("duration is beyond %s", limiter.FormatDuration(maxSpan))
	}
	return time.Duration(us) * time.Microsecond, nil
}
