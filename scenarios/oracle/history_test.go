package oracle_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// edge is a multiple of every window that the tests use.
var edge = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// event is one request of a history that is written by hand.
type event struct {
	at      time.Duration // of the decision, from the edge
	outcome scenarios.Outcome
	cost    int64 // 0 means 1
	key     int32
	phase   int32 // 0 or 1: "first" or "second"
}

// caseOf makes a case of events, one after the other. It claims to be no
// algorithm, and tells no more than admitted or denied.
func caseOf(l limiter.Limit, events ...event) *oracle.Case {
	c := &oracle.Case{
		Plan: &scenarios.Plan{
			Scenario: "test", Limit: l, Clock: scenarios.Virtual, Keys: 1,
			Phases: []scenarios.PlannedPhase{{Name: "first", End: time.Hour, Limit: l}, {Name: "second", End: time.Hour, Limit: l}},
		},
		Edge: edge, Name: "tested",
	}
	for i, e := range events {
		c.Plan.Keys = max(c.Plan.Keys, int(e.key)+1)
		c.Plan.Phases[e.phase].Planned++
		c.Plan.Arrivals = append(c.Plan.Arrivals, scenarios.Arrival{At: e.at, Cost: max(e.cost, 1), Key: e.key, Phase: e.phase})
		r := scenarios.Result{Outcome: e.outcome}
		if e.outcome != scenarios.Missed {
			r.Sent, r.Done = time.Duration(10*i)*us, time.Duration(10*i+5)*us
		}
		switch e.outcome {
		case scenarios.Admitted, scenarios.Denied:
			r.Decision = limiter.Decision{Allowed: e.outcome == scenarios.Admitted, Limit: l.Max, At: edge.Add(e.at)}
		case scenarios.Errored:
			r.Err = errors.New("ERR broken script")
		case scenarios.Unknown:
			r.Err = fmt.Errorf("%w: i/o timeout", limiter.ErrUnknown)
		}
		c.Results = append(held(c), r)
	}
	return c
}

// admitted and denied are single requests of cost 1.
func admitted(at time.Duration) event { return event{at: at, outcome: scenarios.Admitted} }

func denied(at time.Duration) event { return event{at: at, outcome: scenarios.Denied} }

// times repeats an event.
func times(n int, e event) []event { return slices.Repeat([]event{e}, n) }

func judge(t testing.TB, c *oracle.Case) *scenarios.Judgement {
	t.Helper()
	j, err := oracle.Judge(c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// finding is the one finding of a check; the zero Finding if there is none.
func finding(t testing.TB, j *scenarios.Judgement, check string) scenarios.Finding {
	t.Helper()
	var found []scenarios.Finding
	for _, f := range j.Findings {
		if f.Check == check {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return scenarios.Finding{}
	case 1:
		return found[0]
	}
	t.Fatalf("%d findings of %s: %+v", len(found), check, found)
	return scenarios.Finding{}
}

// codes are the codes of all reasons.
func codes(j *scenarios.Judgement) []string {
	var all []string
	for _, r := range j.Reasons {
		all = append(all, r.Code)
	}
	return all
}

// order says how a simulated run relates sending, deciding and stamping.
type order struct {
	name string
	// span is how long a request may be under way, and step how far apart
	// requests are sent on average: together they give the concurrency.
	span, step time.Duration
	clock      scenarios.Clock
	// stamp is the instant that decides, given when the request was sent, when it
	// was decided and when its group was planned.
	stamp func(sent, decided, planned time.Duration) time.Duration
}

// The clocks, as a runner uses them.
var orders = []order{
	{"one after the other", 0, 50 * us, scenarios.Virtual, func(_, _, planned time.Duration) time.Duration { return planned }},
	{"groups of one instant", 40 * us, 2 * us, scenarios.Virtual, func(_, _, planned time.Duration) time.Duration { return planned }},
	{"server", 30 * us, 5 * us, scenarios.Server, func(_, decided, _ time.Duration) time.Duration { return decided }},
	{"server with ties", 30 * us, 5 * us, scenarios.Server, func(_, decided, _ time.Duration) time.Duration { return decided.Truncate(7 * us) }},
	{"client", 20 * us, 8 * us, scenarios.Client, func(sent, _, _ time.Duration) time.Duration { return sent }},
	{"client ahead and behind", 16 * us, 10 * us, scenarios.Client, func(sent, _, _ time.Duration) time.Duration {
		return sent + time.Duration(int64(sent/us)*7919%61-30)*us
	}},
}

// simulate runs a sound limiter: n requests of up to maxCost units to each of
// the keys, decided by the model in a random order that the times allow.
func simulate(r *rand.Rand, a limiter.Algorithm, l limiter.Limit, o order, n, keys int, maxCost int64) *oracle.Case {
	type request struct {
		sent, done, decided, planned time.Duration
		key                          int32
		cost                         int64
	}
	all := make([]request, n)
	var now, planned time.Duration
	for i := range all {
		now += time.Duration(r.Int64N(int64(2*o.step/us)+1)) * us
		if o.clock == scenarios.Virtual && r.IntN(8) == 0 {
			now += o.span + us // a group is over before the next begins
			planned += time.Duration(r.Int64N(int64(l.Window/us))) * us
		}
		if o.span == 0 {
			now += us
			planned += time.Duration(r.Int64N(int64(l.Window/us/2))) * us
		}
		latency := time.Duration(r.Int64N(int64(o.span/us)+1)) * us
		all[i] = request{
			sent: now, done: now + latency, decided: now + time.Duration(r.Int64N(int64(latency/us)+1))*us,
			planned: planned, key: int32(r.IntN(keys)), cost: 1 + r.Int64N(maxCost),
		}
		if o.span == 0 {
			now = all[i].done
		}
	}
	c := caseOf(l)
	c.Algorithm, c.Tells, c.Plan.Clock, c.Plan.Keys = &a, scenarios.TellsAll, o.clock, keys
	c.Results = make(scenarios.ResultList, n)
	sequence := r.Perm(n) // breaks ties of the instant at random
	slices.SortStableFunc(sequence, func(x, y int) int { return int(all[x].decided - all[y].decided) })
	states := map[int32]any{}
	for _, i := range sequence {
		q := all[i]
		if states[q.key] == nil {
			states[q.key] = a.Model.Init()
		}
		at := o.stamp(q.sent, q.decided, q.planned)
		state, d := a.Model.Step(l, states[q.key], limiter.Request{At: edge.Add(at), Cost: q.cost})
		states[q.key] = state
		held(c)[i] = scenarios.Result{Planned: q.sent, Sent: q.sent, Done: q.done, Outcome: scenarios.Denied, Decision: d}
		if d.Allowed {
			held(c)[i].Outcome = scenarios.Admitted
		}
	}
	for _, q := range all {
		c.Plan.Arrivals = append(c.Plan.Arrivals, scenarios.Arrival{At: q.planned, Cost: q.cost, Key: q.key})
	}
	c.Plan.Phases[0].Planned = int64(n)
	return c
}
