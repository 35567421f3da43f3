package runner

import (
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// misplaced counts decisions that real time put elsewhere than planned: into
// another window, or before a phase that was to be over. The virtual clock
// misses nothing.
func (r *run) misplaced() int {
	if r.Plan.Clock == scenarios.Virtual || r.Plan.Overload > 0 {
		return 0 // what comes late there is what was looked for
	}
	over := r.overBefore()
	n := 0
	for i, result := range r.results.All() {
		if !result.Outcome.Decided() {
			continue
		}
		if r.saboteur.delayed(result) {
			continue // late on purpose
		}
		if r.outside(i, result) || r.begun(result) < over[r.Plan.Arrivals[i].Phase] {
			n++
		}
	}
	return n
}

// outside reports whether a decision fell into another window than planned. Only
// what is planned inside one window, repetition by repetition, has a right one.
func (r *run) outside(i int, result scenarios.Result) bool {
	arrival, width := r.Plan.Arrivals[i], r.Plan.Limit.Window
	phase := r.Plan.Phases[arrival.Phase]
	start := phase.Start
	if phase.Period > 0 {
		start += (arrival.At - phase.Start) / phase.Period * phase.Period
	}
	last := max(start, start+phase.Span-time.Microsecond)
	planned := scenarios.WindowOf(arrival.At, width)
	if phase.RetryOf != "" || scenarios.WindowOf(start, width) != scenarios.WindowOf(last, width) {
		return false
	}
	instant := result.Decision.At.Sub(r.edge)
	if r.Plan.Clock == scenarios.Client {
		instant -= phase.Skew
	}
	landed := scenarios.WindowOf(instant, width)
	if r.Plan.Clock == scenarios.Client && landed == planned {
		// The stamp is in time, but the request may have been overtaken by one of the
		// next window: it has to be over before that begins.
		landed = scenarios.WindowOf(arrival.At+result.Done-result.Planned, width)
	}
	return landed != planned
}

// overBefore is, for each phase, when the last request was decided of those
// phases that are planned to be over when it begins. Who plans a microsecond
// between them gets that order from the virtual clock only.
func (r *run) overBefore() []time.Duration {
	const never = time.Duration(-1 << 62)
	ends := make([]time.Duration, len(r.Plan.Phases))
	over := make([]time.Duration, len(r.Plan.Phases))
	for i := range ends {
		ends[i], over[i] = never, never
	}
	for i, result := range r.results.All() {
		if result.Outcome.Decided() {
			phase := r.Plan.Arrivals[i].Phase
			ends[phase] = max(ends[phase], r.ended(result))
		}
	}
	for q, later := range r.Plan.Phases {
		for p, earlier := range r.Plan.Phases {
			if earlier.RetryOf == "" && later.RetryOf == "" && earlier.End <= later.Start && earlier.Start < later.Start {
				over[q] = max(over[q], ends[p])
			}
		}
	}
	return over
}

// begun and ended are the earliest and the latest instant at which a request can
// have been decided: the server told it, or it lies between sending and reply.
func (r *run) begun(result scenarios.Result) time.Duration {
	if r.Plan.Clock == scenarios.Server {
		return result.Decision.At.Sub(r.edge)
	}
	return result.Sent
}

func (r *run) ended(result scenarios.Result) time.Duration {
	if r.Plan.Clock == scenarios.Server {
		return result.Decision.At.Sub(r.edge)
	}
	return result.Done
}
