package scenarios

import "time"

// Profile is how a run went over time, for pictures of it. A client counts as a whole,
// whatever its pseudonyms; requests count by their cost, as in Measures.
type Profile struct {
	// Envelope is in the order of its spans.
	Envelope []Burst
	// Timeline begins with the whole run. Where its bins are too wide to show what
	// happens at an edge, stretches around edges follow, in order of time.
	Timeline []Stretch
}

// Burst is the most that was admitted to one client in any interval (t-Span, t]; AtMost is
// the same as if all of unknown fate had been admitted when it was planned.
type Burst struct {
	Span             time.Duration
	Admitted, AtMost int64
}

// Stretch is a part of a run in bins of equal width; bin i is [From+i*Width,
// From+(i+1)*Width). From is an offset from the edge. An edge never falls into a bin,
// only between two, as far as its window has divisors for that.
type Stretch struct {
	From, Width time.Duration
	Bins        []Bin
}

// Bin is what happened in a bin.
type Bin struct {
	// Admitted, Denied and Failed count requests; errored and unknown ones fail at the
	// instant that was planned for them.
	Admitted, Denied, Failed int64
	// Peak is the most admitted to one client in the trailing window of any instant of
	// the bin; PeakAtMost is the same as if all of unknown fate had been admitted.
	Peak, PeakAtMost int64
	// Lag is how late a request that was planned for the bin was sent, at the most.
	Lag time.Duration
}
