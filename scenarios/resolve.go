package scenarios

import (
	"fmt"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// resolve evaluates the expressions of a phase for a limit. next is where a
// phase without "at" starts. What cannot be computed is reported by field.
func (p Phase) resolve(l limiter.Limit, next time.Duration) (start time.Duration, d demand, cost int64, wrong []misfit) {
	note := func(field string, err error) {
		if err != nil {
			wrong = append(wrong, misfit{field, err})
		}
	}
	start, cost = next, 1
	var err error
	if p.At.Present() {
		start, err = evalSpan(p.At, l)
		note("at", err)
	}
	if p.For.Present() {
		d.span, err = evalSpan(p.For, l)
		if err == nil && d.span < time.Microsecond {
			err = fmt.Errorf("%s is below 1µs", p.For)
		}
		note("for", err)
	}
	if p.Count.Present() {
		d.count, err = evalCount(p.Count, l, 0)
		note("count", err)
	}
	if p.Cost.Present() {
		cost, err = evalCount(p.Cost, l, 1)
		note("cost", err)
	}
	if p.Rate.Present() {
		rate, err := evalRate(p.Rate, l, max(d.span, 0))
		note("rate", err)
		d.rate = rate.value
	}
	return start, d, cost, wrong
}

func evalSpan(e Expr, l limiter.Limit) (time.Duration, error) {
	q, err := e.Eval(l)
	if err != nil {
		return 0, err
	}
	return q.span()
}

func evalCount(e Expr, l limiter.Limit, least int64) (int64, error) {
	q, err := e.Eval(l)
	if err != nil {
		return 0, err
	}
	n, err := q.wholeCount()
	switch {
	case err != nil:
		return 0, err
	case n < least:
		return 0, fmt.Errorf("%s is below %d", e, least)
	case n > MaxArrivals:
		return 0, fmt.Errorf("%s is above %d", e, MaxArrivals)
	}
	return n, nil
}

// evalRate also bounds how many arrivals the rate gives.
func evalRate(e Expr, l limiter.Limit, span time.Duration) (Quantity, error) {
	q, err := e.Eval(l)
	switch {
	case err != nil:
		return q, err
	case q.time == 0:
		return q, fmt.Errorf("%s has no unit of time; write count/unit, such as %s/s", e, e)
	case q.time != -1:
		return q, fmt.Errorf("want count/unit such as 100/s, %s is %s", e, q.kind())
	case q.value.Sign() <= 0:
		return q, fmt.Errorf("%s is not above zero", e)
	}
	total, err := multiply(q, duration(span))
	if err != nil {
		return q, err
	}
	if n, ok := total.floor(); !ok || n > MaxArrivals {
		return q, fmt.Errorf("%s for %s gives more than %d requests", e, limiter.FormatDuration(span), MaxArrivals)
	}
	return q, nil
}

// evalNumber refuses expressions that are no number: every metric is one.
func evalNumber(e Expr, l limiter.Limit) error {
	q, err := e.Eval(l)
	if err == nil && q.time != 0 {
		return fmt.Errorf("want a number, %s is %s", e, q.kind())
	}
	return err
}
