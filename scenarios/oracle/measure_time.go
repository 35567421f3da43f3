package oracle

import (
	"slices"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// crowds finds the most requests that were sent in a short span.
func crowds(c *Case, all []*scenarios.Measures, span time.Duration) {
	sent := make([][]time.Duration, len(all))
	sent[0] = make([]time.Duration, 0, c.Results.Len())
	for i, r := range c.Results.All() {
		if r.Outcome == scenarios.Missed {
			continue
		}
		at := c.Plan.Arrivals[i].At
		if c.Plan.Clock != scenarios.Virtual {
			at = r.Sent
		}
		sent[0] = append(sent[0], at)
		phase := 1 + c.Plan.Arrivals[i].Phase
		sent[phase] = append(sent[phase], at)
	}
	for i, m := range all {
		slices.Sort(sent[i])
		first := 0
		for last, at := range sent[i] {
			for sent[i][first] <= at-span {
				first++
			}
			m.Crowd = max(m.Crowd, int64(last-first+1))
		}
	}
}

// times collects latencies where a check is about them.
func times(c *Case, all []*scenarios.Measures) {
	if !slices.ContainsFunc(c.Checks, scenarios.Check.Timed) {
		return
	}
	for i, r := range c.Results.All() {
		if !r.Outcome.Decided() {
			continue
		}
		for _, m := range []*scenarios.Measures{all[0], all[1+c.Plan.Arrivals[i].Phase]} {
			m.Service = append(m.Service, r.Done-r.Sent)
			if c.Plan.Clock != scenarios.Virtual {
				m.Response = append(m.Response, r.Done-r.Planned)
			}
		}
	}
	for _, m := range all {
		slices.Sort(m.Service)
		slices.Sort(m.Response)
	}
}

// lag sorts how late requests were. Under the virtual clock nothing is late.
func lag(c *Case) scenarios.Lag {
	if c.Plan.Clock == scenarios.Virtual {
		return scenarios.Lag{}
	}
	late := make([]time.Duration, 0, c.Results.Len())
	for _, r := range c.Results.All() {
		if r.Outcome != scenarios.Missed {
			late = append(late, max(r.Sent-r.Planned, 0))
		}
	}
	if len(late) == 0 {
		return scenarios.Lag{}
	}
	slices.Sort(late)
	at := func(q int) time.Duration { return late[(len(late)-1)*q/100] }
	return scenarios.Lag{P50: at(50), P99: at(99), Max: late[len(late)-1]}
}
