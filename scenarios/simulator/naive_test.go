package simulator_test

import (
	"time"

	"github.com/rlbench/rlbench/limiter"
	sim "github.com/rlbench/rlbench/scenarios/simulator"
)

// The slow way: each request is decided by the model of each policy, and each figure is
// counted by looking at all requests before.

// naiveDecision is one of one policy.
type naiveDecision struct {
	sim.Event
	key                 [2]uint32
	admitted, log       bool
	again               bool  // a denial after a denial of the key
	inWindow, inSecond  int64 // admitted before it
	demanded, demandedS int64 // requests before it
}

func naiveKey(k sim.Key, e sim.Event) [2]uint32 {
	switch k {
	case "ip":
		return [2]uint32{e.Client}
	case "prefix":
		return [2]uint32{e.Network}
	}
	return [2]uint32{e.Client, e.Route}
}

// naiveDecide decides all events by one policy.
func naiveDecide(events []sim.Event, algorithm string, window time.Duration, limit int64, key sim.Key) []naiveDecision {
	a, _ := limiter.Named(algorithm)
	l, width := limiter.Limit{Max: limit, Window: window}, window.Microseconds()
	states, logs, last := map[[2]uint32]any{}, map[[2]uint32]any{}, map[[2]uint32]bool{}
	var all []naiveDecision
	for _, e := range events {
		d := naiveDecision{Event: e, key: naiveKey(key, e)}
		for _, before := range all {
			if before.key != d.key {
				continue
			}
			for _, c := range []struct {
				span              int64
				admitted, demands *int64
			}{{width, &d.inWindow, &d.demanded}, {1_000_000, &d.inSecond, &d.demandedS}} {
				if before.At > e.At-c.span {
					*c.demands++
					if before.admitted {
						*c.admitted++
					}
				}
			}
		}
		d.admitted, d.log = naiveStep(a, l, states, d.key, e.At), naiveStep(limiter.Log, l, logs, d.key, e.At)
		d.again = !d.admitted && last[d.key]
		last[d.key] = !d.admitted
		all = append(all, d)
	}
	return all
}

func naiveStep(a limiter.Algorithm, l limiter.Limit, states map[[2]uint32]any, key [2]uint32, at int64) bool {
	if states[key] == nil {
		states[key] = a.Model.Init()
	}
	state, decision := a.Model.Step(l, states[key], limiter.Request{At: time.UnixMicro(at)})
	states[key] = state
	return decision.Allowed
}

func naiveKind(kinds []uint8, number uint32) int {
	if int(number) < len(kinds) {
		return int(kinds[number])
	}
	return 0
}

// naivePolicy is everything that is to be known of one policy.
func naivePolicy(all []naiveDecision, limit int64, o sim.Options, classes, groups int) sim.Policy {
	p := sim.Policy{Limit: limit, Cells: make([]sim.Counts, classes*groups), RefusedClients: make([]int64, groups)}
	keys, clients := map[[2]uint32]bool{}, map[uint32]bool{}
	for _, d := range all {
		c := &p.Cells[naiveKind(o.Class, d.Route)*groups+naiveKind(o.Group, d.Client)]
		c.Requests++
		if d.admitted {
			c.Admitted++
			if d.inWindow >= limit {
				c.WrongAdmissions++
			}
			if d.inWindow+1 > p.Peak.Admitted {
				p.Peak = sim.Peak{Admitted: d.inWindow + 1, By: d.Event}
			}
			if d.inSecond+1 > p.Exposure.Admitted {
				p.Exposure = sim.Peak{Admitted: d.inSecond + 1, By: d.Event}
			}
		} else {
			if d.inWindow < limit {
				c.WrongDenials++
			}
			if !keys[d.key] {
				keys[d.key] = true
				p.RefusedKeys++
			}
			if !clients[d.Client] {
				clients[d.Client] = true
				p.RefusedClients[naiveKind(o.Group, d.Client)]++
			}
		}
		if d.admitted != d.log {
			c.Differ++
		}
		if d.again {
			c.Repeated++
		}
	}
	return p
}

// naiveAlive is the most keys used within a span at once.
func naiveAlive(all []naiveDecision, span int64) (most int64) {
	for i, d := range all {
		alive := map[[2]uint32]bool{}
		for _, before := range all[:i+1] {
			if before.At > d.At-span {
				alive[before.key] = true
			}
		}
		most = max(most, int64(len(alive)))
	}
	return most
}

// naiveHoldings looks at what keys held, by what was demanded.
func naiveHoldings(all []naiveDecision, width int64) (h sim.Holdings) {
	gone := max(2*width, 1_000_000)
	for i, d := range all {
		// Each life is counted at its first request.
		peak, at, began := int64(0), d.At, true
		for _, before := range all[:i] {
			began = began && (before.key != d.key || before.At <= d.At-gone)
		}
		for _, after := range all[i:] {
			if after.key == d.key && began && after.At-at < gone {
				peak, at = max(peak, after.demanded+1), after.At
			} else if after.key == d.key {
				began = began && after.At-at < gone
			}
		}
		if peak > 0 {
			bucket := 0
			for peak > 1<<bucket {
				bucket++
			}
			h.Most[bucket]++
		}
		large := map[[2]uint32]bool{}
		for _, before := range all[:i+1] {
			large[before.key] = before.demanded+1 > 128 && before.At > d.At-width
		}
		n := int64(0)
		for _, is := range large {
			if is {
				n++
			}
		}
		h.Large = max(h.Large, n)
	}
	return h
}
