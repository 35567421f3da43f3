package identity

import (
	"errors"
	"fmt"
	"time"
)

// Status is for those who watch that keys are erased.
type Status struct {
	// Oldest is the start of the first period whose names can still be computed
	// with what is kept here.
	Oldest time.Time
	// Err is why the last attempt to erase keys failed; nil after a success.
	Err error
}

// Status says what is kept.
func (n *Namer) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	return Status{Oldest: at(n.schedule.start(n.ratchet.index)), Err: n.failed}
}

// Maintain erases what the clock has long passed, in memory and in the key file.
// Name does it too, so this is for services that may be idle over a rotation: call
// it every few minutes. doc.go states the rule; a clock that is wrong
// for a while does no harm.
func (n *Namer) Maintain(now time.Time) error {
	return n.maintain("maintain keys", now, func(r ratchet, t int64) (ratchet, error) {
		return n.schedule.settle(r, t), nil
	})
}

// Advance erases at once all keys that are of no use at now, in memory and in
// the key file. It cannot be undone: if now is wrong, names fail with ErrPast
// until the clock gets there. It is for people who know what time it is,
// after a long pause or when a server is to be handed on; Maintain is for
// programs.
func (n *Namer) Advance(now time.Time) error {
	return n.maintain("advance keys", now, func(r ratchet, t int64) (ratchet, error) {
		to := n.schedule.oldest(t)
		switch {
		case to < r.index:
			return r, ErrPast
		case to-r.index > MaxAhead:
			return r, ErrFuture
		case to == r.index:
			return r, nil
		}
		return n.schedule.erase(r, to, t), nil
	})
}

func (n *Namer) maintain(doing string, now time.Time, rule rule) error {
	t, err := micros(now)
	if err == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		err = n.apply(rule, t)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// tryMaintain is Maintain for Name: whoever comes second does not wait, and is
// served from what there is.
func (n *Namer) tryMaintain(t int64) *view {
	if n.mu.TryLock() {
		_ = n.apply(func(r ratchet, t int64) (ratchet, error) {
			return n.schedule.settle(r, t), nil
		}, t) // Status tells
		n.mu.Unlock()
	}
	return n.view.Load()
}

// rule is what becomes of a ratchet at an instant.
type rule func(r ratchet, t int64) (ratchet, error)

// apply brings the key file and then the memory to what the rule says. The
// caller holds mu.
func (n *Namer) apply(rule rule, t int64) error {
	next, err := n.decide(rule, t)
	if err != nil {
		n.postpone(err, t)
		return err
	}
	n.failed = nil
	n.ratchet = next // overwrites the key
	n.publish(n.view.Load().epochs)
	return nil
}

func (n *Namer) decide(rule rule, t int64) (ratchet, error) {
	if n.file == nil {
		return rule(n.ratchet, t)
	}
	return n.file.update(func(disk ratchet) (ratchet, error) {
		r, err := newer(n.ratchet, disk)
		if err != nil {
			return ratchet{}, err
		}
		return rule(r, t)
	})
}

// retryAfter is how long after a failure Name leaves the keys alone.
const retryAfter = int64(time.Minute / time.Microsecond)

// postpone keeps Name from running into the same failure with every request.
// That another process has the file is no failure.
func (n *Namer) postpone(err error, t int64) {
	if !errors.Is(err, errBusy) {
		n.failed = err
	}
	v := *n.view.Load()
	v.quiet = [2]int64{t - retryAfter, t + retryAfter}
	n.view.Store(&v)
}
