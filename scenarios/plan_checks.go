package scenarios

import (
	"fmt"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
)

// oneAtATime refuses faults of the server that overlap: one has to be over before
// another can be made.
func (p *Plan) oneAtATime() error {
	for i, a := range p.Faults {
		for _, b := range p.Faults[i+1:] {
			apart := a.End <= b.At || b.End <= a.At
			if !a.Of().Connection && !b.Of().Connection && !apart {
				return fmt.Errorf("faults: %s at %s and %s at %s overlap; of those of the server only one can be in force", a.Kind, Offset(a.At), b.Kind, Offset(b.At))
			}
		}
	}
	return nil
}

// twoNames refuses clients with more than two names that count together: a limiter
// is told two.
func (p *Plan) twoNames() error {
	others := map[int32]int32{}
	for _, phase := range p.Phases {
		if phase.Also == nil || *phase.Also == phase.Pseudonym {
			continue
		}
		for _, pair := range [][2]int32{{phase.Pseudonym, *phase.Also}, {*phase.Also, phase.Pseudonym}} {
			if other, known := others[pair[0]]; known && other != pair[1] {
				return fmt.Errorf("phase %s: pseudonym %d counts together with %d and with %d; a limiter is told two names at most", phase.Name, pair[0], other, pair[1])
			}
			others[pair[0]] = pair[1]
		}
	}
	return nil
}

// edgeTier is the coarse tier in numbers; nil if there is none.
func (s *Scenario) edgeTier() (*edge.Config, error) {
	if s.EdgeTier == nil || !s.EdgeMax.Present() {
		return s.EdgeTier, nil
	}
	n, err := evalCount(s.EdgeMax, s.Limit, 1, edge.MaxLimit)
	if err != nil {
		return nil, err
	}
	c := *s.EdgeTier
	c.Limit = limiter.Limit{Max: n, Window: s.Limit.Window}
	return &c, c.Validate()
}
