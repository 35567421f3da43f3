package tuning

import (
	"context"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
	"github.com/rlbench/rlbench/scenarios/trace"
)

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

// routesAlone is what a budget of each client on each route would be: first what is asked
// for, and then what the limits refuse that follow from it.
func (s *study) routesAlone(ctx context.Context) error {
	options := simulator.Options{Group: s.group, Class: s.class}
	windows, keys := []time.Duration{s.Windows[0]}, []simulator.Key{simulator.PerRoute}
	d, err := simulator.NewDemand(windows, keys, options)
	if err != nil {
		return err
	}
	err = s.play(ctx, s.Config, "looking at routes", s.Spread, func(events []simulator.Event, _ []trace.Request) error { return d.Add(events) })
	if err != nil {
		return err
	}
	limits := s.limitRoutes(d.Result().Wanted[0].Classes)
	if s.routed = len(limits) == 0; s.routed {
		return nil
	}
	sim, err := simulator.New(simulator.Grid{Algorithms: []string{limiter.Log.Name}, Windows: windows, Limits: limits, Keys: keys}, options)
	if err != nil {
		return err
	}
	err = s.play(ctx, s.Config, "limiting routes", s.Spread, func(events []simulator.Event, _ []trace.Request) error { return sim.Add(events) })
	if err != nil {
		return err
	}
	s.routed = true
	result := sim.Result()
	for i := range s.doc.Routes {
		r := &s.doc.Routes[i]
		if at := slices.Index(limits, r.Limit); at >= 0 {
			for group := range result.Groups {
				r.Refused += result.Policies[0].Limits[at].Cells[s.classOf(i)*result.Groups+group].Denied()
			}
		}
	}
	return nil
}

// classOf is the class of a route of the report: that of all others is 0.
func (s *study) classOf(i int) int {
	if s.doc.Routes[i].Route == "" {
		return 0
	}
	return i + 1
}

// limitRoutes finds the least limit for each route, and gives all of them from the lowest
// up. Without limits that were asked for they are round ones.
func (s *study) limitRoutes(classes [][]uint32) (limits []int64) {
	for i := range s.doc.Routes {
		r, peaks := &s.doc.Routes[i], classes[s.classOf(i)]
		all := simulator.Distribute(peaks)
		r.Clients, r.Demand = int64(len(all)), quantiles(all)
		few := make([]uint32, 0, len(peaks))
		for client, peak := range peaks {
			if s.group[client] == ordinary {
				few = append(few, peak)
			}
		}
		needed := int64(simulator.Distribute(few).Quantile(s.Untouched))
		if needed == 0 {
			continue // only heavy clients ask for it
		}
		steps := s.Limits
		if !s.stated {
			steps = ladder(needed, needed)
		}
		if at, _ := slices.BinarySearch(steps, needed); at < len(steps) {
			r.Limit = steps[at]
			limits = append(limits, r.Limit)
		}
	}
	slices.Sort(limits)
	return slices.Compact(limits)
}
