package simulator

// rows are the pasts of keys that were refused something not long ago. They differ from
// limit to limit up to the highest that refused: the limits above it admitted all, so that
// their past is the demand.
type rows struct {
	ladder *ladder
	counts int // numbers of a limit
	of     []uint32
	all    []row
	nums   []int32 // of row × number × limit
	free   []uint32
	peaks  [spans][]Peak // of limits that refused something to the key, by limit
}

// Numbers that a row has for each limit.
const (
	behindWindow = int(inWindow) // admitted in the window
	behindSecond = int(inSecond) // and in a second
	thisWindow   = spans         // admitted in the aligned window, and in the one before
	priorWindow  = spans + 1
)

// row is one of them.
type row struct {
	differing int    // limits from the lowest up, all that refused something
	full      mask   // of these: what fills the window
	refused   mask   // by whom the last request was
	touched   mask   // what the touched keys have of it
	lastAt    int64  // of the last denial
	index     int64  // the aligned window of the last request
	ring      []mask // who admitted a request, by its place
	start     uint32 // the first place that is in the ring; all admitted what came before
	tails     [spans]uint32
}

func newRows(l *ladder, counts int) rows {
	r := rows{ladder: l, counts: counts, all: make([]row, 1), nums: make([]int32, counts*len(l.limits))} // row 0 is none
	for s := range r.peaks {
		r.peaks[s] = make([]Peak, len(l.limits))
	}
	return r
}

// number is one kind of number of a row, by limit.
func (r *rows) number(i uint32, kind int) []int32 {
	n := len(r.ladder.limits)
	at := (int(i)*r.counts + kind) * n
	return r.nums[at : at+n : at+n]
}

// find is the row of a key; 0 if it has none. One that was refused nothing for long enough
// needs none any more, nor does one that has its slot after another.
func (r *rows) find(n *note, at, memory int64) uint32 {
	r.of = longer(r.of, uint64(n.slot))
	i := r.of[n.slot]
	if i != 0 && at-r.all[i].lastAt >= memory {
		r.of[n.slot] = 0
		r.free = append(r.free, i)
		return 0
	}
	return i
}

// open gives a key a row.
func (r *rows) open(n *note) uint32 {
	var i uint32
	if last := len(r.free) - 1; last >= 0 {
		i, r.free = r.free[last], r.free[:last]
	} else {
		i = uint32(len(r.all))
		r.all = append(r.all, row{})
		r.nums = append(r.nums, make([]int32, r.counts*len(r.ladder.limits))...)
	}
	const kept = 64 // requests
	ring := r.all[i].ring
	if len(ring) > kept {
		ring = nil
	}
	r.all[i] = row{ring: ring, index: n.index, start: n.place, tails: n.tails}
	r.of[n.slot] = i
	return i
}

// advance forgets what has left the spans that end with a request.
func (r *rows) advance(i uint32, n *note) {
	w := &r.all[i]
	differing := below(w.differing)
	for span := range spans {
		counts := r.number(i, span)
		for ; w.tails[span] != n.tails[span]; w.tails[span]++ {
			for left := w.by(w.tails[span]) & differing; left != 0; left &= left - 1 {
				limit := left.lowest()
				counts[limit]--
				if span == inWindow && int64(counts[limit]) < r.ladder.limits[limit] {
					w.full &^= 1 << limit
				}
			}
		}
	}
	if old := w.oldest(n.place); int32(w.start-old) < 0 {
		w.start = old
	}
}

// oldest is the first place that a span has yet; place is that of the next request.
func (w *row) oldest(place uint32) uint32 {
	return place - max(place-w.tails[inWindow], place-w.tails[inSecond])
}

// by is who admitted the request of a place.
func (w *row) by(place uint32) mask {
	if int32(place-w.start) < 0 {
		return ^mask(0)
	}
	return w.ring[place&uint32(len(w.ring)-1)]
}

// widen makes the first limits differ: what they admitted so far was the demand.
func (r *rows) widen(i uint32, n *note, to int) {
	w := &r.all[i]
	demands := [...]int32{n.behind(inWindow), n.behind(inSecond), int32(n.now), int32(n.prior)}
	for kind, demand := range demands[:r.counts] {
		numbers := r.number(i, kind)
		for limit := w.differing; limit < to; limit++ {
			numbers[limit] = demand
		}
	}
	w.full |= r.ladder.reached(int64(n.behind(inWindow))) & below(to) &^ below(w.differing)
	w.differing = to
}

// filled is the limits that the window has no room for, after what they admitted.
func (r *rows) filled(n *note, i uint32) mask {
	demand := r.ladder.reached(int64(n.behind(inWindow)))
	if i == 0 {
		return demand
	}
	w := &r.all[i]
	return w.full | demand&^below(w.differing)
}

// add takes who admitted a request, after advance and widen.
func (r *rows) add(i uint32, n *note, e *Event, seen int64, admitted mask) {
	w := &r.all[i]
	w.push(n.place, admitted)
	differing := admitted & below(w.differing)
	if differing == 0 {
		return
	}
	window, second := r.number(i, behindWindow), r.number(i, behindSecond)
	for rest := differing; rest != 0; rest &= rest - 1 {
		limit := rest.lowest()
		window[limit]++
		second[limit]++
		if int64(window[limit]) >= r.ladder.limits[limit] {
			w.full |= 1 << limit
		}
		r.peaks[inWindow][limit].raise(window[limit], e, seen)
		r.peaks[inSecond][limit].raise(second[limit], e, seen)
	}
	if r.counts > thisWindow {
		this := r.number(i, thisWindow)
		for rest := differing; rest != 0; rest &= rest - 1 {
			this[rest.lowest()]++
		}
	}
}

// push remembers who admitted the request of a place.
func (w *row) push(place uint32, by mask) {
	if held := place - w.start; held >= uint32(len(w.ring)) {
		ring := make([]mask, max(4, 2*len(w.ring)))
		for p := w.start; p != place; p++ {
			ring[p&uint32(len(ring)-1)] = w.by(p)
		}
		w.ring = ring
	}
	w.ring[place&uint32(len(w.ring)-1)] = by
}

// roll moves the numbers of aligned windows on to that of a request.
func (r *rows) roll(i uint32, index int64) {
	w := &r.all[i]
	was := w.index
	w.index = index
	if was == index {
		return
	}
	this, prior := r.number(i, thisWindow)[:w.differing], r.number(i, priorWindow)[:w.differing]
	clear(prior)
	if was == index-1 {
		copy(prior, this)
	}
	clear(this)
}
