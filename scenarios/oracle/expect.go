package oracle

import (
	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// Expect is what an algorithm does with a plan if every request is decided at
// its planned instant, by the model alone. It needs no Redis.
func Expect(p *scenarios.Plan, a limiter.Algorithm) *scenarios.Judgement {
	virtual := *p
	virtual.Clock = scenarios.Virtual
	edge := virtual.Edge()
	states := make([]any, p.Keys)
	results := make([]scenarios.Result, len(p.Arrivals))
	for i, arrival := range p.Arrivals {
		if states[arrival.Key] == nil {
			states[arrival.Key] = a.Model.Init()
		}
		state, d := a.Model.Step(p.Limit, states[arrival.Key], limiter.Request{At: edge.Add(arrival.At), Cost: arrival.Cost})
		states[arrival.Key] = state
		results[i] = scenarios.Result{Outcome: scenarios.Denied, Decision: d}
		if d.Allowed {
			results[i].Outcome = scenarios.Admitted
		}
	}
	return measure(&Case{Plan: &virtual, Results: results, Edge: edge})
}
