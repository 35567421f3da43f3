package scenarios

import (
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Examination is what was found in Redis after a run, and how the limiter
// answered when it was asked again about some identities.
type Examination struct {
	// Sample are the identities that were looked at, Keys the keys that they left.
	Sample []Identity
	Keys   []KeyState
	// Read is when they were read, as an offset of the runner's stopwatch.
	Read time.Duration
	// Total counts the keys of all identities.
	Total int
	// Undeclared are keys that a run made without naming them; at most ten.
	Undeclared []string
	// Strays are all keys of the run that are not known by name, those of earlier
	// attempts too: whoever cleans up needs them.
	Strays []string
	// Split are the keys of one call that are not in one slot; nil if all are.
	Split []string
	// Left is what was still there after the scenario's drain; nil without one.
	Left *Left
	// Interviews are repeated questions; none unless the clock is virtual.
	Interviews []Interview
	// Incomplete says why a part could not be examined; empty if all was. It is
	// in no finding: what was found counts.
	Incomplete string
}

// Aged is two admissions half a window apart, the first after a silence of ten
// windows. In between half a window was taken off the times to live, as real
// time would have.
type Aged struct {
	First, Second limiter.Decision
	// Life is the longest time to live of the identity's keys after the second.
	Life time.Duration
}

// Leftovers are keys that only came to light in the examination, or that it made;
// of nobody there are none.
func (e *Examination) Leftovers() []string {
	if e == nil {
		return nil
	}
	keys := append([]string{}, e.Strays...)
	for _, i := range e.Interviews {
		keys = append(keys, i.Keys...)
	}
	return keys
}

// Left is what is in Redis after everything should have expired.
type Left struct {
	Keys  int
	Bytes *int64
}

// KeyState is one key right after a run.
type KeyState struct {
	Name     string
	Identity Identity
	// TTL is its time to live; NoTTL if it never expires.
	TTL time.Duration
	// Read is when that was read, as an offset of the runner's stopwatch.
	Read time.Duration
	// Elements are the members of a collection, and 1 for a string.
	Elements int64
	// Collection says that it is a set, sorted set, list or hash.
	Collection bool
	// Address is an IP address that its name or its value holds; "" if none.
	Address string
}

// NoTTL is the time to live of a key that never expires.
const NoTTL = time.Duration(-1)

// Identity is a client under one of its pseudonyms.
type Identity struct{ Key, Pseudonym int32 }

// Interview is a conversation with a limiter about one identity after a run, at
// virtual instants. What was not asked is nil.
type Interview struct {
	Identity Identity
	Limit    limiter.Limit
	// At is when it began.
	At time.Time
	// Keys are those that it may have touched.
	Keys []string
	// Peeked is the answer to a peek, Then that of the same request right after
	// it; PeekWrote says that the peek changed the state.
	Peeked, Then *limiter.Decision
	PeekWrote    bool
	// Insatiable counts the requests of one instant that were all admitted, more
	// than the limit; 0 if one was denied, or so many were not sent.
	Insatiable int64
	// Denied is a denial, and DenialWrote says that it changed the state; WroteKey
	// names a key that holds something else since.
	Denied      *limiter.Decision
	DenialWrote bool
	WroteKey    string
	// Early is the answer one unit of time before the denial's RetryAfter is
	// over, Due the one when it is.
	Early, Due *limiter.Decision
	// Immortal are keys that lost their time to live and did not get one with
	// the next call; nil if that was not tried.
	Immortal []string
	// Rested is the answer after a silence of ten windows.
	Rested *limiter.Decision
	// Aged is what became of the times to live as a key grew older; nil if that was
	// not tried.
	Aged *Aged
	// Huge is the answer to a cost above the limit, Negative the one to a cost
	// of -1, if it was one; NegativeWrote says that this changed the state.
	Huge, Negative *limiter.Decision
	NegativeWrote  bool
}
