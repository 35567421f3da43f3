package scenarios

import (
	"container/heap"
	"time"
)

// due is something to do at an instant: send an arrival, or let a client go on.
type due struct {
	at      time.Duration
	order   int64 // of equal instants, first come first served
	arrival Arrival
	sender  *sender // goes on; nil to send the arrival
}

// later puts something on the agenda.
func (a *Agenda) later(d due) {
	a.order++
	d.order = a.order
	heap.Push(&a.again, d)
}

// dueHeap has what is due first at its top.
type dueHeap []due

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(due)) }
func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
