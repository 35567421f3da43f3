package simulator

// The spans over which admissions are counted.
const (
	inWindow = iota
	inSecond
	spans
)

// slot is what is known of a key in use.
type slot struct {
	key        uint64
	last       int64         // when it was used
	ring       []int64       // instants of requests, a power of two; empty while there is only the last
	head       uint32        // the place of the next request; places count up, and wrap
	tails      [spans]uint32 // the oldest request of each span
	index      int64         // the aligned window of the last request
	now, prior uint32        // requests in that window, and in the one before
	peak       uint32        // most requests in a trailing window
	large      bool          // the last request saw more than fit a listpack
	older      uint32        // slots by when they were used
	younger    uint32
}

// note is what an event means to its key.
type note struct {
	slot       uint32
	fresh      bool          // the key was never used, or nothing of it matters any more
	place      uint32        // of this request
	tails      [spans]uint32 // of each span that ends with it
	index      int64         // its aligned window
	now, prior uint32        // requests before it in that window, and in the one before
}

// behind is how many requests of the key a span had before this one.
func (n *note) behind(span int) int32 { return int32(n.place - n.tails[span]) }

// request counts a request and completes what is noted of it.
func (s *slot) request(n *note, at, window int64) {
	switch {
	case n.index == s.index+1:
		s.now, s.prior = 0, s.now
	case n.index != s.index:
		s.now, s.prior = 0, 0
	}
	s.index = n.index
	s.forget(inWindow, at-window)
	s.forget(inSecond, at-exposure)
	n.place, n.tails, n.now, n.prior = s.head, s.tails, s.now, s.prior
	s.push(at)
	s.now++
}

// forget moves a tail past what came at an instant or earlier.
func (s *slot) forget(span int, at int64) {
	for s.tails[span] != s.head && s.instant(s.tails[span]) <= at {
		s.tails[span]++
	}
}

func (s *slot) instant(place uint32) int64 {
	if len(s.ring) == 0 {
		return s.last
	}
	return s.ring[place&uint32(len(s.ring)-1)]
}

// push appends a request.
func (s *slot) push(at int64) {
	held := max(s.head-s.tails[inWindow], s.head-s.tails[inSecond])
	if n := uint32(len(s.ring)); held > 0 && held >= n {
		ring := make([]int64, max(4, 2*n))
		for p := s.head - held; p != s.head; p++ {
			ring[p&uint32(len(ring)-1)] = s.instant(p)
		}
		s.ring = ring
	}
	if n := uint32(len(s.ring)); n > 0 {
		s.ring[s.head&(n-1)] = at
	}
	s.head++
	s.last = at
}
