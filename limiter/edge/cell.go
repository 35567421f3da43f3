package edge

import (
	"cmp"
	"slices"
)

// counts are the requests admitted in a period and in the one before.
type counts struct{ current, previous int64 }

func (c counts) plus(d counts) counts {
	return counts{current: c.current + d.current, previous: c.previous + d.previous}
}

// shift begins the next period.
func (c counts) shift() counts { return counts{previous: c.current} }

// machine is what one machine knows of a key.
type machine struct {
	pending counts // admitted here and not yet in the store
	seen    counts // the store as it was at the last exchange
}

func (m machine) view() counts { return m.seen.plus(m.pending) }

// cell is a key at one location. Instants are microseconds since 1970.
type cell struct {
	store    counts
	machines []machine
	synced   int64 // every exchange up to here has happened
	next     int64 // the first that has not
}

// turns is when the machines of a location exchange: at every multiple of every,
// plus a phase of their own below it.
type turns struct {
	every  int64
	phases []int64
}

// after is a machine's first turn after an instant, which is not negative.
func (t turns) after(at int64, machine int) int64 {
	phase := t.phases[machine]
	return (at-phase+t.every)/t.every*t.every + phase
}

// next is the first turn of any machine after an instant.
func (t turns) next(at int64) int64 {
	first := t.after(at, 0)
	for i := 1; i < len(t.phases); i++ {
		first = min(first, t.after(at, i))
	}
	return first
}

func newCell(at int64, t turns) *cell {
	return &cell{machines: make([]machine, len(t.phases)), synced: at, next: t.next(at)}
}

// exchange adds what a machine counted to the store, and reads the store.
func (c *cell) exchange(i int) {
	m := &c.machines[i]
	c.store = c.store.plus(m.pending)
	*m = machine{seen: c.store}
}

// catchUp lets the exchanges up to an instant happen. Nobody asked since the
// last time, so a machine has something to add at its first turn only, and what
// it reads between the first and the last is forgotten: two turns a machine
// stand for all.
func (c *cell) catchUp(at int64, t turns) {
	if at < c.next {
		return
	}
	type turn struct {
		at      int64
		machine int
	}
	due := make([]turn, 0, 2*len(c.machines))
	for i := range c.machines {
		first, last := t.after(c.synced, i), t.after(at, i)-t.every
		if first <= at {
			due = append(due, turn{first, i})
		}
		if first < last {
			due = append(due, turn{last, i})
		}
	}
	slices.SortFunc(due, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.machine, b.machine))
	})
	for _, d := range due {
		c.exchange(d.machine)
	}
	c.synced, c.next = at, t.next(at)
}

// shift begins the next period everywhere. What is pending stays with the period
// in which it was admitted.
func (c *cell) shift() {
	c.store = c.store.shift()
	for i, m := range c.machines {
		c.machines[i] = machine{pending: m.pending.shift(), seen: m.seen.shift()}
	}
}
