package oracle

import (
	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// Expect is what an algorithm does with a plan if every request is decided at
// its planned instant, by the model alone. It needs no Redis. Its Promise is that
// of one clock, even where the senders' differ.
func Expect(p *scenarios.Plan, a limiter.Algorithm) *scenarios.Judgement {
	virtual := *p
	virtual.Clock = scenarios.Virtual
	if p.Clock == scenarios.Server { // one clock, whatever the senders' say
		virtual.Phases = append([]scenarios.PlannedPhase{}, p.Phases...)
		for i := range virtual.Phases {
			virtual.Phases[i].Skew = 0
		}
	}
	edge := virtual.Edge()
	states := map[scenarios.Identity]any{}
	var results []scenarios.Result
	agenda := scenarios.NewAgenda(&virtual)
	for at, ok := agenda.Next(); ok; at, ok = agenda.Next() {
		for _, i := range agenda.Take() {
			arrival := agenda.Arrival(i)
			phase := virtual.Phases[arrival.Phase]
			id := virtual.Identity(arrival)
			if states[id] == nil {
				states[id] = a.Model.Init()
			}
			state, d := a.Model.Step(phase.Limit, states[id], limiter.Request{At: edge.Add(at + phase.Skew), Cost: arrival.Cost})
			states[id] = state
			result := scenarios.Result{Outcome: scenarios.Denied, Decision: d}
			if d.Allowed {
				result.Outcome = scenarios.Admitted
			}
			results = append(results, result)
			agenda.Tell(i, at, result)
		}
	}
	j, perIdentity := measure(&Case{Plan: agenda.Plan(), Results: results, Edge: edge})
	worst := a.Worst(loosest(p))
	j.Promise = &scenarios.Promise{MaxInWindow: worst, Admitted: perIdentity.most, Kept: perIdentity.most <= worst}
	return j
}
