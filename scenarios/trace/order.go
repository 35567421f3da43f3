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
	sure   bool  // another line agrees with that
	ahead  bool  // the line before was far ahead of newest
	far    int64 // when that was
	last   int64 // when the last one that was given away arrived
	given  bool  // one was
	late   int64 // too late for their place
	latest int64 // how far behind the newest the last of them was, in µs
}

// takes is whether there is a place for a request that arrived at some time. If it has been
// given away, the request is late: to let it arrive later would make a burst that never was.
func (o *order) takes(at int64) bool {
	if o.given && at < o.last {
		o.late, o.latest = o.late+1, max(o.latest, o.newest-at)
		return false
	}
	return true
}

// add takes a request for which there is a place.
func (o *order) add(r Request) {
	o.believe(r.At)
	if len(o.queue) > o.head && r.At < o.queue[len(o.queue)-1].At {
		heap.Push(&o.strays, r)
		return
	}
	o.queue = append(o.queue, r)
}

// believe moves time on. One line alone that is far ahead may be a mistake, and would
// make all that follow too late; so may be the first one.
func (o *order) believe(at int64) {
	switch {
	case !o.begun:
		o.begun, o.newest = true, at
	case at > o.newest+o.span && (!o.ahead || at < o.far-o.span):
		o.ahead, o.far = true, at
	case at > o.newest+o.span:
		o.newest, o.far, o.sure = min(at, o.far), max(at, o.far), true
		o.ahead = o.far > o.newest+o.span
	case at < o.newest-o.span && !o.sure:
		o.newest, o.ahead = at, false
	default:
		o.newest, o.ahead = max(o.newest, at), false
		o.sure = o.sure || at >= o.newest-o.span
	}
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
	if !end && held <= o.most && (at > o.newest-o.span || !o.sure) {
		return Request{}, false
	}
	o.last, o.given = at, true
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
