package scenarios

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// numbers are the expressions of a phase, computed for a limit.
type numbers struct {
	start        time.Duration
	demand       demand
	cost         int64
	limit        limiter.Limit
	senders      int64 // 0: all
	skip         int64
	skew, jitter time.Duration
	times        int64
	period       time.Duration
	retry        *RetryPlan
}

// resolution collects what cannot be computed, by field.
type resolution struct {
	limit limiter.Limit
	wrong []misfit
}

func (r *resolution) note(field string, err error) {
	if err != nil {
		r.wrong = append(r.wrong, misfit{field, err})
	}
}

// span computes a duration of at least least; absent leaves otherwise.
func (r *resolution) span(field string, e Expr, least, otherwise time.Duration) time.Duration {
	if !e.Present() {
		return otherwise
	}
	d, err := evalSpan(e, r.limit)
	if err == nil && d < least {
		err = fmt.Errorf("%s is below %s", e, limiter.FormatDuration(least))
	}
	r.note(field, err)
	if err != nil {
		return otherwise
	}
	return d
}

func (r *resolution) count(field string, e Expr, least, most, otherwise int64) int64 {
	if !e.Present() {
		return otherwise
	}
	n, err := evalCount(e, r.limit, least, most)
	r.note(field, err)
	return n
}

func (r *resolution) rate(field string, e Expr, span time.Duration, least int) *big.Rat {
	if !e.Present() {
		return nil
	}
	q, err := evalRate(e, r.limit, span, least)
	r.note(field, err)
	if err != nil {
		return nil
	}
	return q.value
}

// resolve evaluates the expressions of a phase for a limit. next is where a
// phase without "at" starts. What cannot be computed is reported by field.
func (p Phase) resolve(l limiter.Limit, next time.Duration) (numbers, []misfit) {
	r := &resolution{limit: l}
	n := numbers{limit: l}
	n.start = r.span("at", p.At, -maxSpan, next)
	n.cost = r.count("cost", p.Cost, 1, MaxArrivals, 1)
	n.limit.Max = r.count("limit", p.Limit, 0, limiter.MaxMax, l.Max)
	n.senders = r.count("senders", p.Senders, 1, maxKeys, 0)
	n.skip = r.count("skip", p.Skip, 0, maxKeys-1, 0)
	n.skew = r.span("skew", p.Skew, -maxSpan, 0)
	n.jitter = r.span("jitter", p.Jitter, 0, 0)
	n.times = 1
	if p.Repeat != nil {
		n.times = r.count("repeat.times", p.Repeat.Times, 1, MaxArrivals, 1)
		n.period = r.span("repeat.every", p.Repeat.Every, time.Microsecond, 0)
		if n.period > 0 && n.times > int64(maxSpan/n.period) {
			r.note("repeat", fmt.Errorf("it is longer than %s", limiter.FormatDuration(maxSpan)))
		}
	}
	n.demand = r.demand(p, n.limit)
	if p.Replay != nil {
		r.replay(p, &n.demand)
	}
	if p.Retry != nil {
		n.retry = r.retry(*p.Retry, n.length())
	}
	return n, r.wrong
}

// length is from the start of a phase to its end.
func (n numbers) length() time.Duration {
	return time.Duration(n.times-1)*n.period + n.demand.span + n.jitter
}

// demand computes how much a phase asks for whose budget is a limit.
func (r *resolution) demand(p Phase, budget limiter.Limit) demand {
	d := demand{span: r.span("for", p.For, time.Microsecond, 0), counted: p.Count.Present()}
	d.full = big.NewRat(budget.Max, max(budget.Window.Microseconds(), 1))
	d.count = r.count("count", p.Count, 0, MaxArrivals, 0)
	d.every = r.span("every", p.Every, time.Microsecond, 0)
	d.rate = r.rate("rate", p.Rate, d.span, 1)
	d.from, d.to = r.rate("from", p.From, d.span, 0), r.rate("to", p.To, d.span, 0)
	if shape, err := shapeNamed(p.Shape); err == nil && shape.total != nil {
		if shape.total(d).Cmp(new(big.Rat).SetInt64(MaxArrivals)) > 0 {
			r.note("for", fmt.Errorf("%s for %s gives more than %d requests", p.Shape, p.For, MaxArrivals))
		}
	}
	if d.from != nil && d.to != nil && d.from.Sign() == 0 && d.to.Sign() == 0 {
		r.note("to", errors.New("a ramp from 0 to 0 sends nothing"))
	}
	return d
}

// replay computes what a phase sends of a log, as far as the log is known. A count bounds
// how much of it.
func (r *resolution) replay(p Phase, d *demand) {
	requests := p.Replay.Requests
	if d.counted {
		requests = requests[:min(int64(len(requests)), d.count)]
	}
	if d.counted && d.count == 0 {
		r.note("count", errors.New("a replay of no request sends nothing"))
	}
	var err error
	d.recorded, err = p.Replay.offsets(requests, r.limit.Window)
	r.note("trace", err)
	if n := len(d.recorded); n > 0 {
		d.span = d.recorded[n-1] + time.Microsecond
	}
}

// retry computes how clients of a phase of some length retry.
func (r *resolution) retry(p Retry, length time.Duration) *RetryPlan {
	return &RetryPlan{
		Mode:   p.Mode,
		Wait:   r.span("retry.wait", p.Wait, time.Microsecond, 0),
		Round:  r.span("retry.round", p.Round, time.Microsecond, time.Microsecond),
		Jitter: r.span("retry.jitter", p.Jitter, 0, 0),
		Within: r.span("retry.within", p.Within, time.Microsecond, length+5*r.limit.Window),
	}
}

// has reports whether a phase has a field that depends on its shape.
func (p Phase) has(field string) bool {
	given := map[string]Expr{"for": p.For, "count": p.Count, "rate": p.Rate, "from": p.From, "to": p.To, "every": p.Every, "senders": p.Senders, "skip": p.Skip}
	return given[field].Present()
}

// wait computes a length of time of the scenario; absent is 0.
func (s *Scenario) wait(e Expr) (time.Duration, error) {
	if !e.Present() {
		return 0, nil
	}
	d, err := evalSpan(e, s.Limit)
	if err == nil && (d < 0 || d > maxWait) {
		err = fmt.Errorf("%s is outside 0 to %s", e, limiter.FormatDuration(maxWait))
	}
	return d, err
}

func evalSpan(e Expr, l limiter.Limit) (time.Duration, error) {
	q, err := e.Eval(l)
	if err != nil {
		return 0, err
	}
	return q.span()
}

func evalCount(e Expr, l limiter.Limit, least, most int64) (int64, error) {
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
	case n > most:
		return 0, fmt.Errorf("%s is above %d", e, most)
	}
	return n, nil
}

// evalRate also bounds how many arrivals the rate gives. Its sign has to be least
// at least.
func evalRate(e Expr, l limiter.Limit, span time.Duration, least int) (Quantity, error) {
	q, err := e.Eval(l)
	switch {
	case err != nil:
		return q, err
	case q.time == 0:
		return q, fmt.Errorf("%s has no unit of time; write count/unit, such as %s/s", e, e)
	case q.time != -1:
		return q, fmt.Errorf("want count/unit such as 100/s, %s is %s", e, q.kind())
	case q.value.Sign() < 0:
		return q, fmt.Errorf("%s is below zero", e)
	case q.value.Sign() < least:
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

// evalValue refuses expressions that are not what a metric is.
func evalValue(e Expr, l limiter.Limit, m Metric) error {
	q, err := e.Eval(l)
	if err == nil && q.time != m.dimension() {
		return fmt.Errorf("want %s, %s is %s", Quantity{time: m.dimension()}.kind(), e, q.kind())
	}
	return err
}
