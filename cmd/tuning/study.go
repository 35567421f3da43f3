package tuning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
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
	events   []Event
}

// Tune reads a log once and plays it several times: to find what clients ask for, and then
// once for each placement of requests within a second. Memory is bounded by the window, but
// for some bytes a client. If ctx ends while it reads, what was read is what is studied.
func Tune(ctx context.Context, c Config) (*Study, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	rec, err := read(ctx, &c)
	if rec != nil {
		defer rec.tape.Close()
	}
	interrupted := err != nil && ctx.Err() != nil && rec != nil && rec.tape.Len() > 0
	if err != nil && !interrupted && (rec == nil || !rec.worth(err)) {
		return nil, c.describe(err)
	}
	if rec.tape.Len() == 0 {
		return nil, c.describe(trace.ErrEmpty)
	}
	if !interrupted {
		rec.torn = err
	}
	s := &study{Config: &c, record: rec, doc: &report.Tuning{
		Schema: report.TuningSchema, Verdict: scenarios.Pass, Interrupted: interrupted,
		Reasons: []scenarios.Reason{}, Demands: []report.Demand{}, Routes: []report.Route{}, Policies: []report.Policy{}, Rest: []report.Choice{},
	}}
	if interrupted {
		ctx = context.WithoutCancel(ctx)
	}
	for _, step := range []func(context.Context) error{s.wanted, s.simulate, s.routesAlone, s.risk} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("tune: %w", err)
		}
	}
	s.warn()
	return &Study{Document: s.doc, Riskiest: s.events}, nil
}

// shownRoutes are told apart; the others are one.
const shownRoutes = 15

// wanted measures what is asked for, and from it chooses limits and who is heavy.
func (s *study) wanted(ctx context.Context) error {
	s.doc.Log = s.tuned(len(s.Files))
	windows, keys := s.Windows, s.Keys
	if !slices.Contains(keys, simulator.PerClient) {
		keys = append(slices.Clone(keys), simulator.PerClient) // by which heavy clients are told
	}
	d, err := simulator.NewDemand(windows, keys, simulator.Options{})
	if err != nil {
		return err
	}
	byRoute := make([]int64, len(s.routes))
	var second, inSecond int64
	err = s.play(ctx, s.Config, "measuring demand", s.Spread, func(events []simulator.Event, _ []trace.Request) error {
		for i := range events {
			byRoute[events[i].Route]++
			if at := events[i].At / 1e6; at != second {
				second, inSecond = at, 0
			}
			inSecond++
			s.busiest = max(s.busiest, inSecond)
		}
		return d.Add(events)
	})
	if err != nil {
		return err
	}
	s.demands = d.Result()
	s.classify(byRoute)
	s.tellHeavy()
	low, high := int64(1)<<62, int64(0)
	for i := range s.demands.Wanted {
		w := &s.demands.Wanted[i]
		if !slices.Contains(s.Keys, w.Key) {
			continue
		}
		dist := simulator.Distribute(w.Clients)
		low, high = min(low, int64(dist.Quantile(0.5))), max(high, int64(dist.Quantile(1)))
		s.doc.Demands = append(s.doc.Demands, s.demandOf(w, dist))
	}
	if s.Limits == nil {
		s.Limits = ladder(low, high)
	}
	s.ask()
	return nil
}

// classify makes classes of the busiest routes, by how many requests each has.
func (s *study) classify(counts []int64) {
	order := make([]int, len(counts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(counts[b] - counts[a]) })
	s.class = make([]uint8, len(counts))
	for i, route := range order[:min(len(order), shownRoutes)] {
		s.class[route] = uint8(i + 1)
		s.doc.Routes = append(s.doc.Routes, report.Route{Route: s.routes[route], Requests: counts[route]})
	}
	others := report.Route{}
	for _, route := range order[min(len(order), shownRoutes):] {
		others.Requests += counts[route]
	}
	if others.Requests > 0 {
		s.doc.Routes = append(s.doc.Routes, others)
	}
}

// tellHeavy finds who is heavy, by the first window and client.
func (s *study) tellHeavy() {
	i := slices.IndexFunc(s.demands.Wanted, func(w simulator.Wanted) bool {
		return w.Window == s.Windows[0] && w.Key == simulator.PerClient
	})
	peaks, seconds := s.demands.Wanted[i].Clients, s.demands.Wanted[i].Seconds
	h := &s.doc.Heavy
	if h.Above, h.Stated = s.Config.Heavy, s.Config.Heavy > 0; !h.Stated {
		h.Above, h.Gap = heavyAbove(peaks, seconds)
	}
	s.group, h.Clients = groups(peaks, h.Above)
	for client, group := range s.group {
		if group == heavy {
			h.Requests += int64(s.demands.Requests[client])
		}
	}
	s.ordinary = s.doc.Log.Clients - h.Clients
}

func (s *study) demandOf(w *simulator.Wanted, all simulator.Distribution) report.Demand {
	few := make([]uint32, 0, len(w.Clients))
	for client, peak := range w.Clients {
		if s.group[client] == ordinary {
			few = append(few, peak)
		}
	}
	others := simulator.Distribute(few)
	return report.Demand{
		WindowUS: w.Window.Microseconds(), Key: string(w.Key),
		InWindow: quantiles(all), InSecond: quantiles(simulator.Distribute(w.Seconds)), Ordinary: quantiles(others),
		Curve: curveOf(all, others),
	}
}

func quantiles(d simulator.Distribution) report.Quantiles {
	q := func(share float64) int64 { return int64(d.Quantile(share)) }
	return report.Quantiles{P50: q(0.5), P90: q(0.9), P99: q(0.99), P999: q(0.999), Max: q(1)}
}

// curveOf counts clients by peak, at each peak that there is or, of many, at round steps.
func curveOf(all, few simulator.Distribution) []report.DemandPoint {
	const most = 100
	peaks := slices.Compact(slices.Clone(all))
	curve := []report.DemandPoint{}
	for i, last := 0, 0.0; i < len(peaks); i++ {
		if len(peaks) > most && i > 0 && i < len(peaks)-1 && float64(peaks[i]) < last*1.05 {
			continue
		}
		last = float64(peaks[i])
		curve = append(curve, report.DemandPoint{Peak: int64(peaks[i]), Clients: int64(len(all) - all.Above(peaks[i])), Ordinary: int64(len(few) - few.Above(peaks[i]))})
	}
	return curve
}

// ask notes what is tried.
func (s *study) ask() {
	a := &s.doc.Asked
	a.Untouched, a.MemoryBytes, a.Algorithms, a.Limits = s.Untouched, s.Memory, s.Algorithms, s.Limits
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
	for i, spread := range s.spreads() {
		sim, err := simulator.New(grid, simulator.Options{Group: s.group})
		if err != nil {
			return err
		}
		what := "simulating"
		if i > 0 {
			what = fmt.Sprintf("simulating, spread %s", spread)
		}
		if err := s.play(ctx, s.Config, what, spread, func(events []simulator.Event, _ []trace.Request) error { return sim.Add(events) }); err != nil {
			return err
		}
		policies := policiesOf(sim.Result(), s.Measured, s.busiest)
		if i == 0 {
			s.doc.Policies = policies
		} else {
			widen(s.doc.Policies, policies)
		}
	}
	choose(s.doc, s.ordinary)
	s.doc.Memory.Measured = s.Measured
	s.doc.Memory.CheapUntil = smallEncoding
	s.doc.Memory.Below, s.doc.Memory.Above = crossover(s.Measured)
	return nil
}

// routesAlone is what a budget of each client on each route would be.
func (s *study) routesAlone(ctx context.Context) error {
	options := simulator.Options{Group: s.group, Class: s.class}
	window := []time.Duration{s.Windows[0]}
	keys := []simulator.Key{simulator.PerRoute}
	d, err := simulator.NewDemand(window, keys, options)
	if err != nil {
		return err
	}
	sim, err := simulator.New(simulator.Grid{Algorithms: []string{limiter.Log.Name}, Windows: window, Limits: s.Limits, Keys: keys}, options)
	if err != nil {
		return err
	}
	err = s.play(ctx, s.Config, "looking at routes", s.Spread, func(events []simulator.Event, _ []trace.Request) error {
		return errors.Join(d.Add(events), sim.Add(events))
	})
	if err != nil {
		return err
	}
	classes, policies := d.Result().Wanted[0].Classes, sim.Result()
	for i := range s.doc.Routes {
		r := &s.doc.Routes[i]
		class := i + 1
		if r.Route == "" {
			class = 0
		}
		s.limitRoute(r, classes[class], policies, class)
	}
	return nil
}

// limitRoute finds the least limit for a route, and what it refuses.
func (s *study) limitRoute(r *report.Route, peaks []uint32, result *simulator.Result, class int) {
	all := simulator.Distribute(peaks)
	r.Clients, r.Demand = int64(len(all)), quantiles(all)
	few := make([]uint32, 0, len(peaks))
	for client, peak := range peaks {
		if s.group[client] == ordinary {
			few = append(few, peak)
		}
	}
	needed := int64(simulator.Distribute(few).Quantile(s.Untouched))
	limits := result.Policies[0].Limits
	i := slices.IndexFunc(limits, func(p simulator.Policy) bool { return p.Limit >= needed })
	if i < 0 {
		return
	}
	r.Limit = limits[i].Limit
	for group := range result.Groups {
		r.Refused += limits[i].Cells[class*result.Groups+group].Denied()
	}
}

// risk looks at the window in which one client asks for most.
func (s *study) risk(ctx context.Context) error {
	window, key := s.Windows[0], s.Keys[0]
	choices := s.choices()
	if len(choices) > 0 {
		window, key = micros(choices[0].Policy.WindowUS), simulator.Key(choices[0].Policy.Key)
	}
	i := slices.IndexFunc(s.demands.Wanted, func(w simulator.Wanted) bool { return w.Window == window && w.Key == key })
	peak := s.demands.Wanted[i].Peak
	from, until := peak.By.At-3*window.Microseconds(), peak.By.At+window.Microseconds()
	var mine []simulator.Event
	total := int64(0)
	err := s.play(ctx, s.Config, "looking at the riskiest window", s.Spread, func(events []simulator.Event, requests []trace.Request) error {
		for i, e := range events {
			if e.At < from || e.At > until {
				continue
			}
			if sameKey(key, e, peak.By) {
				mine = append(mine, e)
			}
			if e.At > peak.By.At-window.Microseconds() && e.At <= peak.By.At {
				total++
				s.note(e, requests[i])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r, err := riskiest(mine, peak.By.At, window.Microseconds(), choices)
	if err != nil {
		return err
	}
	r.Requests = total
	s.doc.Riskiest = r
	return nil
}

// note keeps a request of the riskiest window, as far as a scenario has room.
func (s *study) note(e simulator.Event, q trace.Request) {
	if len(s.events) < scenarios.MaxArrivals {
		s.events = append(s.events, Event{At: e.At, Client: e.Client, Route: s.routes[e.Route], Status: q.Status})
	}
}

// choices are the recommendation, the runner-up and the rest.
func (s *study) choices() []report.Choice {
	var all []report.Choice
	for _, c := range []*report.Choice{s.doc.Recommended, s.doc.RunnerUp} {
		if c != nil {
			all = append(all, *c)
		}
	}
	return append(all, s.doc.Rest...)
}

func sameKey(key simulator.Key, a, b simulator.Event) bool {
	switch key {
	case simulator.PerRoute:
		return a.Client == b.Client && a.Route == b.Route
	case simulator.PerPrefix:
		return a.Network == b.Network
	}
	return a.Client == b.Client
}
