package oracle

import (
	"errors"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// errExpected is the error of a request that a fault refuses.
var errExpected = errors.New("refused on purpose")

// Expect is what an algorithm does with a plan if every request is decided at
// its planned instant, by the model alone. It needs no Redis. Its Promise is that
// of one clock, even where the senders' differ. Faults do what they do when time is
// virtual: they refuse, lose and forget, and take no time. The error is that of a log
// on disk that cannot be read.
func Expect(p *scenarios.Plan, a limiter.Algorithm) (*scenarios.Judgement, error) {
	virtual := *p
	virtual.Clock = scenarios.Virtual
	if p.Clock == scenarios.Server { // one clock, whatever the senders' say
		virtual.Phases = append([]scenarios.PlannedPhase{}, p.Phases...)
		for i := range virtual.Phases {
			virtual.Phases[i].Skew = 0
		}
	}
	edge := virtual.Edge()
	w := newWorld(&virtual)
	results := scenarios.NewLog(0)
	defer results.Close()
	agenda := scenarios.NewAgenda(&virtual)
	for at, ok := agenda.Next(); ok; at, ok = agenda.Next() {
		for _, i := range agenda.Take() {
			arrival := agenda.Arrival(i)
			phase := virtual.Phases[arrival.Phase]
			id := virtual.Identity(arrival)
			w.advance(at)
			result := w.decide(a, &virtual, id, phase.Limit, limiter.Request{At: edge.Add(at + phase.Skew), Cost: arrival.Cost})
			result.Sent = time.Duration(results.Told()) // one after the other
			result.Done = result.Sent
			results.Append(result)
			agenda.Tell(i, at, result)
		}
	}
	j, perIdentity := measure(&Case{Plan: agenda.Plan(), Results: results, Edge: edge, Tells: scenarios.TellsAll})
	c := &Case{Plan: p, Faults: make([]scenarios.FaultResult, len(p.Faults))}
	for i := range c.Faults {
		c.Faults[i].Made = true
	}
	worst := a.Worst(loosest(p)) + int64(len(losses(c)))*loosest(p).Max
	j.Promise = &scenarios.Promise{MaxInWindow: worst, Admitted: perIdentity.most, Kept: perIdentity.most <= worst}
	return j, results.Err()
}
