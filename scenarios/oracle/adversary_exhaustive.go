package oracle

import (
	"context"
	"slices"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// fewTicks are the windows, in microseconds, in which all schedules are tried,
// by the limit. The longest for a limit has more than two ticks for each unit, so
// that weights and refills can take effect within a window.
var fewTicks = [][]int64{{3}, {3, 5, 8}, {5, 6, 8}, {7, 8}}

// smallSearch is what trying everything has led to.
type smallSearch struct {
	attacks  []Attack
	complete bool
	asked    int64
}

// searchSmall tries all schedules for small limits; for others it does nothing.
func searchSmall(ctx context.Context, a limiter.Algorithm, l limiter.Limit, budget int64) smallSearch {
	s := smallSearch{}
	if l.Max >= int64(len(fewTicks)) {
		return s
	}
	widths := fewTicks[l.Max]
	if width := l.Window.Microseconds(); width <= slices.Max(widths) {
		widths = []int64{width}
	}
	s.complete = true
	for i, width := range widths {
		small := limiter.Limit{Max: l.Max, Window: micros(width)}
		if a.Check != nil && a.Check(small) != nil {
			s.complete = false
			continue
		}
		share := (budget - s.asked) / int64(len(widths)-i)
		x := exhaustion{victim: newVictim(ctx, a, small, share), seen: map[situation]bool{}, end: 2*width - (width+1)/2}
		x.visit(x.algorithm.Model.Init(), -width, 0, nil)
		s.complete = s.complete && !x.exhausted()
		if len(x.best) > 0 {
			s.attacks = append(s.attacks, x.strongest([][]Step{x.best}))
		}
		s.asked += x.asked
	}
	return s
}

// exhaustion tries all schedules from the edge before to the end, depth first.
type exhaustion struct {
	*victim
	seen map[situation]bool
	end  int64 // the last tick
	path []Step
	best []Step
	most int64
}

// visit continues a schedule at a tick at which some requests were admitted
// already. Denials are left out: they change nothing. A schedule that breaks the
// claim is not continued, since a model without any bound would go on for ever.
func (x *exhaustion) visit(state any, at, here int64, live []granted) {
	if x.exhausted() {
		return
	}
	highest := max(x.limit.Max, 1)
	states, decisions := make([]any, highest), make([]limiter.Decision, highest)
	for i := range highest {
		states[i], decisions[i] = x.ask(state, at, i+1)
	}
	s := x.situationOf(state, at, here, live, decisions)
	if x.seen[s] {
		return
	}
	x.seen[s] = true
	for i, d := range decisions {
		if cost := int64(i) + 1; d.Allowed && here < highest {
			x.admit(states[i], granted{at, cost}, here, live)
		}
	}
	if at < x.end {
		x.visit(state, at+1, 0, live)
	}
}

func (x *exhaustion) admit(state any, g granted, here int64, live []granted) {
	x.path = append(x.path, Step{At: micros(g.at), Offered: 1, Admitted: 1, Cost: g.units})
	live = plus(live, g, 2*x.width)
	units := x.trailing(live, g.at)
	if units > x.most {
		x.most, x.best = units, slices.Clone(x.path)
	}
	if units <= x.claimed {
		x.visit(state, g.at, here+1, live)
	}
	x.path = x.path[:len(x.path)-1]
}

// stretched is an attack on a short window for a longer one. The last tick of a
// window remains the last one.
func stretched(a Attack, l limiter.Limit) []Step {
	from, to := a.Limit.Window.Microseconds(), l.Window.Microseconds()
	steps := slices.Clone(a.Steps)
	for i, s := range steps {
		window := scenarios.WindowOf(s.At, a.Limit.Window)
		at := (s.At.Microseconds() - window*from) * (to / from)
		if at == (from-1)*(to/from) {
			at = to - 1
		}
		steps[i].At = micros(window*to + at)
	}
	return steps
}
