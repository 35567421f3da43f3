package tuning

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// binsOfWindow is how many bins a window of the picture has: the picture is of two.
const binsOfWindow = 30

// peakOfLog is the request with which one key asked for most, and what is looked at of it.
type peakOfLog struct {
	key         simulator.Key
	by          simulator.Event
	window      int64
	from, until int64 // of the picture: two windows, of which the peak is in the second
	bin         int64
}

// worst is the peak of one window and key. Its bin ends three quarters into the picture, so
// that the window before it is in the picture, and what comes after.
func (s *study) worst(window time.Duration, key simulator.Key) peakOfLog {
	i := slices.IndexFunc(s.demands.Wanted, func(w simulator.Wanted) bool { return w.Window == window && w.Key == key })
	p := peakOfLog{key: key, by: s.demands.Wanted[i].Peak.By, window: window.Microseconds()}
	p.bin = max(p.window/binsOfWindow, 1)
	p.from = p.by.At - p.by.At%p.bin + p.bin - p.window - p.window/2
	p.until = p.from + 2*p.window/p.bin*p.bin
	return p
}

// risk looks at the windows around the instant at which one client asks for most.
func (s *study) risk(ctx context.Context) error {
	window, key := s.Windows[0], s.Keys[0]
	choices := s.doc.Choices()
	if len(choices) > 0 {
		window, key = micros(choices[0].Policy.WindowUS), simulator.Key(choices[0].Policy.Key)
	}
	p := s.worst(window, key)
	var mine []int64 // since the key had been idle for long enough for nothing older to matter
	kept := events{most: s.mostEvents(), peak: p.by.At}
	holders := map[uint64]uint32{}
	err := s.play(ctx, s.Config, "looking at the riskiest window", s.Spread, func(events []simulator.Event, requests []trace.Request) error {
		for i, e := range events {
			if e.At >= p.until {
				break
			}
			own := key.Of(&e) == key.Of(&p.by)
			if own {
				if n := len(mine); n > 0 && e.At-mine[n-1] > 2*p.window {
					mine = mine[:0]
				}
				mine = append(mine, e.At)
			}
			if e.At < p.from {
				continue
			}
			kept.add(Event{At: e.At, Holder: holderOf(holders, key.Of(&e)), Route: s.routes[e.Route], Status: requests[i].Status}, own)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r, err := riskiest(mine, p, choices)
	if err != nil {
		return err
	}
	r.Requests, s.doc.Riskiest, s.events = kept.total, r, kept.chosen()
	return nil
}

// holderOf numbers who has a budget, in the order of appearance.
func holderOf(known map[uint64]uint32, key uint64) uint32 {
	n, ok := known[key]
	if !ok {
		n = uint32(len(known))
		known[key] = n
	}
	return n
}

// riskiest plays the requests of one key, in order, through policies, with the models of
// package limiter.
func riskiest(mine []int64, p peakOfLog, choices []report.Choice) (*report.Riskiest, error) {
	r := &report.Riskiest{From: instant(p.from), BinUS: p.bin, WindowUS: p.window, Wanted: make([]int64, (p.until-p.from)/p.bin), Courses: []report.Course{}}
	for _, at := range mine {
		if at >= p.from {
			r.Wanted[(at-p.from)/p.bin]++
		}
	}
	for _, c := range choices {
		course, err := courseOf(mine, p, c.Policy)
		if err != nil {
			return nil, err
		}
		r.Courses = append(r.Courses, course)
	}
	return r, nil
}

// courseOf is what a policy admits over time.
func courseOf(mine []int64, p peakOfLog, policy report.Policy) (report.Course, error) {
	bins := (p.until - p.from) / p.bin
	c := report.Course{Algorithm: policy.Algorithm, Limit: policy.Limit, Admitted: make([]int64, bins), InWindow: make([]int64, bins)}
	m, err := modelOf(policy.Algorithm, policy.Limit, p.window)
	if err != nil {
		return c, err
	}
	var admitted []int64
	for _, at := range mine {
		if !m.admits(at) {
			continue
		}
		admitted = append(admitted, at)
		if at >= p.from {
			c.Admitted[(at-p.from)/p.bin]++
		}
	}
	for i := range c.InWindow {
		c.InWindow[i] = mostWithin(admitted, p.from+int64(i)*p.bin, p.from+int64(i+1)*p.bin, p.window)
	}
	return c, nil
}

// model is the state of one key under a policy.
type model struct {
	algorithm limiter.Algorithm
	limit     limiter.Limit
	state     any
}

func modelOf(algorithm string, limit, window int64) (*model, error) {
	a, ok := limiter.Named(algorithm)
	if !ok {
		return nil, fmt.Errorf("play the riskiest window: no algorithm is called %q", algorithm)
	}
	return &model{a, limiter.Limit{Max: limit, Window: micros(window)}, a.Model.Init()}, nil
}

// admits decides a request, in µs since 1970; they come in order.
func (m *model) admits(at int64) bool {
	var d limiter.Decision
	m.state, d = m.algorithm.Model.Step(m.limit, m.state, limiter.Request{At: time.UnixMicro(at), Cost: 1})
	return d.Allowed
}

// mostWithin is the highest count in the trailing window of an instant of [from, until).
// Counts rise at admissions only, so it is that of one of them or of the first instant.
func mostWithin(admitted []int64, from, until, window int64) int64 {
	behind := func(t int64) int64 { // in (t − window, t]
		low, _ := slices.BinarySearch(admitted, t-window+1)
		high, _ := slices.BinarySearch(admitted, t+1)
		return int64(high - low)
	}
	most := behind(from)
	low, _ := slices.BinarySearch(admitted, from)
	high, _ := slices.BinarySearch(admitted, until)
	for _, t := range admitted[low:high] {
		most = max(most, behind(t))
	}
	return most
}
