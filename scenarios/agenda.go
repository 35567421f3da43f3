package scenarios

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// MaxRetries bounds how often the clients of one run send something again, all
// of them together, so that a limiter that never admits comes to an end. What
// they want comes on top and is bounded by MaxArrivals.
const MaxRetries = 1_000_000

// Agenda is a plan while it is carried out: what is due next, given what the
// limiter said so far. Without clients that retry it is the plan itself.
//
// A client that obeys, or waits a constant time, has one request in flight at
// most; while it waits, what it wants piles up. A client that ignores denials
// sends whatever is due. The zero value is useless; an Agenda is not safe for
// concurrent use.
type Agenda struct {
	plan      *Plan
	now       time.Duration // the last instant that was taken
	next      int           // first arrival of the plan that is not due yet
	again     dueHeap       // retries, and clients that go on
	order     int64
	rng       *rand.Rand
	issued    []Arrival
	retries   int // that were issued or wait in again
	curbed    bool
	abandoned int
	clients   map[client]*sender
}

// client is one key in one phase whose clients retry.
type client struct{ key, phase int32 }

// sender is a client that has at most one request in flight.
type sender struct {
	queue  []int32 // arrivals of the plan that it wants and has not sent
	open   Arrival // what it sent last
	denied bool    // open is to be sent again
	busy   bool    // in flight, or waiting
	gone   bool    // has given up
}

// Retries reports whether clients of the plan retry. Only then is an Agenda
// more than the list of arrivals.
func (p *Plan) Retries() bool {
	return slices.ContainsFunc(p.Phases, func(phase PlannedPhase) bool { return phase.Retry != nil })
}

// NewAgenda starts to carry out a plan.
func NewAgenda(p *Plan) *Agenda {
	// The stream of the phases is numbered from 0; retries have their own.
	return &Agenda{plan: p, now: math.MinInt64, rng: rand.New(rand.NewPCG(p.Seed, 1<<63)), clients: map[client]*sender{}}
}

// Next is the instant at which something is due; false if nothing will be, as
// things stand: an answer that is still out can change that.
func (a *Agenda) Next() (time.Duration, bool) {
	planned := a.next < len(a.plan.Arrivals)
	switch {
	case len(a.again) > 0 && (!planned || a.again[0].at < a.plan.Arrivals[a.next].At):
		return a.again[0].at, true
	case planned:
		return a.plan.Arrivals[a.next].At, true
	}
	return 0, false
}

// Take returns the numbers of the requests that are to be sent at the instant
// that Next told. There may be none: whoever is waiting does not send. From one
// call to the next, instants never decrease.
func (a *Agenda) Take() []int {
	at, ok := a.Next()
	if !ok {
		return nil
	}
	a.now = at
	first := len(a.issued)
	for len(a.again) > 0 && a.again[0].at == at {
		d := heap.Pop(&a.again).(due)
		if d.sender != nil {
			a.goOn(d.sender)
		} else {
			a.issue(d.arrival)
		}
	}
	for ; a.next < len(a.plan.Arrivals) && a.plan.Arrivals[a.next].At == at; a.next++ {
		a.want(int32(a.next))
	}
	numbers := make([]int, len(a.issued)-first)
	for i := range numbers {
		numbers[i] = first + i
	}
	return numbers
}

// want makes an arrival of the plan due.
func (a *Agenda) want(i int32) {
	arrival := a.plan.Arrivals[i]
	retry := a.plan.Phases[arrival.Phase].Retry
	if retry == nil || !retry.alone() {
		a.issue(arrival)
		return
	}
	s := a.sender(arrival)
	switch {
	case s.gone:
		a.abandoned++
	case s.busy:
		s.queue = append(s.queue, i)
	default:
		s.queue = append(s.queue, i)
		a.goOn(s)
	}
}

// sender is the client that sends an arrival.
func (a *Agenda) sender(arrival Arrival) *sender {
	c := client{arrival.Key, a.origin(arrival)}
	if a.clients[c] == nil {
		a.clients[c] = &sender{}
	}
	return a.clients[c]
}

// origin is the phase whose clients sent an arrival, be it a retry or not.
func (a *Agenda) origin(arrival Arrival) int32 {
	if a.plan.Phases[arrival.Phase].RetryOf != "" {
		return arrival.Phase - 1
	}
	return arrival.Phase
}

// goOn sends the next request of a client, if it wants anything.
func (a *Agenda) goOn(s *sender) {
	switch {
	case s.denied:
		s.open.Phase = a.origin(s.open) + 1
	case len(s.queue) == 0:
		s.busy = false
		return
	default:
		s.open = a.plan.Arrivals[s.queue[0]]
		s.queue = s.queue[1:]
	}
	s.busy, s.denied = true, false
	a.issue(s.open)
}

func (a *Agenda) issue(arrival Arrival) {
	arrival.At = a.now
	a.issued = append(a.issued, arrival)
}

// Arrival is a request by its number.
func (a *Agenda) Arrival(i int) Arrival { return a.issued[i] }

// Tell says what became of a request at an instant, which may be later than the
// one at which it was sent, and earlier than the last one that was taken: then
// what follows from it is due at once. It is called once for a request. One
// that was not decided is not sent again: nobody knows whether it was counted.
func (a *Agenda) Tell(i int, at time.Duration, r Result) {
	sent := a.issued[i]
	origin := a.origin(sent)
	phase := a.plan.Phases[origin]
	if phase.Retry == nil {
		return
	}
	at = upToMicro(at)
	again, ok := max(at, a.now), false
	if r.Outcome == Denied {
		again, ok = a.retryAt(phase, at, r.Decision)
	}
	if !phase.Retry.alone() {
		if ok {
			sent.Phase = origin + 1
			a.later(due{at: again, arrival: sent})
		}
		return
	}
	s := a.sender(sent)
	s.denied = ok
	if r.Outcome == Denied && !ok {
		a.abandoned += len(s.queue)
		s.gone, s.queue = true, nil
		return
	}
	a.later(due{at: again, sender: s})
}

// retryAt is when a client tries again after a denial; false if it gives up.
func (a *Agenda) retryAt(p PlannedPhase, at time.Duration, d limiter.Decision) (time.Duration, bool) {
	wait := p.Retry.Wait
	if p.Retry.Mode == "obey" {
		if d.RetryAfter >= p.Retry.Within { // it may be Never, of which no sum can be made
			return 0, false
		}
		wait = d.RetryAfter
		if wait <= 0 { // a limiter that says "at once", or nothing, must not stop the clock
			wait = max(p.Limit.Window/1000, time.Microsecond)
		}
		wait = (wait + p.Retry.Round - 1) / p.Retry.Round * p.Retry.Round
	}
	if p.Retry.Jitter > 0 {
		wait += time.Duration(a.rng.Int64N(p.Retry.Jitter.Microseconds())) * time.Microsecond
	}
	again := max(at+wait, a.now)
	switch {
	case again >= p.Start+p.Retry.Within:
		return 0, false
	case a.retries == MaxRetries:
		a.curbed = true
		return 0, false
	}
	a.retries++
	return again, true
}

// upToMicro rounds up to whole microseconds.
func upToMicro(d time.Duration) time.Duration {
	whole := d.Truncate(time.Microsecond) // towards zero
	if whole < d {
		whole += time.Microsecond
	}
	return whole
}

// Curbed reports whether clients gave up because of MaxRetries: then what was
// measured is not what the scenario asks for.
func (a *Agenda) Curbed() bool { return a.curbed }

// Abandoned counts what clients wanted and never sent because they had given up
// before. It is not part of Plan.
func (a *Agenda) Abandoned() int { return a.abandoned }

// Plan is the plan as it was carried out: every request that was taken, in that
// order, then what is still wanted: what waits for a client's turn, and what of
// the plan was not due yet. A phase ends later than planned if its clients
// waited. Results in the order of their numbers belong to its arrivals.
func (a *Agenda) Plan() *Plan {
	p := *a.plan
	p.Arrivals = slices.Concat(a.issued, a.waiting(), a.plan.Arrivals[a.next:])
	p.Phases = slices.Clone(a.plan.Phases)
	for i := range p.Phases {
		p.Phases[i].Planned = 0
	}
	for _, arrival := range p.Arrivals {
		phase := &p.Phases[arrival.Phase]
		phase.Planned++
		if arrival.At > phase.Start && arrival.At >= phase.End {
			phase.End = arrival.At + time.Microsecond
		}
	}
	return &p
}

// waiting is what was due and waits for its client's turn, as due by now.
func (a *Agenda) waiting() []Arrival {
	var numbers []int32
	for _, s := range a.clients {
		numbers = append(numbers, s.queue...)
	}
	slices.Sort(numbers) // the order of a map is random
	arrivals := make([]Arrival, len(numbers))
	for i, n := range numbers {
		arrivals[i] = a.plan.Arrivals[n]
		arrivals[i].At = a.now
	}
	return arrivals
}
