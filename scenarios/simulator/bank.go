package simulator

// bank is an algorithm with all limits, for one window and one choice of keys. It has what
// its decisions are counted by.
type bank struct {
	key     Key
	memory  int64 // µs after which nothing of a key matters
	rows    rows
	decider decider
	zero    mask // limits that admit nothing
	touched touched
	cells   []cellCounts  // of class × group
	peaks   [spans][]Peak // of keys without a difference from some limit on, by that limit
	refused []mask        // by event of the chunk
}

// cellCounts counts what was decided of the requests of one class and group.
type cellCounts struct {
	whole []int64 // requests that all limits from one on admitted, by that limit
	// part counts the other admissions.
	part, wrongAdmissions, wrongDenials, differ, repeated tally
}

func newBank(algorithm string, window int64, key Key, l *ladder, cells int) *bank {
	n := len(l.limits)
	b := &bank{
		key: key, memory: memory(window), rows: newRows(l, numbersOf(algorithm)),
		touched: newTouched(key), cells: make([]cellCounts, cells),
	}
	b.decider = deciders[algorithm](window, &b.rows)
	if l.first == 0 {
		b.zero = 1
	}
	for i := range b.cells {
		b.cells[i].whole = make([]int64, n+1)
	}
	for s := range b.peaks {
		b.peaks[s] = make([]Peak, n+1)
	}
	return b
}

// chunk is some events and what all banks have to know of them.
type chunk struct {
	events []Event
	cells  []uint16 // class × group of each
	seen   int64    // events before
}

// decide decides a chunk, of which the ledger has made notes.
func (b *bank) decide(c *chunk, notes []note) {
	b.refused = b.refused[:0]
	for i := range notes {
		n, e := &notes[i], &c.events[i]
		row := b.rows.find(n, e.At, b.memory)
		if row != 0 {
			b.rows.advance(row, n)
		}
		refused, filled := b.decider.refuse(n, e.At, row), b.rows.filled(n, row)
		b.refused = append(b.refused, refused)
		cell := &b.cells[c.cells[i]]
		differing := 0
		if row != 0 || refused != 0 {
			row = b.differ(row, n, e, refused)
			differing = b.rows.all[row].differing
			cell.take(&b.rows.all[row], e.At, refused, filled)
			b.rows.add(row, n, e, c.seen+int64(i), ^refused)
		} else if filled != 0 {
			cell.wrongAdmissions.add(filled)
		}
		cell.whole[differing]++
		for s := range spans {
			b.peaks[s][differing].raise(n.behind(s)+1, e, c.seen+int64(i))
		}
	}
}

// differ makes the row of a key ready for a decision by which its limits differ, or did.
func (b *bank) differ(row uint32, n *note, e *Event, refused mask) uint32 {
	if row == 0 {
		row = b.rows.open(n)
		if b.zero != 0 { // that a key comes back makes no difference to it
			b.rows.all[row].refused = b.touched.by(b.key.Of(e)) & b.zero
		}
	}
	w := &b.rows.all[row]
	if to := refused.length(); to > w.differing {
		b.rows.widen(row, n, to)
	}
	w.touched = b.touched.add(b.key, e, refused, w.touched)
	return row
}

// take counts a decision about a key that has a row.
func (c *cellCounts) take(w *row, at int64, refused, filled mask) {
	c.part.add(^refused & below(w.differing))
	c.wrongAdmissions.add(filled &^ refused)
	c.wrongDenials.add(refused &^ filled)
	c.repeated.add(refused & w.refused)
	if w.refused = refused; refused != 0 {
		w.lastAt = at
	}
}

// compare counts decisions that are not those of a log.
func (b *bank) compare(c *chunk, log []mask) {
	for i, refused := range b.refused {
		if other := refused ^ log[i]; other != 0 {
			b.cells[c.cells[i]].differ.add(other)
		}
	}
}
