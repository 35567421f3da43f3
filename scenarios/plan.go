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
	"github.com/rlbench/rlbench/limiter/edge"
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
	Start, End  time.Duration // offsets from the edge; the end is exclusive, but for a burst or a herd, whose last instant it is
	Planned     int64         // arrivals
	Wanted      int64         // arrivals that are no retries; also those that clients gave up
	Limit       limiter.Limit // the budget in this phase
	Skew        time.Duration // of the senders' clock, positive is ahead
	// Span is the length of one repetition, 0 if it is one instant; Period is how
	// far repetitions are apart, 0 if there is one.
	Span, Period time.Duration
	Pseudonym    int32  // of every client in this phase
	Path         string // of a service
	Also         *int32 // another one that the limiter is told; nil is none
	// Retry is how clients of this phase retry; nil if they do not. Their retries
	// belong to the phase behind it, whose RetryOf is this phase's name.
	Retry   *RetryPlan
	RetryOf string
}

// RetryPlan is a Retry in numbers.
type RetryPlan struct {
	Mode                        string
	Wait, Round, Jitter, Within time.Duration
}

// alone reports whether a client has one request in flight at most.
func (r RetryPlan) alone() bool { return r.Mode != "ignore" }

// Plan is the timetable of a scenario: everything that will be sent and when,
// fixed by the scenario, its limit and its seed. No worker count enters it.
// Where clients retry, it holds what they want, and retries come on top as the
// limiter denies; see Agenda.
type Plan struct {
	Scenario string
	Limit    limiter.Limit
	Clock    Clock
	Seed     uint64
	Keys     int
	Phases   []PlannedPhase
	Arrivals []Arrival // in order of At; equal instants in order of phase
	Faults   []PlannedFault
	EdgeTier *edge.Config // nil is none
	// OnFailure is the scenario's; Drain, Late, Overload and Timeout are, in numbers.
	OnFailure            string
	Service              string
	MaxInFlight          int
	Drain, Late, Timeout time.Duration
	Overload             time.Duration
	// Cut says that a run has ended at an overload: what was planned behind is not in
	// the plan any more.
	Cut bool
}

// NewPlan computes the timetable.
func NewPlan(s *Scenario) (*Plan, error) {
	p := &Plan{Scenario: s.Name, Limit: s.Limit, Clock: s.Clock, Seed: s.Seed, Keys: s.Keys.Count, OnFailure: s.OnFailure, Service: s.Service, MaxInFlight: s.MaxInFlight}
	pick := s.Keys.picker()
	next := time.Duration(0) // the edge
	for i, phase := range s.Phases {
		planned, arrivals, err := planPhase(s, phase, i, int32(len(p.Phases)), next, pick)
		if err != nil {
			return nil, fmt.Errorf("plan scenario %s: phase %s: %w", s.Name, phase.Name, err)
		}
		if len(p.Arrivals)+len(arrivals) > MaxArrivals {
			return nil, tooMany(s)
		}
		p.Phases = append(p.Phases, planned)
		if planned.Retry != nil {
			p.Phases = append(p.Phases, planned.retries())
		}
		p.Arrivals = append(p.Arrivals, arrivals...)
		next = planned.End
	}
	for _, a := range p.Arrivals { // a log has as many as it has
		p.Keys = max(p.Keys, int(a.Key)+1)
	}
	if err := p.address(s.Keys); err != nil {
		return nil, fmt.Errorf("plan scenario %s: keys: %w", s.Name, err)
	}
	if err := errors.Join(s.served(), p.served()); err != nil {
		return nil, fmt.Errorf("plan scenario %s: %w", s.Name, err)
	}
	slices.SortStableFunc(p.Arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	var err error
	if p.Late, err = s.wait(s.Late); err != nil {
		return nil, fmt.Errorf("plan scenario %s: late: %w", s.Name, err)
	}
	if p.Overload, err = s.wait(s.Overload); err != nil {
		return nil, fmt.Errorf("plan scenario %s: overload: %w", s.Name, err)
	}
	if p.Drain, err = s.wait(s.Drain); err != nil {
		return nil, fmt.Errorf("plan scenario %s: drain: %w", s.Name, err)
	}
	if p.Timeout, err = s.wait(s.Timeout); err != nil {
		return nil, fmt.Errorf("plan scenario %s: timeout: %w", s.Name, err)
	}
	if p.EdgeTier, err = s.edgeTier(); err != nil {
		return nil, fmt.Errorf("plan scenario %s: edge_tier: %w", s.Name, err)
	}
	for i, f := range s.Faults {
		planned, wrong := f.resolve(s.Limit, p.Phases)
		if len(wrong) > 0 {
			return nil, fmt.Errorf("plan scenario %s: fault %d: %s: %w", s.Name, i+1, wrong[0].field, wrong[0].err)
		}
		p.Faults = append(p.Faults, planned)
	}
	if err := p.oneAtATime(); err != nil {
		return nil, fmt.Errorf("plan scenario %s: %w", s.Name, err)
	}
	if err := p.twoNames(); err != nil {
		return nil, fmt.Errorf("plan scenario %s: %w", s.Name, err)
	}
	if err := p.overloadable(); err != nil {
		return nil, fmt.Errorf("plan scenario %s: overload: %w", s.Name, err)
	}
	if s.Clock == Virtual && p.Drain > 0 {
		return nil, fmt.Errorf("plan scenario %s: drain waits in real time; choose --clock server or client", s.Name)
	}
	return p, nil
}

// address makes clients of keys: those whose addresses are one client's are one.
func (p *Plan) address(k Keys) error {
	if !k.Addresses.Network.IsValid() {
		return nil
	}
	clients, err := k.Addresses.clients(k.Count)
	if err != nil {
		return err
	}
	for i := range p.Arrivals {
		p.Arrivals[i].Key = clients[p.Arrivals[i].Key]
	}
	p.Keys = int(slices.Max(clients)) + 1
	return nil
}

func tooMany(s *Scenario) error {
	return fmt.Errorf("plan scenario %s: more than %d requests", s.Name, MaxArrivals)
}

// retries is the phase that the retries of a phase belong to.
func (p PlannedPhase) retries() PlannedPhase {
	return PlannedPhase{
		Name: p.Name + RetrySuffix, Shape: "retry", Start: p.Start, End: p.Start + p.Retry.Within,
		Limit: p.Limit, Skew: p.Skew, Pseudonym: p.Pseudonym, Path: p.Path, Also: p.Also, RetryOf: p.Name,
	}
}

// RetrySuffix ends the name of the phase that holds another one's retries. A
// dot cannot be part of a phase's own name.
const RetrySuffix = ".retry"

// planPhase spreads one phase, the index-th of the scenario and the place-th of
// the plan. Each phase draws from its own random stream, so that editing one
// does not change another.
func planPhase(s *Scenario, phase Phase, index int, place int32, next time.Duration, pick picker) (PlannedPhase, []Arrival, error) {
	shape, err := shapeNamed(phase.Shape)
	if err != nil {
		return PlannedPhase{}, nil, err
	}
	wrong := shape.misfits(phase.has)
	if len(wrong) > 0 {
		return PlannedPhase{}, nil, wrong[0].err
	}
	n, wrong := phase.resolve(s.Limit, next)
	if len(wrong) > 0 {
		return PlannedPhase{}, nil, fmt.Errorf("%s: %w", wrong[0].field, wrong[0].err)
	}
	end := n.start + n.length()
	last := end
	if n.retry != nil {
		last = max(end, n.start+n.retry.Within)
	}
	if max(n.start, -n.start, last) > maxSpan {
		return PlannedPhase{}, nil, fmt.Errorf("it is beyond %s from the edge", limiter.FormatDuration(maxSpan))
	}
	senders, pick, err := n.senderKeys(s.Keys, pick)
	if err != nil {
		return PlannedPhase{}, nil, err
	}
	if phase.Shape == replay.Name {
		if pick, err = phase.logged(s.Keys, len(n.demand.recorded)); err != nil {
			return PlannedPhase{}, nil, err
		}
	}
	arrivals, err := spread(s, shape, n, senders, rand.New(rand.NewPCG(s.Seed, uint64(index))), place, pick)
	return PlannedPhase{
		Name: phase.Name, Shape: phase.Shape, Start: n.start, End: end, Planned: int64(len(arrivals)), Wanted: int64(len(arrivals)),
		Limit: n.limit, Skew: n.skew, Pseudonym: phase.Pseudonym, Path: phase.Path, Also: phase.Also, Retry: n.retry,
		Span: n.demand.span + n.jitter, Period: n.period,
	}, arrivals, err
}

// senderKeys are how many keys send in a phase, and how they are drawn.
func (n numbers) senderKeys(k Keys, all picker) (int, picker, error) {
	if n.senders == 0 && n.skip == 0 {
		return k.Count, all, nil
	}
	if n.skip >= int64(k.Count) || n.skip+n.senders > int64(k.Count) {
		return 0, nil, fmt.Errorf("senders: there are %d keys; %d are skipped and %d send", k.Count, n.skip, n.senders)
	}
	k.Count -= int(n.skip)
	if n.senders > 0 {
		k.Count = int(n.senders)
	}
	return k.Count, k.picker(), nil
}

// spread makes the arrivals of all repetitions of a phase.
func spread(s *Scenario, shape Shape, n numbers, keys int, rng *rand.Rand, place int32, pick picker) ([]Arrival, error) {
	var arrivals []Arrival
	for r := range n.times {
		offsets := shape.arrive(n.demand, rng)
		senders := 1
		if shape.perKey {
			senders = keys
		}
		if len(arrivals)+senders*len(offsets) > MaxArrivals {
			return nil, tooMany(s)
		}
		for _, offset := range offsets {
			for sender := range senders {
				a := Arrival{At: n.start + time.Duration(r)*n.period + offset, Cost: n.cost, Key: int32(sender) + int32(n.skip), Phase: place}
				if !shape.perKey {
					a.Key = pick(len(arrivals), rng) + int32(n.skip)
				}
				if n.jitter > 0 {
					a.At += time.Duration(rng.Int64N(n.jitter.Microseconds())) * time.Microsecond
				}
				arrivals = append(arrivals, a)
			}
		}
	}
	return arrivals, nil
}

// Identity is who sends an arrival. Pseudonyms of a client that the limiter is told
// together, and those that are told together with one of them, are one identity,
// under the lowest of their numbers.
func (p *Plan) Identity(a Arrival) Identity {
	names := []int32{p.Phases[a.Phase].Pseudonym}
	for more := true; more; {
		more = false
		for _, phase := range p.Phases {
			if phase.Also == nil || slices.Contains(names, phase.Pseudonym) == slices.Contains(names, *phase.Also) {
				continue
			}
			names, more = append(names, phase.Pseudonym, *phase.Also), true
		}
	}
	return Identity{Key: a.Key, Pseudonym: slices.Min(names)}
}

// Skewed reports whether several clocks decide. A promise is made for one.
func (p *Plan) Skewed() bool {
	return p.Clock != Server && slices.ContainsFunc(p.Phases, func(phase PlannedPhase) bool { return phase.Skew != 0 })
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
// keys, the phases and every arrival.
func (p *Plan) Hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "rlbench plan 1\n%s %d\n", p.Limit, p.Keys)
	for _, phase := range p.Phases {
		fmt.Fprintf(h, "%q", phase.Name)
		if phase.Limit != p.Limit || phase.Skew != 0 || phase.Pseudonym != 0 {
			fmt.Fprintf(h, " %s %d %d", phase.Limit, phase.Skew.Microseconds(), phase.Pseudonym)
		}
		if phase.Path != "" {
			fmt.Fprintf(h, " path %q", phase.Path)
		}
		if phase.Also != nil {
			fmt.Fprintf(h, " also %d", *phase.Also)
		}
		if phase.Retry != nil {
			fmt.Fprintf(h, " %+v", *phase.Retry)
		}
		fmt.Fprintln(h)
	}
	for _, f := range p.Faults {
		fmt.Fprintf(h, "fault %+v\n", f)
	}
	if p.Service != "" {
		fmt.Fprintf(h, "service %s\n", p.Service)
	}
	if t := p.EdgeTier; t != nil {
		fmt.Fprintf(h, "edge tier %s %s %t %d %d %d\n", t.Limit, t.Kind, t.Inclusive, t.Locations, t.Machines, t.Sync.Microseconds())
	}
	if p.Overload > 0 {
		fmt.Fprintf(h, "overload %d\n", p.Overload.Microseconds())
	}
	if p.OnFailure != "" {
		fmt.Fprintf(h, "on failure %s\n", p.OnFailure)
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

// Offset writes an offset from the edge as users write it in a scenario.
func Offset(d time.Duration) string {
	switch {
	case d == 0:
		return "edge"
	case d < 0:
		return "edge-" + limiter.FormatDuration(-d)
	default:
		return "edge+" + limiter.FormatDuration(d)
	}
}
