package target

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// number is an exact decimal.
type number struct {
	*big.Rat
	digits int // behind the point
}

// decimal is text that is read as a number. Of exponents only small ones are: a
// large Lua number that was printed with one has lost digits.
var decimal = regexp.MustCompile(`^[+-]?[0-9]{1,20}(?:\.([0-9]{1,20}))?(?:[eE]-([0-9]{1,2}))?$`)

// numberOf reads an integer or a numeric string.
func numberOf(v any) (number, bool) {
	switch v := v.(type) {
	case int64:
		return wholeNumber(v), true
	case string:
		if m := decimal.FindStringSubmatch(v); m != nil {
			r, ok := new(big.Rat).SetString(v)
			shift, _ := strconv.Atoi(m[2])
			return number{r, len(m[1]) + shift}, ok
		}
	}
	return number{}, false
}

// told is a decision and how finely its parts were told; what was not told is 0.
type told struct {
	limiter.Decision
	remaining, at bool
	retry, reset  time.Duration
}

// read turns a reply into a decision. The error says which value is wrong, what
// it is and what it should be.
func (f replyForm) read(reply any, c call) (told, error) {
	t := told{Decision: limiter.Decision{Limit: c.limit.Max, Source: limiter.SourceRedis}}
	if c.timed {
		t.At, t.at = time.UnixMicro(c.at).UTC(), true
	}
	values, isArray := reply.([]any)
	if f.at == itself || f.loose && !isArray {
		if err := f.readVerdict(&t, reply, itself); err != nil {
			return t, err
		}
		return t, nil
	}
	if !isArray {
		return t, wrong("the reply", reply, "an array; for one value, write "+f.verdict.name+": self")
	}
	verdict, err := valueAt(values, f.at, f.verdict.name, f.verdict.want)
	if err == nil {
		err = f.readVerdict(&t, verdict, f.at)
	}
	for _, read := range []func(*told, []any) error{f.readCounts, f.readNow, f.readRetry, f.readReset} {
		if err != nil {
			return t, err
		}
		err = read(&t, values)
	}
	return t, err
}

func (f replyForm) readVerdict(t *told, v any, at place) error {
	name := f.verdict.name
	if at == itself {
		name = "the reply, " + name
	} else {
		name = positioned(name, at)
	}
	if v == nil && f.nilMeans != "" {
		t.Allowed = f.nilMeans == "admitted"
		return nil
	}
	if text, isText := v.(string); isText && text != "" && (text == f.yes || text == f.no) {
		t.Allowed = text == f.yes
		return nil
	}
	n, ok := numberOf(v)
	if ok {
		t.Allowed, ok = f.verdict.admits(n, t.Limit)
	}
	if !ok {
		want := f.verdict.want
		if v == nil {
			want += "; if nil is an answer, say so by nil: denied or nil: admitted"
		}
		return wrong(name, v, want)
	}
	if f.verdict.leftover && f.remaining.none() {
		left, fits := floorOf(n)
		if !fits {
			return wrong(name, v, "a smaller number")
		}
		t.Remaining, t.remaining = max(left, 0), true
	}
	return nil
}

// readCounts reads what is told in units.
func (f replyForm) readCounts(t *told, values []any) error {
	for _, field := range []struct {
		name string
		at   place
		to   *int64
		told *bool
	}{{"remaining", f.remaining, &t.Remaining, &t.remaining}, {"limit", f.limit, &t.Limit, new(bool)}} {
		if field.at.none() || f.absent(values, field.at) {
			continue
		}
		v, err := valueAt(values, field.at, field.name, "a number")
		if err != nil {
			return err
		}
		n, ok := numberOf(v)
		whole, fits := int64(0), false
		if ok {
			whole, fits = floorOf(n) // of a bucket in floats, the units that are there
		}
		if !fits {
			return wrong(positioned(field.name, field.at), v, "a number")
		}
		*field.to, *field.told = whole, true
	}
	return nil
}

// lastMicro is where limiter.Request ends too: later microseconds are not exact
// in Lua.
const lastMicro = int64(1) << 52

func (f replyForm) readNow(t *told, values []any) error {
	if f.now.none() {
		return nil
	}
	const want = "microseconds since 1970"
	v, err := valueAt(values, f.now, "now_us", want)
	if err != nil {
		return err
	}
	n, ok := numberOf(v)
	if !ok || !n.IsInt() || n.Sign() < 0 || n.Cmp(wholeNumber(lastMicro).Rat) >= 0 {
		return wrong(positioned("now_us", f.now), v, want)
	}
	t.At, t.at = time.UnixMicro(n.Num().Int64()).UTC(), true
	return nil
}

// readRetry reads the wait of a denial. An admission has none, whatever a reply
// holds in its place, as long as it is not a wait.
func (f replyForm) readRetry(t *told, values []any) error {
	if f.retry.none() || f.absent(values, f.retry) {
		return nil
	}
	if t.Allowed && (len(values) < int(f.retry) || values[f.retry-1] == nil) {
		t.retry = 0
		return nil
	}
	wait, unit, err := f.wait(values, f.retry, "retry_after", f.retryUnit, 0)
	if err != nil {
		return err
	}
	t.RetryAfter, t.retry = wait, unit
	if wait == -f.retryUnit { // the usual word for never, and for nothing to wait for
		t.RetryAfter = limiter.Never
		if t.Allowed {
			t.RetryAfter = 0
		}
	}
	return nil
}

func (f replyForm) readReset(t *told, values []any) error {
	if f.reset.none() || f.absent(values, f.reset) {
		return nil
	}
	if !f.resetAt {
		var err error
		t.ResetAfter, t.reset, err = f.wait(values, f.reset, "reset_after", f.resetUnit, 0)
		return err
	}
	var err error
	t.ResetAfter, _, err = f.wait(values, f.reset, "reset_at", f.resetUnit, t.At.UnixMicro())
	return err
}

// wait reads a span, or an instant less another one. Parts of a microsecond are
// rounded up. The unit is finer than the mapping's if there are decimals.
func (f replyForm) wait(values []any, at place, name string, unit time.Duration, less int64) (time.Duration, time.Duration, error) {
	for _, u := range units {
		if u.unit == unit {
			name += u.ending
		}
	}
	v, err := valueAt(values, at, name, "a number")
	if err != nil {
		return 0, 0, err
	}
	n, ok := numberOf(v)
	if !ok {
		return 0, 0, wrong(positioned(name, at), v, "a number")
	}
	us := new(big.Rat).Mul(n.Rat, wholeNumber(unit.Microseconds()).Rat)
	us.Sub(us, wholeNumber(less).Rat)
	ceiling, fits := floorOf(number{Rat: us.Neg(us)})
	ceiling = -ceiling
	if !fits || ceiling > math.MaxInt64/1000-1 || ceiling < -math.MaxInt64/1000+1 {
		return 0, 0, wrong(positioned(name, at), v, "less than 292 years")
	}
	for range n.digits {
		unit = max(unit/10, time.Microsecond)
	}
	return time.Duration(ceiling) * time.Microsecond, unit, nil
}

// floorOf is the largest integer not above n; false if it is beyond int64.
func floorOf(n number) (int64, bool) {
	i := new(big.Int).Div(n.Num(), n.Denom()) // Euclidean, and the denominator is positive
	return i.Int64(), i.IsInt64() && i.Int64() != math.MinInt64
}

// absent reports whether the loose form does without a value.
func (f replyForm) absent(values []any, at place) bool { return f.loose && len(values) < int(at) }

func valueAt(values []any, at place, name, want string) (any, error) {
	if len(values) < int(at) {
		return nil, fmt.Errorf("%s: the array ends after %d, want %s; nil ends an array of Lua early", positioned(name, at), len(values), want)
	}
	return values[at-1], nil
}

func positioned(name string, at place) string { return fmt.Sprintf("%s at position %d", name, at) }

func wrong(name string, got any, want string) error {
	return fmt.Errorf("%s: got %s, want %s", name, shown(got), want)
}

// shown is a value of a reply as a message can hold it.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return quoted(v)
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	case error:
		return "the error " + quoted(v.Error())
	default:
		return clipped(fmt.Sprint(v))
	}
}

func quoted(s string) string { return strconv.QuoteToGraphic(clipped(s)) }

// clipped keeps some eighty characters.
func clipped(s string) string {
	const most = 80
	s = strings.ToValidUTF8(s, "�")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
