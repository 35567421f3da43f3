package oracle

import (
	"cmp"
	"slices"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// unitwise is the largest limit at which a burst is sent unit by unit. Beyond it
// a burst is one request, as dear as is admitted.
const unitwise = 10_000

// move is a schedule so far: its last burst, and what came before.
type move struct {
	before *move
	step   Step
	state  any
	at     int64
	live   []granted // of the last two windows
	most   int64     // units in any trailing window
	worth  float64   // of what is live, see weigh
}

// take is a burst and the state after it.
type take struct {
	step  Step
	state any
}

// takes are what a burst at an instant can be, the preferred one first: all that
// is admitted, unit by unit, or all but one of it, or one, or one request as dear
// as is admitted.
func (v *victim) takes(state any, at int64) []take {
	var all []take
	add := func(offered, admitted, cost int64, state any) {
		all = append(all, take{Step{At: micros(at), Offered: offered, Admitted: admitted, Cost: cost}, state})
	}
	if v.limit.Max <= unitwise {
		states := v.units(state, at)
		n := int64(len(states))
		if n > 0 {
			add(max(n, v.limit.Max), n, 1, states[n-1])
		}
		if n > 2 {
			add(n-1, n-1, 1, states[n-2]) // and the last unit for a dearer request
		}
		if n > 1 {
			add(1, 1, 1, states[0])
		}
	} else if next, d := v.ask(state, at, 1); d.Allowed {
		add(1, 1, 1, next)
	}
	if next, cost := v.dearest(state, at); cost > 1 {
		add(1, 1, cost, next)
	}
	return all
}

// units are the states after one unit, two, and so on until one is denied. Who
// never denies is asked for more than is claimed.
func (v *victim) units(state any, at int64) []any {
	var states []any
	for int64(len(states)) <= max(v.claimed, v.limit.Max) {
		next, d := v.ask(state, at, 1)
		if !d.Allowed {
			break
		}
		state = next
		states = append(states, next)
	}
	return states
}

// dearest finds the largest cost that is admitted as one request, by halving,
// as if whatever is denied were denied at any higher cost too.
func (v *victim) dearest(state any, at int64) (any, int64) {
	after, low, high := state, int64(0), v.limit.Max
	for cost := high; low < high; cost = high - (high-low)/2 {
		if next, d := v.ask(state, at, cost); d.Allowed {
			after, low = next, cost
		} else {
			high = cost - 1
		}
	}
	return after, low
}

// guided is a beam search over bursts at instants that matter.
func (v *victim) guided(o AdversaryOptions) []Step {
	best := &move{state: v.algorithm.Model.Init()}
	seen := map[situation]bool{}
	level := []*move{best}
	for range o.Bursts {
		var next []*move
		for _, m := range level {
			for _, child := range v.children(m) {
				if child.most > best.most {
					best = child
				}
				if s := v.situation(child); !seen[s] {
					seen[s] = true
					next = append(next, child)
				}
			}
		}
		slices.SortStableFunc(next, func(a, b *move) int {
			return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(b.worth, a.worth))
		})
		level = next[:min(len(next), o.Beam)]
	}
	return best.steps()
}

// situation of a schedule, with the decisions about one unit and about all.
func (v *victim) situation(m *move) situation {
	_, one := v.ask(m.state, m.at, 1)
	_, all := v.ask(m.state, m.at, max(v.limit.Max, 1))
	return v.situationOf(m.state, m.at, 0, m.live, []limiter.Decision{one, all})
}

func (m *move) steps() []Step {
	var all []Step
	for ; m.before != nil; m = m.before {
		all = append(all, m.step)
	}
	slices.Reverse(all)
	return all
}

// children are the schedules with one more burst.
func (v *victim) children(m *move) []*move {
	var all []*move
	for _, at := range v.instants(m) {
		if v.exhausted() {
			break
		}
		for _, t := range v.takes(m.state, at) {
			child := &move{before: m, step: t.step, state: t.state, at: at}
			child.live = plus(m.live, granted{at, t.step.units()}, 2*v.width)
			child.most = max(m.most, v.trailing(child.live, at))
			child.worth = v.weigh(child)
			all = append(all, child)
		}
	}
	return all
}

// weigh prefers units that stay in the trailing window for longer.
func (v *victim) weigh(m *move) float64 {
	var worth float64
	for _, g := range m.live {
		if left := g.at + v.width - m.at; left > 0 {
			worth += float64(g.units) * float64(left)
		}
	}
	return worth
}

// instants are when the next burst may pay: as soon as the model would admit
// more, around the next edges, and before or after what was admitted leaves the
// trailing window.
func (v *victim) instants(m *move) []int64 {
	if m.before == nil {
		return []int64{-1, 0, 1, -(v.width + 1) / 2}
	}
	all := []int64{m.at}
	for _, cost := range []int64{1, 2, v.limit.Max / 2, v.limit.Max} {
		if cost < 1 || cost > v.limit.Max {
			continue
		}
		if _, d := v.ask(m.state, m.at, cost); !d.Allowed && d.RetryAfter != limiter.Never {
			all = append(all, m.at+d.RetryAfter.Microseconds())
		}
	}
	edge := (scenarios.WindowOf(micros(m.at), v.limit.Window) + 1) * v.width
	oldest := m.live[slices.IndexFunc(m.live, func(g granted) bool { return g.at > m.at-v.width })].at
	for _, at := range []int64{edge, edge + v.width, oldest + v.width} {
		all = append(all, at-1, at, at+1)
	}
	all = slices.DeleteFunc(all, func(at int64) bool { return at < m.at || at > m.at+2*v.width })
	slices.Sort(all)
	return slices.Compact(all)
}
