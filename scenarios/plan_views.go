package scenarios

import (
	"errors"
	"slices"
	"time"
)

// Outline is the plan without its arrivals.
func (p *Plan) Outline() *Plan {
	outline := *p
	outline.Arrivals = nil
	return &outline
}

// Until is the plan of its first n arrivals, where a run was cut.
func (p *Plan) Until(n int) *Plan {
	short := *p
	short.Arrivals, short.Cut = p.Arrivals[:n], true
	short.Phases = slices.Clone(p.Phases)
	for i := range short.Phases {
		short.Phases[i].Planned, short.Phases[i].Wanted = 0, 0
	}
	for _, a := range short.Arrivals {
		short.Phases[a.Phase].Planned++
		short.Phases[a.Phase].Wanted++
	}
	return &short
}

// overloadable refuses a search for the capacity that could find none.
func (p *Plan) overloadable() error {
	switch {
	case p.Overload == 0:
		return nil
	case p.Clock == Virtual:
		return errors.New("nobody is late in virtual time; choose --clock server or client")
	case p.Retries():
		return errors.New("clients that retry set their own rate; leave out retry")
	case len(p.Faults) > 0:
		return errors.New("a fault makes requests late, too; leave out faults")
	}
	for i, phase := range p.Phases {
		if phase.Span <= 0 || i > 0 && phase.Start < p.Phases[i-1].End {
			return errors.New("phase " + phase.Name + " is no step: each phase takes some time and begins when the one before is over")
		}
	}
	return nil
}

// Due is the most arrivals within a length of time, of which one instant counts for so
// many at most.
func (p *Plan) Due(span time.Duration, crowd int) int {
	most, due := 0, 0
	var last, first rank // of the span
	for range p.Arrivals {
		if last.next(p.Arrivals) <= crowd {
			due++
		}
		for first.place < last.place && p.Arrivals[first.place].At <= p.Arrivals[last.place-1].At-span {
			if first.next(p.Arrivals) <= crowd {
				due--
			}
		}
		most = max(most, due)
	}
	return most
}

// rank walks over arrivals and counts those of one instant.
type rank struct{ place, same int }

// next passes one arrival, and is the how-many-eth of its instant it was.
func (r *rank) next(all []Arrival) int {
	if r.place == 0 || all[r.place].At != all[r.place-1].At {
		r.same = 0
	}
	r.place++
	r.same++
	return r.same
}
