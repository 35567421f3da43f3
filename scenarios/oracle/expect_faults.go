package oracle

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
	"github.com/rlbench/rlbench/scenarios"
)

// fate is what a fault does to a request.
type fate int

const (
	decides     fate = iota // nothing
	refuses                 // the request is not decided, and certainly not counted
	breaks                  // it is not decided, and the client cannot tell
	loses                   // it is decided, and the client does not learn how
	cannotWrite             // it is decided if that needs no write, else refused
)

// fates are what faults of each kind do to the requests that they hit; others only
// take time.
var fates = map[string]fate{
	"outage": refuses, "acl": refuses, "password": refuses, "loading": refuses,
	"reset": breaks, "partial": breaks, "lost-reply": loses, "readonly": cannotWrite, "oom": cannotWrite,
}

// world is the state of a limiter as faults change it, in virtual time.
type world struct {
	states map[scenarios.Identity]any
	local  map[scenarios.Identity]any // of the process, while Redis is away
	tier   *edge.Binding              // in front; nil is none
	faults []*activeFault             // all of the plan
	events []scenarios.FaultEvent     // that are still to come
	active []*activeFault
}

// activeFault is a fault between its begin and its end.
type activeFault struct {
	scenarios.PlannedFault
	operations, hits int64
	before           map[scenarios.Identity]any // of one that loses what comes after
}

func newWorld(p *scenarios.Plan) *world {
	w := &world{states: map[scenarios.Identity]any{}, local: map[scenarios.Identity]any{}, events: p.FaultEvents()}
	for _, f := range p.Faults {
		w.faults = append(w.faults, &activeFault{PlannedFault: f})
	}
	if p.EdgeTier != nil {
		c := *p.EdgeTier
		c.Seed = p.Seed
		w.tier, _ = edge.New(c) // a plan's configuration is valid
	}
	return w
}

// advance makes and lifts what is due before anything is sent at an instant.
func (w *world) advance(to time.Duration) {
	for ; len(w.events) > 0 && w.events[0].At <= to; w.events = w.events[1:] {
		f := w.faults[w.events[0].Fault]
		begins, loss := !w.events[0].Ends, f.Of().Loss
		if begins {
			w.active = append(w.active, f)
		} else {
			w.active = slices.DeleteFunc(w.active, func(a *activeFault) bool { return a == f })
		}
		switch {
		case begins && loss == scenarios.LosesAll:
			w.states = map[scenarios.Identity]any{}
		case begins && loss == scenarios.LosesTail:
			f.before = maps.Clone(w.states)
		case loss == scenarios.LosesTail:
			w.states = f.before
		}
	}
}

// strike is what becomes of the next request: what the fault does that is longest
// in force.
func (w *world) strike() fate {
	first := decides
	for _, a := range w.active {
		a.operations++
		missed := a.Every > 1 && a.operations%a.Every != 0 || a.Hits > 0 && a.hits >= a.Hits
		if f := fates[a.Kind]; f != decides && !missed && first == decides {
			a.hits++
			first = f
		}
	}
	return first
}

// decide is what a client learns of a request, and what it changes.
func (w *world) decide(a limiter.Algorithm, p *scenarios.Plan, id scenarios.Identity, l limiter.Limit, r limiter.Request) scenarios.Result {
	if w.tier != nil {
		d, err := w.tier.Allow(context.Background(), limiter.Request{Key: strconv.Itoa(int(id.Key)), At: r.At})
		if err == nil && !d.Allowed {
			return resultOf(d)
		}
	}
	state := w.states[id]
	if state == nil {
		state = a.Model.Init()
	}
	next, d := a.Model.Step(l, state, r)
	what := w.strike()
	if what == decides || what == loses || what == cannotWrite && !d.Allowed {
		w.states[id] = next
	}
	switch {
	case what == decides || what == cannotWrite && !d.Allowed:
		return resultOf(d)
	case what == loses || what == breaks:
		return w.fall(a, p, id, l, r, scenarios.Unknown, limiter.ErrUnknown)
	}
	return w.fall(a, p, id, l, r, scenarios.Errored, errExpected)
}

// fall is what the failure policy makes of a request that Redis does not answer.
func (w *world) fall(
	a limiter.Algorithm, p *scenarios.Plan, id scenarios.Identity, l limiter.Limit, r limiter.Request, outcome scenarios.Outcome, cause error,
) scenarios.Result {
	d := limiter.Decision{Limit: l.Max, At: r.At, Cause: cause}
	switch p.OnFailure {
	case "open":
		d.Allowed, d.Source = true, limiter.SourceFailOpen
	case "closed":
		d.Source = limiter.SourceFailClosed
	case "local":
		state := w.local[id]
		if state == nil {
			state = a.Model.Init()
		}
		w.local[id], d = a.Model.Step(l, state, r)
		d.Source, d.Cause = limiter.SourceLocal, cause
	default:
		return scenarios.Result{Outcome: outcome, Err: cause}
	}
	return resultOf(d)
}

func resultOf(d limiter.Decision) scenarios.Result {
	return scenarios.Result{Outcome: scenarios.OutcomeOf(d), Decision: d}
}
