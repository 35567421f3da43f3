package tuning

import (
	"context"
	"fmt"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/simulator"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// Study is a log that was looked at.
type Study struct {
	// Document is the result, but for what only a program knows about itself: its command
	// and its machine.
	Document *report.Tuning
	// Riskiest are the requests of all clients in the riskiest window.
	Riskiest []Event
}

// study is a Study in the making.
type study struct {
	*Config
	*record
	doc      *report.Tuning
	demands  *simulator.Demands
	class    []uint8 // of routes
	group    []uint8 // of clients
	ordinary int64
	busiest  int64 // requests of all clients in the busiest second
	stated   bool  // which limits to try
	routed   bool  // all is known of routes
	left     bool  // something was left out, as nobody wanted to wait
	events   []Event
}

// Tune reads a log once and plays it several times: to find what clients ask for, and then
// once for each placement of requests within a second. Memory is bounded by the window, but
// for some bytes a client, and for eight bytes a request of the riskiest key since it was last
// idle for two windows.
//
// There are two ways to end early. When reading ends, the log ends there if it is being read,
// and else what follows is left out. When ctx ends, what follows is left out in any case. The
// study says so; if nothing was found until then, there is an error instead.
func Tune(ctx, reading context.Context, c Config) (*Study, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	rec, err := read(reading, &c)
	if rec != nil {
		defer rec.tape.Close()
	}
	interrupted := err != nil && reading.Err() != nil && rec != nil && rec.tape.Len() > 0
	if err != nil && !interrupted && (rec == nil || !rec.worth(err)) {
		return nil, c.describe(err)
	}
	if rec.tape.Len() == 0 {
		return nil, c.describe(trace.ErrEmpty)
	}
	if !interrupted {
		rec.torn = err
		both, cancel := context.WithCancel(reading)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		ctx = both
	}
	s := &study{Config: &c, record: rec, stated: c.Limits != nil, doc: &report.Tuning{
		Schema: report.TuningSchema, Verdict: scenarios.Pass, Interrupted: interrupted,
		Reasons: []scenarios.Reason{}, Demands: []report.Demand{}, Routes: []report.Route{}, Policies: []report.Policy{}, Rest: []report.Choice{},
	}}
	if err := s.steps(ctx); err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	s.warn()
	return &Study{Document: s.doc, Riskiest: s.events}, nil
}

// steps are what is to be found out, or what of it was when ctx ended.
func (s *study) steps(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.wanted, s.simulate, s.routesAlone, s.risk} {
		if err := step(ctx); err != nil {
			if ctx.Err() == nil || s.demands == nil {
				return err
			}
			s.doc.Interrupted, s.left = true, true
			if !s.routed { // what was not found out is no zero
				s.doc.Routes = []report.Route{}
			}
			return nil
		}
	}
	return nil
}

// ask notes what is tried.
func (s *study) ask() {
	a := &s.doc.Asked
	a.Untouched, a.MemoryBytes, a.Algorithms, a.Limits = s.Untouched, s.Memory, s.Algorithms, []int64{} // which are known later
	for _, w := range s.Windows {
		a.WindowsUS = append(a.WindowsUS, w.Microseconds())
	}
	for _, k := range s.Keys {
		a.Keys = append(a.Keys, string(k))
	}
	for _, spread := range s.spreads() {
		a.Spreads = append(a.Spreads, string(spread))
	}
}

// spreads are the placements that are tried: all, where nobody knows.
func (s *study) spreads() []trace.Spread {
	all := []trace.Spread{s.Spread}
	if !s.summary.Seconds {
		return all
	}
	for _, spread := range trace.Spreads {
		if spread != s.Spread {
			all = append(all, spread)
		}
	}
	return all
}

// simulate plays the log through all policies, once for each placement.
func (s *study) simulate(ctx context.Context) error {
	grid := simulator.Grid{Algorithms: s.Algorithms, Windows: s.Windows, Limits: s.Limits, Keys: s.Keys}
	var all []report.Policy
	for _, spread := range s.spreads() {
		sim, err := simulator.New(grid, simulator.Options{Group: s.group})
		if err != nil {
			return err
		}
		err = s.play(ctx, s.Config, s.named("simulating", spread), spread, func(events []simulator.Event, _ []trace.Request) error { return sim.Add(events) })
		if err != nil {
			return err
		}
		policies := policiesOf(sim.Result(), s.Measured, s.busiest)
		if all == nil {
			all = policies
		} else {
			widen(all, policies)
		}
	}
	s.doc.Policies = all
	choose(s.doc, s.ordinary)
	return nil
}

// named is what is being done, with the placement if it is another than the first.
func (s *study) named(what string, spread trace.Spread) string {
	if spread == s.Spread {
		return what
	}
	return fmt.Sprintf("%s, spread %s", what, spread)
}
