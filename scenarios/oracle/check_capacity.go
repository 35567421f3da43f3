package oracle

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// capacityOf finds the fastest step in which one request in a hundred had to wait less
// than the scenario calls an overload, planned to done, before the first of which that
// is not true; nil where nobody looks for it.
func capacityOf(c *Case) *scenarios.Capacity {
	if c.Plan.Overload == 0 {
		return nil
	}
	waits := make([][]time.Duration, len(c.Plan.Phases))
	rates := ratesOf(c.Plan)
	for i, r := range c.Results.All() {
		if r.Outcome.Decided() {
			phase := c.Plan.Arrivals[i].Phase
			waits[phase] = append(waits[phase], r.Done-r.Planned)
		}
	}
	found := &scenarios.Capacity{}
	for i := range c.Plan.Phases {
		if len(waits[i]) == 0 {
			break
		}
		slices.Sort(waits[i])
		at := func(q int) time.Duration { return waits[i][(len(waits[i])-1)*q/100] }
		last := i+1 == len(c.Plan.Phases) || c.Plan.Phases[i+1].Planned == 0
		if at(99) > c.Plan.Overload || c.Plan.Cut && last {
			found.Overload = rates[i]
			break
		}
		found.PerSecond, found.P50, found.P99 = rates[i], at(50), at(99)
	}
	return found
}

// ratesOf are the requests a second of each phase, as far as the plan goes.
func ratesOf(p *scenarios.Plan) []int64 {
	type stretch struct {
		first, last time.Duration
		gaps        int64
	}
	stretches := make([]stretch, len(p.Phases))
	for i, a := range p.Arrivals {
		s := &stretches[a.Phase]
		if i == 0 || p.Arrivals[i-1].Phase != a.Phase {
			*s = stretch{first: a.At}
		} else {
			s.gaps++
		}
		s.last = a.At
	}
	rates := make([]int64, len(p.Phases))
	for i, s := range stretches {
		if s.last > s.first {
			rates[i] = int64(math.Round(float64(s.gaps) / (s.last - s.first).Seconds()))
		}
	}
	return rates
}

// capacity tells what was found. Nothing is promised, so nothing can fail.
func capacity(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	found := j.Measures.Capacity
	switch {
	case found == nil || partial(c, j):
		return nil
	case found.PerSecond == 0:
		return []scenarios.Finding{inconclusive(j, "capacity", "overloaded-at-once",
			fmt.Sprintf("%s: one request in a hundred waited longer than %s at the lowest rate already", c.Name, c.Plan.Overload), "begin with a lower rate")}
	case found.Overload == 0:
		return passed("capacity", "%s keeps up with %d requests a second, which is the highest rate of the scenario", c.Name, found.PerSecond)
	}
	return passed("capacity", "%s keeps up with %d requests a second, and not with %d", c.Name, found.PerSecond, found.Overload)
}
