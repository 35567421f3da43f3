package simulator

import "slices"

// trail remembers what was admitted to each key in spans that end now, by all limits of
// a decider, and the most that any key ever had.
type trail struct {
	limits int
	spans  []int64 // µs; the first is the window
	keys   []past
	peaks  [][]int32 // of span × limit, over all keys
}

// past is of one key. What no limit admitted is not in it.
type past struct {
	ring   []admitted // a power of two long
	head   uint64     // where the next one goes
	tails  []uint64   // of each span: the oldest that is in it
	counts []int32    // of span × limit
}

type admitted struct {
	at int64
	by Mask
}

func newTrail(limits int, spans ...int64) *trail {
	t := &trail{limits: limits, spans: spans}
	for range spans {
		t.peaks = append(t.peaks, make([]int32, limits))
	}
	return t
}

func (t *trail) grow(n int) {
	for len(t.keys) < n {
		t.keys = append(t.keys, past{})
	}
}

func (t *trail) forget(key int) {
	p := &t.keys[key]
	const kept = 64 // admissions: a key that was busy once gives its room back
	if len(p.ring) > kept {
		p.ring = nil
	}
	p.head = 0
	clear(p.tails)
	clear(p.counts)
}

// behind is what each limit has admitted to a key in the window that ends now. It
// is good until the next call.
func (t *trail) behind(key int, at int64) []int32 {
	p := &t.keys[key]
	if p.tails == nil {
		p.tails, p.counts = make([]uint64, len(t.spans)), make([]int32, len(t.spans)*t.limits)
	}
	for s, span := range t.spans {
		counts := rowOf(p.counts, s, t.limits)
		for p.tails[s] < p.head {
			e := &p.ring[p.tails[s]&uint64(len(p.ring)-1)]
			if e.at > at-span {
				break
			}
			for by := e.by; by != 0; by &= by - 1 {
				counts[by.lowest()]--
			}
			p.tails[s]++
		}
	}
	return p.counts[:t.limits]
}

// add takes what a request was admitted by; behind was asked before.
func (t *trail) add(key int, at int64, by Mask) {
	if by == 0 {
		return
	}
	p := &t.keys[key]
	if p.head-slices.Min(p.tails) == uint64(len(p.ring)) {
		p.double()
	}
	p.ring[p.head&uint64(len(p.ring)-1)] = admitted{at, by}
	p.head++
	for s := range t.spans {
		counts, peaks := rowOf(p.counts, s, t.limits), t.peaks[s]
		for rest := by; rest != 0; rest &= rest - 1 {
			i := rest.lowest()
			counts[i]++
			peaks[i] = max(peaks[i], counts[i])
		}
	}
}

// double makes the ring twice as long. Places stay what they are.
func (p *past) double() {
	ring := make([]admitted, max(4, 2*len(p.ring)))
	for i := slices.Min(p.tails); i < p.head; i++ {
		ring[i&uint64(len(ring)-1)] = p.ring[i&uint64(len(p.ring)-1)]
	}
	p.ring = ring
}
