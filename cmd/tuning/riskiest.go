package tuning

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
)

// binsOfWindow is how many bins a window of the picture has: the picture is of two.
const binsOfWindow = 30

// riskiest plays the requests of one key around its peak through policies, with the models
// of package limiter. The events are in order, and begin long enough before for nothing
// older to matter; at is the peak, in µs since 1970.
func riskiest(events []simulator.Event, at, window int64, choices []report.Choice) (*report.Riskiest, error) {
	bin := max(window/binsOfWindow, 1)
	from := at - at%bin + bin - window - window/2
	r := &report.Riskiest{From: time.UnixMicro(from).UTC(), BinUS: bin, WindowUS: window, Wanted: make([]int64, 2*window/bin), Courses: []report.Course{}}
	for _, e := range events {
		if i := (e.At - from) / bin; e.At >= from && i < int64(len(r.Wanted)) {
			r.Wanted[i]++
		}
	}
	for _, c := range choices {
		course, err := courseOf(events, from, bin, len(r.Wanted), c.Policy)
		if err != nil {
			return nil, err
		}
		r.Courses = append(r.Courses, course)
	}
	return r, nil
}

// courseOf is what a policy admits over time.
func courseOf(events []simulator.Event, from, bin int64, bins int, p report.Policy) (report.Course, error) {
	c := report.Course{Algorithm: p.Algorithm, Limit: p.Limit, Admitted: make([]int64, bins), InWindow: make([]int64, bins)}
	a, ok := limiter.Named(p.Algorithm)
	if !ok {
		return c, fmt.Errorf("play the riskiest window: no algorithm is called %q", p.Algorithm)
	}
	limit := limiter.Limit{Max: p.Limit, Window: micros(p.WindowUS)}
	state := a.Model.Init()
	var admitted []int64
	for _, e := range events {
		var d limiter.Decision
		state, d = a.Model.Step(limit, state, limiter.Request{At: time.UnixMicro(e.At), Cost: 1})
		if !d.Allowed {
			continue
		}
		admitted = append(admitted, e.At)
		if i := (e.At - from) / bin; e.At >= from && i < int64(bins) {
			c.Admitted[i]++
		}
	}
	for i := range c.InWindow {
		c.InWindow[i] = mostWithin(admitted, from+int64(i)*bin, from+int64(i+1)*bin, p.WindowUS)
	}
	return c, nil
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
