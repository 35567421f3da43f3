package simulator

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// Demand is the first pass over a log: how much is asked for, if nothing is refused. Its
// memory is that of a Simulation. It is not safe for concurrent use; Add uses several
// processors itself.
type Demand struct {
	options  Options
	seen     int64
	first    int64
	last     int64
	requests []uint32 // by client
	classes  []int64  // requests by class
	wanted   []*wanted
}

// wanted is what is asked for with one window and one choice of keys.
type wanted struct {
	window  time.Duration
	ledger  *ledger
	clients [spans][]uint32 // peaks by client
	classes [][]uint32      // peaks in a window by class and client; nil if there is one class
	peaks   [spans]Peak
}

// NewDemand makes the first pass for some windows and keys, or says everything that is
// wrong with them. Groups do not matter to it.
func NewDemand(windows []time.Duration, keys []Key, o Options) (*Demand, error) {
	g := Grid{Algorithms: []string{"log"}, Windows: windows, Limits: []int64{1}, Keys: keys}
	if err := g.Validate(); err != nil {
		return nil, fmt.Errorf("measure demand: %w", err)
	}
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("measure demand: %w", err)
	}
	d := &Demand{options: o, classes: make([]int64, o.classes())}
	for _, window := range windows {
		for _, key := range keys {
			w := &wanted{window: window, ledger: newLedger(window, key)}
			if o.classes() > 1 {
				w.classes = make([][]uint32, o.classes())
			}
			d.wanted = append(d.wanted, w)
		}
	}
	return d, nil
}

// Add counts more events. If one is out of order or its numbers cannot be, none is taken.
func (d *Demand) Add(events []Event) error {
	if err := inOrder(events, d.last, d.seen); err != nil {
		return fmt.Errorf("measure demand: %w", err)
	}
	for chunk := range slices.Chunk(events, chunkSize) {
		if d.seen == 0 {
			d.first = chunk[0].At
		}
		for i := range chunk {
			e := &chunk[i]
			d.requests = longer(d.requests, uint64(e.Client))
			d.requests[e.Client]++
			d.classes[kindOf(d.options.Class, e.Route)]++
		}
		inParallel(d.options.workers(), len(d.wanted), func(i int) { d.wanted[i].take(chunk, d.options, d.seen) })
		d.seen += int64(len(chunk))
		d.last = chunk[len(chunk)-1].At
	}
	return nil
}

func (w *wanted) take(events []Event, o Options, seen int64) {
	w.ledger.take(events)
	for i := range w.ledger.notes {
		n, e := &w.ledger.notes[i], &events[i]
		for s := range spans {
			w.clients[s] = longer(w.clients[s], uint64(e.Client))
			peak := &w.clients[s][e.Client]
			*peak = max(*peak, uint32(n.behind(s)+1))
			w.peaks[s].raise(n.behind(s)+1, e, seen+int64(i))
		}
		if w.classes != nil {
			class := &w.classes[kindOf(o.Class, e.Route)]
			*class = longer(*class, uint64(e.Client))
			(*class)[e.Client] = max((*class)[e.Client], uint32(n.behind(inWindow)+1))
		}
	}
}

// Demands is what a Demand found. Its slices are those of the pass, which goes on to write
// to them if more is added.
type Demands struct {
	Total       int64
	First, Last int64    // instants of requests, µs since 1970
	Requests    []uint32 // by client; one without a request has 0
	Classes     []int64  // requests by class
	Wanted      []Wanted // of window × key
}

// Wanted is what was asked for with one window and one choice of keys.
type Wanted struct {
	Window time.Duration
	Key    Key
	// Clients is the peak of each client: the most requests that its key had in a
	// trailing window (t−W, t] that ended with one of its own, so the highest over its
	// keys. Seconds is the same over a second.
	Clients, Seconds []uint32
	// Classes is Clients again for each class: of windows that ended with a request of
	// that class. They have the requests of other classes in them, unless keys are
	// per route.
	Classes [][]uint32
	// Peak is the highest of all, Exposure that over a second.
	Peak, Exposure Peak
	// Keys are the most keys used within a window at once.
	Keys     int64
	Holdings Holdings
}

// Result is what was found so far. More events may follow.
func (d *Demand) Result() *Demands {
	all := &Demands{Total: d.seen, First: d.first, Last: d.last, Requests: d.requests, Classes: d.classes}
	for _, w := range d.wanted {
		classes := w.classes
		if classes == nil {
			classes = [][]uint32{w.clients[inWindow]}
		}
		all.Wanted = append(all.Wanted, Wanted{
			Window: w.window, Key: w.ledger.key, Clients: w.clients[inWindow], Seconds: w.clients[inSecond], Classes: classes,
			Peak: w.peaks[inWindow], Exposure: w.peaks[inSecond], Keys: w.ledger.most[ofWindow], Holdings: w.ledger.held(),
		})
	}
	return all
}

// Distribution is values of clients from the lowest up, without those of clients that had
// no request.
type Distribution []uint32

// Distribute sorts a copy.
func Distribute(values []uint32) Distribution {
	d := make(Distribution, 0, len(values))
	for _, v := range values {
		if v > 0 {
			d = append(d, v)
		}
	}
	slices.Sort(d)
	return d
}

// Quantile is the lowest value that a share of clients, from 0 to 1, does not exceed; 0 if
// there are none.
func (d Distribution) Quantile(share float64) uint32 {
	if len(d) == 0 {
		return 0
	}
	if share >= 1 {
		return d[len(d)-1]
	}
	// 0.07 of 100 clients are 7, though it is a little more in binary.
	const rounding = 1e-9
	rank := int(math.Ceil((max(share, 0) - rounding) * float64(len(d))))
	return d[min(max(rank, 1), len(d))-1]
}

// Above is how many clients have more than a value.
func (d Distribution) Above(value uint32) int {
	return len(d) - sort.Search(len(d), func(i int) bool { return d[i] > value })
}
