package simulator

import "time"

// ledger knows what was asked for with one window and one choice of keys, whatever is
// admitted. A key has a slot as long as anything of it can matter: see memory.
type ledger struct {
	window int64 // µs
	key    Key
	places places
	slots  []slot
	free   []uint32
	aging
	holdings Holdings
	large    int64
	notes    []note // of the events of a chunk
}

// exposure is the short span over which admissions are counted, too, in µs.
const exposure = int64(time.Second / time.Microsecond)

// listpack is how many entries a sorted set of Redis has at most in its small encoding.
const listpack = 128

// memory is how long something of a key can matter: two windows to a counter, and the
// span of the exposure.
func memory(window int64) int64 { return max(2*window, exposure) }

func newLedger(window time.Duration, key Key) *ledger {
	w := window.Microseconds()
	return &ledger{window: w, key: key, places: newPlaces(key), aging: newAging(w)}
}

// take notes what events mean.
func (l *ledger) take(events []Event) {
	l.notes = l.notes[:0]
	index, end := int64(0), int64(0) // the window of the event before
	for i := range events {
		e := &events[i]
		if e.At >= end {
			index = e.At / l.window
			end = (index + 1) * l.window
		}
		l.expire(e.At)
		n := note{index: index}
		n.slot, n.fresh = l.slotOf(l.key.Of(e), e.At)
		l.slots[n.slot].request(&n, e.At, l.window)
		l.hold(&l.slots[n.slot])
		l.notes = append(l.notes, n)
	}
}

// slotOf finds the slot of a key or gives it one, and makes it the youngest.
func (l *ledger) slotOf(key uint64, at int64) (i uint32, fresh bool) {
	if i = l.places.find(key); i != none {
		l.renew(l.slots, i, at)
		return i, false
	}
	if n := len(l.free); n > 0 {
		i, l.free = l.free[n-1], l.free[:n-1]
	} else {
		i = uint32(len(l.slots))
		l.slots = append(l.slots, slot{})
	}
	const kept = 64 // requests: a key that was busy once gives its room back
	ring := l.slots[i].ring
	if len(ring) > kept {
		ring = nil
	}
	l.slots[i] = slot{key: key, ring: ring}
	l.places.put(key, i)
	l.enter(l.slots, i)
	return i, true
}

// expire lets go of what is too old.
func (l *ledger) expire(now int64) {
	for i := l.pass(l.slots, ofWindow, now); i != none; i = l.pass(l.slots, ofWindow, now) {
		if l.slots[i].large {
			l.slots[i].large = false
			l.large--
		}
	}
	for l.pass(l.slots, ofTwo, now) != none {
	}
	for i := l.pass(l.slots, ofMemory, now); i != none; i = l.pass(l.slots, ofMemory, now) {
		l.leave(l.slots, i)
		l.holdings.add(l.slots[i].peak)
		l.places.put(l.slots[i].key, none)
		l.free = append(l.free, i)
	}
}

// hold looks at how many requests of a window the last request of a key saw.
func (l *ledger) hold(s *slot) {
	held := s.head - s.tails[inWindow]
	s.peak = max(s.peak, held)
	if large := held > listpack; large != s.large {
		s.large = large
		if large {
			l.large++
			l.holdings.Large = max(l.holdings.Large, l.large)
		} else {
			l.large--
		}
	}
}

// held is what keys held, with those that are still in use.
func (l *ledger) held() Holdings {
	all := l.holdings
	for i := l.oldest[ofMemory]; i != none; i = l.slots[i].younger {
		all.add(l.slots[i].peak)
	}
	return all
}
