package edge

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rlbench/rlbench/limiter"
)

// Tiers are two limiters, of which the second sees only what the first admits.
// It is safe for concurrent use.
type Tiers struct {
	edge, origin           limiter.Limiter
	edgeTally, originTally tally
}

var _ limiter.Limiter = (*Tiers)(nil)

// Front puts a coarse limiter before a precise one. Several origins may share
// one edge, as the budgets of several endpoints behind one ceiling do.
func Front(edge, origin limiter.Limiter) (*Tiers, error) {
	var errs []error
	if edge == nil {
		errs = append(errs, errors.New("no edge limiter"))
	}
	if origin == nil {
		errs = append(errs, errors.New("no origin limiter"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("front: %w", err)
	}
	return &Tiers{edge: edge, origin: origin}, nil
}

// Allow asks the edge, and the origin if the edge admits. A denial of the edge
// is its decision with SourceEdge; everything else is the origin's decision as it
// is. What the origin denies was charged at the edge all the same, as in life.
//
// An error of the edge is returned, and the origin is not asked: whoever wants
// another failure policy gives the edge one.
func (t *Tiers) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	d, err := t.edge.Allow(ctx, r)
	admitted := limiter.Allowed([]limiter.Decision{d}) // a shadow denies nothing
	t.edgeTally.add(admitted, err)
	if err != nil {
		return limiter.Decision{}, fmt.Errorf("edge tier: %w", err)
	}
	if !admitted {
		d.Source = SourceEdge
		return d, nil
	}
	d, err = t.origin.Allow(ctx, r)
	t.originTally.add(limiter.Allowed([]limiter.Decision{d}), err)
	return d, err
}

// Counts is what became of the requests that a tier was asked about.
type Counts struct{ Admitted, Denied, Errored int64 }

// Asked is how many there were.
func (c Counts) Asked() int64 { return c.Admitted + c.Denied + c.Errored }

// Edge counts the requests at the first tier.
func (t *Tiers) Edge() Counts { return t.edgeTally.counts() }

// Origin counts the requests at the second tier.
func (t *Tiers) Origin() Counts { return t.originTally.counts() }

// tally is Counts that many may add to.
type tally struct{ admitted, denied, errored atomic.Int64 }

func (t *tally) add(admitted bool, err error) {
	switch {
	case err != nil:
		t.errored.Add(1)
	case admitted:
		t.admitted.Add(1)
	default:
		t.denied.Add(1)
	}
}

func (t *tally) counts() Counts {
	return Counts{Admitted: t.admitted.Load(), Denied: t.denied.Load(), Errored: t.errored.Load()}
}
