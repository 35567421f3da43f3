package identity

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"time"
)

// ErrPast marks instants whose key was erased, or that are before the first
// key. The clock was set back; no other name is given instead.
var ErrPast = errors.New("the instant is before the oldest key: was the clock set back?")

// ErrFuture marks instants more than MaxAhead periods ahead. Nothing is erased.
var ErrFuture = fmt.Errorf("the instant is more than %d periods ahead of the oldest key: is the clock right?", MaxAhead)

var errOtherKey = errors.New("the key file holds a key of other origin")

// ratchet is the oldest key that is left, and what is known about time. It is a
// value; key files hold it.
type ratchet struct {
	index int64  // the period of key
	begun int64  // the instant from which nothing before index is of use
	seen  int64  // since when the clock is past the use of key; 0: it is not
	key   secret // leads to all later ones
	slot  secret // stays
}

// first is a ratchet that begins in a period. Nothing was named before it.
func (c schedule) first(index int64, key secret) ratchet {
	return ratchet{index: index, begun: c.start(index), key: key, slot: derive(key[:], labelSlot)}
}

// forward is r with the key of a later period.
func (r ratchet) forward(index int64) ratchet {
	for ; r.index < index; r.index++ {
		r.key = derive(r.key[:], labelNext)
	}
	return r
}

// settle is what becomes of r when the clock says t. It is the rule that doc.go
// states: keys are erased only if the clock has stayed where they are of no
// use, and only as far as it was when it got there.
func (c schedule) settle(r ratchet, t int64) ratchet {
	if r.seen != 0 && t < r.seen-c.skew {
		r.seen = 0 // it was a mistake
	}
	if t < c.unneeded(r.index) || c.index(t)-r.index > MaxAhead {
		return r
	}
	if r.seen == 0 {
		r.seen = t
	}
	to := c.oldest(r.seen)
	if t < r.seen+c.patience(to-r.index) {
		return r
	}
	r = c.erase(r, to, t)
	if t >= c.unneeded(r.index) {
		r.seen = t // a rotation later than the one just done
	}
	return r
}

// erase forgets the keys before a period.
func (c schedule) erase(r ratchet, index, t int64) ratchet {
	r = r.forward(index)
	r.begun, r.seen = max(t-c.skew, c.start(index)), 0
	return r
}

// watch is the half-open range of instants at which settle changes nothing.
func (c schedule) watch(r ratchet) (from, to int64) {
	if r.seen == 0 {
		return 0, c.unneeded(r.index)
	}
	return r.seen - c.skew, r.seen + c.patience(c.oldest(r.seen)-r.index)
}

// newer is the newer of two states of one ratchet. What is erased in either of them
// stays erased.
func newer(ours, theirs ratchet) (ratchet, error) {
	from, to := ours, theirs
	if from.index > to.index {
		from, to = to, from
	}
	if to.index-from.index > MaxAhead {
		return ratchet{}, errOtherKey
	}
	moved := from.forward(to.index)
	if subtle.ConstantTimeCompare(moved.key[:], to.key[:])&subtle.ConstantTimeCompare(moved.slot[:], to.slot[:]) != 1 {
		return ratchet{}, errOtherKey
	}
	return to, nil
}

// at is an instant for people.
func at(t int64) time.Time { return time.UnixMicro(t).UTC() }
