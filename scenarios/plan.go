package scenarios

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// MaxArrivals bounds a plan; it is held in memory.
const MaxArrivals = 10_000_000

// Arrival is one planned request.
type Arrival struct {
	At    time.Duration // offset from the edge, whole microseconds, may be negative
	Cost  int64         // units, at least 1
	Key   int32         // 0 to Plan.Keys-1
	Phase int32         // index into Plan.Phases
}

// PlannedPhase is a phase in numbers.
type PlannedPhase struct {
	Name, Shape string
	Start, End  time.Duration // offsets from the edge; the end is exclusive, and equals the start of a burst
	Planned     int64         // arrivals
}

// Plan is the timetable of a scenario: everything that will be sent and when,
// fixed by the scenario, its limit and its seed. No worker count enters it.
type Plan struct {
	Scenario string
	Limit    limiter.Limit
	Clock    Clock
	Seed     uint64
	Keys     int
	Phases   []PlannedPhase
	Arrivals []Arrival // in order of At; equal instants in order of phase
}

// NewPlan computes the timetable.
func NewPlan(s *Scenario) (*Plan, error) {
	p := &Plan{Scenario: s.Name, Limit: s.Limit, Clock: s.Clock, Seed: s.Seed, Keys: s.Keys.Count}
	next := time.Duration(0) // the edge
	for i, phase := range s.Phases {
		planned, arrivals, err := planPhase(s, phase, i, next)
		if err != nil {
			return nil, fmt.Errorf("plan scenario %s: phase %s: %w", s.Name, phase.Name, err)
		}
		if len(p.Arrivals)+len(arrivals) > MaxArrivals {
			return nil, fmt.Errorf("plan scenario %s: more than %d requests", s.Name, MaxArrivals)
		}
		p.Phases = append(p.Phases, planned)
		p.Arrivals = append(p.Arrivals, arrivals...)
		next = planned.End
	}
	slices.SortStableFunc(p.Arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return p, nil
}

// planPhase spreads one phase. Each phase draws from its own random stream, so
// that editing one does not change another.
func planPhase(s *Scenario, phase Phase, index int, next time.Duration) (PlannedPhase, []Arrival, error) {
	shape, err := shapeNamed(phase.Shape)
	if err != nil {
		return PlannedPhase{}, nil, err
	}
	start, d, cost, err := phase.resolve(s.Limit, next)
	if err != nil {
		return PlannedPhase{}, nil, err
	}
	rng := rand.New(rand.NewPCG(s.Seed, uint64(index)))
	offsets := shape.arrive(d, rng)
	arrivals := make([]Arrival, len(offsets))
	for i, offset := range offsets {
		arrivals[i] = Arrival{At: start + offset, Cost: cost, Key: int32(rng.IntN(s.Keys.Count)), Phase: int32(index)}
	}
	return PlannedPhase{
		Name: phase.Name, Shape: phase.Shape, Start: start, End: start + d.span, Planned: int64(len(arrivals)),
	}, arrivals, nil
}

// resolve evaluates the expressions of a phase.
func (p Phase) resolve(l limiter.Limit, next time.Duration) (start time.Duration, d demand, cost int64, err error) {
	var errs []error
	span := func(name string, e Expr, absent time.Duration) time.Duration {
		if !e.Present() {
			return absent
		}
		v, err := evalSpan(e, l)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		return v
	}
	whole := func(name string, e Expr, absent, least int64) int64 {
		if !e.Present() {
			return absent
		}
		v, err := evalCount(e, l, least)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		return v
	}
	start = span("at", p.At, next)
	d.span = span("for", p.For, 0)
	d.count = whole("count", p.Count, 0, 0)
	cost = whole("cost", p.Cost, 1, 1)
	if p.For.Present() && d.span <= 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("for: %s is %s; want at least 1µs", p.For, d.span))
	}
	if p.Rate.Present() && len(errs) == 0 {
		q, err := evalRate(p.Rate, l, d.span)
		if err != nil {
			errs = append(errs, fmt.Errorf("rate: %w", err))
		}
		d.rate = q.value
	}
	return start, d, cost, errors.Join(errs...)
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
		return 0, fmt.Errorf("%s is %d; want at least %d", e, n, least)
	case n > MaxArrivals:
		return 0, fmt.Errorf("%s is %d; want at most %d", e, n, MaxArrivals)
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

// Edge is the window boundary that the virtual clock runs around: the first one
// from the start of 2026, the same on every run.
func (p *Plan) Edge() time.Time {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	width := p.Limit.Window.Microseconds()
	return time.UnixMicro((epoch + width - 1) / width * width).UTC()
}

// Crowd is the most arrivals at one instant.
func (p *Plan) Crowd() int {
	most, first := 0, 0
	for i, a := range p.Arrivals {
		if a.At != p.Arrivals[first].At {
			first = i
		}
		most = max(most, i-first+1)
	}
	return most
}

// Span is the offset of the first arrival, and of the last.
func (p *Plan) Span() (first, last time.Duration) {
	if len(p.Arrivals) == 0 {
		return 0, 0
	}
	return p.Arrivals[0].At, p.Arrivals[len(p.Arrivals)-1].At
}

// Hash identifies the timetable: SHA-256 in hex over the limit, the number of
// keys, the names of the phases and every arrival.
func (p *Plan) Hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "rlbench plan 1\n%s %d\n", p.Limit, p.Keys)
	for _, phase := range p.Phases {
		fmt.Fprintf(h, "%q\n", phase.Name)
	}
	var buf [24]byte
	for _, a := range p.Arrivals {
		binary.BigEndian.PutUint64(buf[0:], uint64(a.At.Microseconds()))
		binary.BigEndian.PutUint64(buf[8:], uint64(a.Cost))
		binary.BigEndian.PutUint32(buf[16:], uint32(a.Key))
		binary.BigEndian.PutUint32(buf[20:], uint32(a.Phase))
		h.Write(buf[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
