package limiter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// fallback decides the requests of one budget that Redis did not decide, and
// counts all of them. It is safe for concurrent use.
type fallback struct {
	policy  Failure
	limit   Limit
	shadow  bool   // see Policy
	local   *local // nil unless the policy is FailLocal
	tally   *tally
	circuit *Circuit
	now     func() time.Time
}

// newFallback takes from a valid Config what to do for the budget of that name.
func newFallback(g *guard, name string, a Algorithm, c Config) *fallback {
	f := &fallback{
		policy:  c.OnFailure,
		limit:   c.Limit,
		tally:   g.counters.tally(name),
		circuit: g.circuit,
		now:     c.Now,
	}
	if f.now == nil {
		f.now = time.Now
	}
	if c.OnFailure == FailLocal {
		f.local = newLocal(a.Model, c.localLimit(), cmp.Or(c.LocalKeys, DefaultLocalKeys), &f.tally.forgotten)
	}
	return f
}

// DefaultLocalKeys is how many identities FailLocal remembers unless told.
const DefaultLocalKeys = 100_000

func (c Config) localLimit() Limit {
	return Limit{Max: cmp.Or(c.LocalMax, c.Limit.Max), Window: c.Limit.Window}
}

func (c Config) validateLocal() []error {
	var errs []error
	if c.LocalMax < 0 || c.LocalMax > c.Limit.Max {
		errs = append(errs, fmt.Errorf("local budget %d is outside 1 to that of the limit, %d", c.LocalMax, c.Limit.Max))
	}
	if c.LocalKeys < 0 {
		errs = append(errs, fmt.Errorf("number of local keys %d is negative", c.LocalKeys))
	}
	if c.OnFailure != FailLocal {
		if c.LocalMax != 0 || c.LocalKeys != 0 {
			errs = append(errs, errors.New("LocalMax and LocalKeys are for OnFailure FailLocal"))
		}
	} else if c.Algorithm.Script != "" && c.Algorithm.Model.Step == nil {
		errs = append(errs, fmt.Errorf("algorithm %s has no model, which FailLocal needs", c.Algorithm.Name))
	}
	return errs
}

// decide applies the policy. A caller who gave up gets the cause: nobody waits
// for an answer. Only a charge changes the local state.
func (f *fallback) decide(ctx context.Context, r Request, charge bool, cause error) (Decision, error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		f.tally.undecided.Add(1)
		return Decision{}, cause
	}
	d, err := f.apply(r, charge, cause)
	f.circuit.decided(d, err)
	if err != nil {
		f.tally.undecided.Add(1)
		return Decision{}, err
	}
	f.tally.count(d)
	return d, nil
}

func (f *fallback) apply(r Request, charge bool, cause error) (Decision, error) {
	d := Decision{Limit: f.limit.Max, At: r.At}
	switch f.policy {
	case FailOpen:
		d.Allowed, d.Source = true, SourceFailOpen
	case FailClosed:
		d.Source = SourceFailClosed
	case FailLocal:
		if r.At.IsZero() {
			r.At = f.now()
		}
		d = f.local.decide(r, charge)
		d.Source = SourceLocal
	default:
		return Decision{}, cause
	}
	d.Cause, d.Shadow = cause, f.shadow
	return d, nil
}

// decideAll is decide for a request that several budgets have to admit, each with
// its own Request: all that admit are charged, or none. The budgets must be used
// in no other way.
func (g *guard) decideAll(ctx context.Context, budgets []*fallback, rs []Request, charge bool, cause error) ([]Decision, error) {
	g.joint.Lock()
	defer g.joint.Unlock()
	gone := errors.Is(ctx.Err(), context.Canceled)
	all := make([]Decision, len(budgets))
	for i, f := range budgets {
		d, err := f.apply(rs[i], false, cause)
		if gone || err != nil {
			for _, f := range budgets {
				f.tally.undecided.Add(1)
			}
			if !gone {
				g.circuit.decided(Decision{}, cause)
			}
			return nil, cause
		}
		all[i] = d
	}
	admitted := Allowed(all)
	for i, f := range budgets {
		if admitted && charge && all[i].Allowed {
			rs[i].At = all[i].At                    // the clock has gone on
			all[i], _ = f.apply(rs[i], true, cause) // so this cannot differ: we hold the lock
		}
		f.tally.count(all[i])
	}
	g.circuit.decided(Decision{Allowed: admitted}, nil)
	return all, nil
}

// spared counts a decision of Redis, and lets go of local state that has had its
// time.
func (f *fallback) spared(d Decision) {
	f.tally.count(d)
	if f.local != nil {
		f.local.tidy(d.At)
	}
}

// forget forgets what an identity has used of the local budget.
func (f *fallback) forget(r Request) {
	if f.local != nil {
		f.local.forget(r)
	}
}
