package oracle

import (
	"context"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// victim is an algorithm under attack. Instants are microseconds from an edge.
type victim struct {
	ctx       context.Context // of one search, so it is kept here and not passed to every step
	algorithm limiter.Algorithm
	limit     limiter.Limit
	width     int64 // of the window
	edge      int64 // since 1970; the edge around which plans run
	claimed   int64
	asked     int64
	budget    int64 // of asked
}

func newVictim(ctx context.Context, a limiter.Algorithm, l limiter.Limit, budget int64) *victim {
	plan := scenarios.Plan{Limit: l}
	return &victim{
		ctx: ctx, algorithm: a, limit: l, claimed: a.Worst(l), budget: budget,
		width: l.Window.Microseconds(), edge: plan.Edge().UnixMicro(),
	}
}

// ask puts one request to the model.
func (v *victim) ask(state any, at, cost int64) (any, limiter.Decision) {
	v.asked++
	return v.algorithm.Model.Step(v.limit, state, limiter.Request{At: time.UnixMicro(v.edge + at).UTC(), Cost: cost})
}

// exhausted reports whether the search has to end.
func (v *victim) exhausted() bool { return v.asked >= v.budget || v.ctx.Err() != nil }

// granted are units admitted at one instant.
type granted struct{ at, units int64 }

// plus appends units at an instant that is not before any other, and forgets
// what is older than a span. What it is given stays as it is: schedules share it.
func plus(all []granted, g granted, span int64) []granted {
	first := 0
	for first < len(all) && all[first].at <= g.at-span {
		first++
	}
	all = slices.Clone(all[first:])
	if n := len(all); n > 0 && all[n-1].at == g.at {
		all[n-1].units += g.units
		return all
	}
	return append(all, g)
}

// trailing sums the units in (at-width, at].
func (v *victim) trailing(all []granted, at int64) int64 {
	var units int64
	for _, g := range all {
		if g.at > at-v.width {
			units += g.units
		}
	}
	return units
}

// replay sends every single request of a schedule, and says what was admitted
// and the most units in any trailing window. What a search believes counts only
// if its replay confirms it.
func (v *victim) replay(steps []Step) ([]Step, int64) {
	steps = slices.Clone(steps)
	state := v.algorithm.Model.Init()
	var live []granted
	var most int64
	for i := range steps {
		s := &steps[i]
		at := s.At.Microseconds()
		s.Admitted = 0
		for range s.Offered {
			next, d := v.ask(state, at, s.request())
			state = next
			if d.Allowed {
				s.Admitted++
			}
		}
		live = plus(live, granted{at, s.units()}, v.width)
		most = max(most, v.trailing(live, at))
	}
	return steps, most
}

// strongest replays candidates and returns the first of the best ones, without
// the steps that add nothing.
func (v *victim) strongest(candidates [][]Step) Attack {
	best := Attack{Algorithm: v.algorithm.Name, Limit: v.limit, Claimed: v.claimed, Found: -1}
	for _, steps := range candidates {
		if len(steps) == 0 {
			continue
		}
		if steps, found := v.replay(steps); found > best.Found {
			best.Steps, best.Found = steps, found
		}
	}
	for i := len(best.Steps) - 1; i >= 0 && len(best.Steps) > 1; i-- {
		without := slices.Delete(slices.Clone(best.Steps), i, i+1)
		if steps, found := v.replay(without); found >= best.Found {
			best.Steps, best.Found = steps, found
		}
	}
	best.Steps = merged(best.Steps)
	return best
}

// patience is the least attack: one budget at an edge.
func (v *victim) patience() []Step {
	if v.limit.Max > unitwise {
		return []Step{{Offered: 1, Cost: v.limit.Max}}
	}
	return []Step{{Offered: max(v.limit.Max, 1), Cost: 1}}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
