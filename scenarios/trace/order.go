package trace

import "container/heap"

// order puts requests in the order of their arrival, as far as they are displaced by no
// more than a span of time. What comes in order costs no more than a queue.
type order struct {
	span   int64 // µs
	most   int   // requests that are held at once
	queue  []Request
	head   int       // of the queue
	strays strayHeap // those that came after a later one

	begun  bool
	newest int64 // of what is believed
	ahead  bool  // the line before was far ahead of that
	last   int64 // when the last one that was given away arrived
	late   int64 // too late for their place
}

// add takes a request, unless its place has been given away: to let it arrive later would
// make a burst that never was.
func (o *order) add(r Request) {
	if !o.begun {
		o.newest, o.last, o.begun = r.At, r.At-o.span, true
	}
	if r.At < o.last {
		o.late++
		return
	}
	o.believe(r.At)
	if len(o.queue) > o.head && r.At < o.queue[len(o.queue)-1].At {
		heap.Push(&o.strays, r)
		return
	}
	o.queue = append(o.queue, r)
}

// believe moves time on. One line alone that is far ahead may be a mistake, and would
// make all that follow too late.
func (o *order) believe(at int64) {
	if far := at > o.newest+o.span; far && !o.ahead {
		o.ahead = true
		return
	}
	o.ahead = false
	o.newest = max(o.newest, at)
}

// next is the earliest, if nothing that may still come is before it, or at the end of a
// log, or if there are too many to wait.
func (o *order) next(end bool) (Request, bool) {
	held := len(o.queue) - o.head + len(o.strays)
	if held == 0 {
		return Request{}, false
	}
	stray := len(o.strays) > 0 && (o.head == len(o.queue) || o.strays[0].At < o.queue[o.head].At)
	at := int64(0)
	if stray {
		at = o.strays[0].At
	} else {
		at = o.queue[o.head].At
	}
	if !end && held <= o.most && at > o.newest-o.span {
		return Request{}, false
	}
	o.last = at
	if stray {
		return heap.Pop(&o.strays).(Request), true
	}
	r := o.queue[o.head]
	o.head++
	if o.head == len(o.queue) || o.head > 4096 && o.head > len(o.queue)/2 {
		o.queue = o.queue[:copy(o.queue, o.queue[o.head:])]
		o.head = 0
	}
	return r, true
}

// strayHeap has the earliest first; those of one instant as they came.
type strayHeap []Request

func (h strayHeap) Len() int { return len(h) }
func (h strayHeap) Less(i, j int) bool {
	if h[i].At != h[j].At {
		return h[i].At < h[j].At
	}
	return h[i].Line < h[j].Line
}
func (h strayHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *strayHeap) Push(x any)   { *h = append(*h, x.(Request)) }
func (h *strayHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	*h = old[:len(old)-1]
	return r
}
