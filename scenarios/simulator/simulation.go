package simulator

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// chunkSize is how many events are decided by all policies before the next ones: what is
// known of them stays in a processor's cache.
const chunkSize = 1 << 13

// Simulation decides events by all policies of a grid. Its memory is bounded by what comes
// in two windows, but for some bytes for each client, network and denied pair of a client
// and a route. It is not safe for concurrent use; Add uses several processors itself.
type Simulation struct {
	grid     Grid
	options  Options
	ladder   ladder
	requests []int64 // by class × group
	seen     int64
	first    int64
	last     int64
	cells    []uint16
	budgets  []*budget
	banks    []*bank // of all budgets
}

// budget is a window and what it is kept for, with one bank an algorithm.
type budget struct {
	window time.Duration
	ledger *ledger
	log    *bank
	banks  map[string]*bank
}

// New makes a simulation, or says everything that is wrong with a grid.
func New(g Grid, o Options) (*Simulation, error) {
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	s := &Simulation{grid: g, options: o, ladder: newLadder(g.Limits)}
	s.requests = make([]int64, o.classes()*o.groups())
	for _, window := range g.Windows {
		for _, key := range g.Keys {
			b := &budget{window: window, ledger: newLedger(window, key), banks: map[string]*bank{}}
			for _, name := range append([]string{limiter.Log.Name}, g.Algorithms...) {
				if a, _ := limiter.Named(name); b.banks[a.Family()] == nil {
					bank := newBank(a.Family(), window.Microseconds(), key, &s.ladder, len(s.requests))
					b.banks[a.Family()] = bank
					s.banks = append(s.banks, bank)
				}
			}
			b.log = b.banks[limiter.Log.Name]
			s.budgets = append(s.budgets, b)
		}
	}
	return s, nil
}

// Add decides more events. If one is out of order or its numbers cannot be, none is taken.
func (s *Simulation) Add(events []Event) error {
	if err := inOrder(events, s.last, s.seen); err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	for len(events) > 0 {
		n := min(len(events), chunkSize)
		s.decide(events[:n])
		events = events[n:]
	}
	return nil
}

// decide decides a chunk: first what is asked for, then who admits it, then how that
// differs from a log.
func (s *Simulation) decide(events []Event) {
	if s.seen == 0 {
		s.first = events[0].At
	}
	c := &chunk{events: events, cells: s.classify(events), seen: s.seen}
	s.seen += int64(len(events))
	s.last = events[len(events)-1].At
	workers := s.options.workers()
	inParallel(workers, len(s.budgets), func(i int) { s.budgets[i].ledger.take(events) })
	per := len(s.banks) / len(s.budgets)
	inParallel(workers, len(s.banks), func(i int) { s.banks[i].decide(c, s.budgets[i/per].ledger.notes) })
	inParallel(workers, len(s.banks), func(i int) {
		if log := s.budgets[i/per].log; s.banks[i] != log {
			s.banks[i].compare(c, log.refused)
		}
	})
}

// classify finds the class and group of events, and counts them.
func (s *Simulation) classify(events []Event) []uint16 {
	s.cells = s.cells[:0]
	groups := s.options.groups()
	for i := range events {
		cell := kindOf(s.options.Class, events[i].Route)*groups + kindOf(s.options.Group, events[i].Client)
		s.requests[cell]++
		s.cells = append(s.cells, uint16(cell))
	}
	return s.cells
}

// Result is what was found so far. More events may follow.
func (s *Simulation) Result() *Result {
	r := &Result{
		Requests: s.seen, First: s.first, Last: s.last,
		Classes: s.options.classes(), Groups: s.options.groups(),
	}
	for _, name := range s.grid.Algorithms {
		a, _ := limiter.Named(name)
		for _, b := range s.budgets {
			age := ofWindow
			if l := (limiter.Limit{Max: 1, Window: b.window}); a.TTL(l) > l.Window+time.Second {
				age = ofTwo
			}
			r.Policies = append(r.Policies, Policies{
				Algorithm: name, Window: b.window, Key: b.ledger.key, Keys: b.ledger.most[age], Holdings: b.ledger.held(),
				Limits: b.banks[a.Family()].policies(s.options, s.requests),
			})
		}
	}
	return r
}

// inParallel does n things that do not touch each other, and waits.
func inParallel(workers, n int, do func(int)) {
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var all sync.WaitGroup
	var next atomic.Int64
	for range workers {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	all.Wait()
}
