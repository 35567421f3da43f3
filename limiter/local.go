package limiter

import (
	"container/list"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// local is a limit inside this process: an algorithm's model, and a state for
// each identity of the last while. It is safe for concurrent use.
//
// It outlives an outage: what it admitted is not in Redis when that is back, so
// it must still know it when Redis goes away again. Redis and the process admit
// at most the sum of their worst cases.
type local struct {
	model     Model
	limit     Limit
	most      int           // identities
	forgotten *atomic.Int64 // counts identities that others pushed out

	mu      sync.Mutex // guards what follows
	states  map[identity]*list.Element
	used    list.List    // of *usage, the most recently asked for first
	holding atomic.Int64 // len(states), for who only wants to know whether there is any
}

// identity is what a budget belongs to.
type identity struct{ slot, key string }

// usage is what an identity has used.
type usage struct {
	of    identity
	state any
	until int64 // µs since 1970: from then on it is as if it had never been used
}

func newLocal(m Model, l Limit, most int, forgotten *atomic.Int64) *local {
	return &local{model: m, limit: l, most: most, forgotten: forgotten, states: map[identity]*list.Element{}}
}

// decide decides a valid request that has an instant, and charges it if it may.
//
// With another name of the client, both of its budgets have to admit, and both
// are charged. What was used under the old name so counts for the new one.
func (l *local) decide(r Request, charge bool) Decision {
	now := r.At.UnixMicro()
	r.At = time.UnixMicro(now).UTC()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(now)
	next, d := l.step(r, r.Key)
	if r.Also == "" || r.Also == r.Key {
		if d.Allowed && charge {
			l.keep(identity{r.Slot, r.Key}, next, d)
		}
		return d
	}
	before, other := l.step(r, r.Also)
	if d.Allowed && other.Allowed && charge {
		l.keep(identity{r.Slot, r.Key}, next, d)
		l.keep(identity{r.Slot, r.Also}, before, other)
	}
	return both(d, other)
}

// both is the decision of two budgets that have to admit the same request.
func both(a, b Decision) Decision {
	a.Allowed = a.Allowed && b.Allowed
	a.Remaining = min(a.Remaining, b.Remaining)
	a.RetryAfter = max(a.RetryAfter, b.RetryAfter)
	a.ResetAfter = max(a.ResetAfter, b.ResetAfter)
	return a
}

// step decides by what was used under one name, and keeps nothing.
func (l *local) step(r Request, key string) (any, Decision) {
	element, known := l.states[identity{r.Slot, key}]
	if !known {
		return l.model.Step(l.limit, l.model.Init(), r)
	}
	l.used.MoveToFront(element)
	return l.model.Step(l.limit, element.Value.(*usage).state, r)
}

// keep remembers what an admitted request left, and forgets who asked longest ago
// if there are too many.
func (l *local) keep(of identity, state any, d Decision) {
	until := d.At.Add(d.ResetAfter).UnixMicro()
	if element, known := l.states[of]; known {
		u := element.Value.(*usage)
		u.state, u.until = state, max(u.until, until)
		return
	}
	// The caller's strings may be parts of long ones, such as a request's header.
	of = identity{strings.Clone(of.slot), strings.Clone(of.key)}
	l.states[of] = l.used.PushFront(&usage{of, state, until})
	if len(l.states) > l.most {
		last := l.used.Back()
		if last.Value.(*usage).until > d.At.UnixMicro() {
			l.forgotten.Add(1)
		}
		l.remove(last)
	}
	l.holding.Store(int64(len(l.states)))
}

// drop forgets at most two identities that have everything back. It looks at
// those who asked longest ago, and so keeps up with one new identity a call.
func (l *local) drop(now int64) {
	for range 2 {
		element := l.used.Back()
		if element == nil || element.Value.(*usage).until > now {
			return
		}
		l.remove(element)
	}
}

func (l *local) remove(element *list.Element) {
	delete(l.states, element.Value.(*usage).of)
	l.used.Remove(element)
	l.holding.Store(int64(len(l.states)))
}

// tidy drops without making anybody wait.
func (l *local) tidy(at time.Time) {
	if l.holding.Load() == 0 || !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	l.drop(at.UnixMicro())
}

// forget forgets what was used under both names of a request.
func (l *local) forget(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range []string{r.Key, r.Also} {
		if element, known := l.states[identity{r.Slot, name}]; known {
			l.remove(element)
		}
	}
}
