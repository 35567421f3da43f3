package tuning

import (
	"context"
	"slices"
	"time"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// shownRoutes are told apart; the others are one.
const shownRoutes = 15

// wanted measures what is asked for, and from it chooses limits and who is heavy.
func (s *study) wanted(ctx context.Context) error {
	s.doc.Log = s.tuned(len(s.Files))
	s.ask()
	s.doc.Memory.Measured, s.doc.Memory.CheapUntil = s.Measured, smallEncoding
	s.doc.Memory.Below, s.doc.Memory.Above = crossover(s.Measured)
	keys := s.Keys
	if !slices.Contains(keys, simulator.PerClient) {
		keys = append(slices.Clone(keys), simulator.PerClient) // by which heavy clients are told
	}
	byRoute := make([]int64, len(s.routes))
	var second, inSecond int64
	near, err := simulator.NewDemand([]time.Duration{heavySpan}, []simulator.Key{simulator.PerClient}, simulator.Options{})
	if err != nil {
		return err
	}
	demands, err := s.demand(ctx, keys, s.Spread, func(events []simulator.Event) error {
		for i := range events {
			byRoute[events[i].Route]++
			if at := events[i].At / 1e6; at != second {
				second, inSecond = at, 0
			}
			inSecond++
			s.busiest = max(s.busiest, inSecond)
		}
		if slices.Contains(s.Windows, heavySpan) { // then that is measured anyway
			return nil
		}
		return near.Add(events)
	})
	if err != nil {
		return err
	}
	s.demands = demands
	s.classify(byRoute)
	s.tellHeavy(near.Result())
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
		if high, err = s.highest(ctx, high); err != nil {
			return err
		}
		s.Limits = s.computable(ladder(low, high))
	}
	s.doc.Asked.Limits = s.Limits
	return nil
}

// demand plays the log once with one placement; others may look on.
func (s *study) demand(ctx context.Context, keys []simulator.Key, spread trace.Spread, look func([]simulator.Event) error) (*simulator.Demands, error) {
	d, err := simulator.NewDemand(s.Windows, keys, simulator.Options{})
	if err != nil {
		return nil, err
	}
	err = s.play(ctx, s.Config, s.named("measuring demand", spread), spread, func(events []simulator.Event, _ []trace.Request) error {
		if err := look(events); err != nil {
			return err
		}
		return d.Add(events)
	})
	return d.Result(), err
}

// highest is the most that any client asks for of a key in a window, with any placement.
func (s *study) highest(ctx context.Context, high int64) (int64, error) {
	for _, spread := range s.spreads()[1:] {
		d, err := s.demand(ctx, s.Keys, spread, func([]simulator.Event) error { return nil })
		if err != nil {
			return 0, err
		}
		for i := range d.Wanted {
			high = max(high, d.Wanted[i].Peak.Admitted)
		}
	}
	return high, nil
}

// heavySpan is looked at for heavy clients too, whatever windows are tried: a program asks for
// much at once, which a long window hides.
const heavySpan = 10 * time.Second

// tellHeavy finds who is heavy: by the span in which the gap is clearest, or by what was
// stated.
func (s *study) tellHeavy(near *simulator.Demands) {
	h := &s.doc.Heavy
	h.Stated = s.Config.Heavy > 0
	var by *simulator.Wanted
	var clearest gap
	for _, w := range s.spansOfClients(near) {
		g := heavyAbove(w.Clients, w.Seconds)
		if by == nil || g.score > clearest.score || g.score == clearest.score && w.Window < by.Window {
			by, clearest = w, g
		}
	}
	h.WindowUS, h.Above, h.Gap = by.Window.Microseconds(), clearest.above, clearest.ratio
	if h.Stated {
		h.Above, h.Gap = s.Config.Heavy, 0
	}
	s.group, h.Clients = groups(by.Clients, h.Above)
	for client, group := range s.group {
		if group == heavy {
			h.Requests += int64(s.demands.Requests[client])
		}
	}
	s.ordinary = s.doc.Log.Clients - h.Clients
}

// spansOfClients are the demands that may tell who is heavy: those of spans that the log has
// two of; that of the first window if it was stated who is, or if the log has two of none.
func (s *study) spansOfClients(near *simulator.Demands) []*simulator.Wanted {
	var first *simulator.Wanted
	var all []*simulator.Wanted
	for _, demands := range []*simulator.Demands{s.demands, near} {
		for i := range demands.Wanted {
			w := &demands.Wanted[i]
			if w.Key != simulator.PerClient {
				continue
			}
			if w.Window == s.Windows[0] && first == nil {
				first = w
			}
			if len(w.Clients) > 0 && !tooLong(s.doc, w.Window.Microseconds()) {
				all = append(all, w)
			}
		}
	}
	if s.doc.Heavy.Stated || len(all) == 0 {
		return []*simulator.Wanted{first}
	}
	return all
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
