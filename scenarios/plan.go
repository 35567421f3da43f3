package scenarios

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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
	start, d, cost, wrong := phase.resolve(s.Limit, next)
	if len(wrong) > 0 {
		return PlannedPhase{}, nil, fmt.Errorf("%s: %w", wrong[0].field, wrong[0].err)
	}
	if max(start, -start, start+d.span) > maxSpan {
		return PlannedPhase{}, nil, fmt.Errorf("it is beyond %s from the edge", limiter.FormatDuration(maxSpan))
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

// Edge is the window boundary that the virtual clock runs around: the first one
// from the start of 2026, the same on every run.
func (p *Plan) Edge() time.Time {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	width := p.Limit.Window.Microseconds()
	return time.UnixMicro((epoch + width - 1) / width * width).UTC()
}

// WindowOf numbers the windows around an edge: 0 begins at it, -1 ends there.
func WindowOf(offset, window time.Duration) int64 {
	n := int64(offset / window)
	if offset%window < 0 {
		n--
	}
	return n
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
