package limiter

import (
	"sort"
	"time"

	"github.com/rlbench/rlbench/scripts"
)

// Log remembers the instant of every admitted unit. It is exact, and pays for
// it with memory: up to Limit.Max entries a key.
var Log = Algorithm{
	Name:      "log",
	Doc:       "sliding window log: exact, one sorted-set entry per admitted unit",
	Script:    scripts.Log,
	Model:     Model{Init: newLogState, Step: logStep},
	Worst:     func(l Limit) int64 { return l.Max },
	AfterEdge: func(l Limit, _, _ time.Duration) int64 { return l.Max },
	TTL:       func(l Limit) time.Duration { return l.Window + time.Second },
	nonce:     true,
}

// logState is the live part of a list of admissions, oldest first. States share
// the list: only the newest one may extend it, any other copies its part first,
// so no state ever changes. States of one key must not be stepped concurrently.
//
// What left the window stays in the list, which old states may refer to, until
// it is the larger part: then the newest state moves to a list of its own. So a
// list has at most twice the entries of a window and one, and each that leaves
// pays for moving one that stays.
type logState struct {
	list      *[]admission
	low, high int
}

// admission is an admitted request; upTo counts the units of the list up to and
// with it.
type admission struct{ at, upTo int64 }

func newLogState() any { return logState{list: new([]admission)} }

// before counts the units of the list before a place.
func (s logState) before(place int) int64 {
	if place == 0 {
		return 0
	}
	return (*s.list)[place-1].upTo
}

// after finds the first place from low with an instant later than at.
func (s logState) after(at int64) int {
	live := (*s.list)[s.low:s.high]
	return s.low + sort.Search(len(live), func(i int) bool { return live[i].at > at })
}

// plus is the state with one more admission.
func (s logState) plus(at, units int64) logState {
	place := s.after(at)
	dead, live := s.low, s.high-s.low
	if place == s.high && s.high == len(*s.list) && dead <= live {
		*s.list = append(*s.list, admission{at, s.before(s.high) + units})
		s.high++
		return s
	}
	list := make([]admission, 0, s.high-s.low+1)
	for i := s.low; i <= s.high; i++ {
		if i == place {
			list = append(list, admission{at, s.before(i) - s.before(s.low) + units})
		}
		if i < s.high {
			e := (*s.list)[i]
			e.upTo -= s.before(s.low)
			if i >= place {
				e.upTo += units
			}
			list = append(list, e)
		}
	}
	return logState{list: &list, high: len(list)}
}

func logStep(l Limit, state any, r Request) (any, Decision) {
	s := state.(logState)
	now, width := r.At.UnixMicro(), l.Window.Microseconds()
	s.low = s.after(now - width)
	used := s.before(s.high) - s.before(s.low)

	d := Decision{Limit: l.Max, At: r.At}
	next, cost := state, r.Units()
	switch over := used + cost - l.Max; {
	case cost > l.Max:
		d.RetryAfter = Never
	case over > 0:
		// So many units have to leave; the last of them decides.
		live := (*s.list)[s.low:s.high]
		last := sort.Search(len(live), func(i int) bool { return live[i].upTo-s.before(s.low) >= over })
		d.RetryAfter = micros(live[last].at + width - now)
	default:
		d.Allowed = true
		used += cost
		s = s.plus(now, cost)
		next = s
	}
	d.Remaining = max(l.Max-used, 0)
	if used > 0 {
		d.ResetAfter = micros((*s.list)[s.high-1].at + width - now)
	}
	return next, d
}
