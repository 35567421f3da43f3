package simulator

import "math/bits"

// decider is an algorithm with one window and some limits. It returns those that refuse
// a request. A key without a row, which is row 0, was admitted everything for long enough.
type decider interface {
	refuse(n *note, at int64, row uint32) mask
}

// numbersOf is how many numbers of a row an algorithm needs for each limit.
func numbersOf(algorithm string) int {
	if algorithm == "counter" || algorithm == "counter-strict" {
		return priorWindow + 1
	}
	return spans
}

// deciders make one for each algorithm that decides by itself.
var deciders = map[string]func(window int64, r *rows) decider{
	"fixed":          func(_ int64, r *rows) decider { return fixedWindow{r.ladder} },
	"log":            func(_ int64, r *rows) decider { return slidingLog{r} },
	"counter":        func(w int64, r *rows) decider { return slidingCounter{rows: r, width: w} },
	"counter-strict": func(w int64, r *rows) decider { return slidingCounter{rows: r, width: w, up: w - 1} },
	"gcra":           func(w int64, r *rows) decider { return newCells(w, r.ladder.limits) },
}

// fixedWindow admits the first requests of the aligned window.
type fixedWindow struct{ *ladder }

func (f fixedWindow) refuse(n *note, _ int64, _ uint32) mask { return f.reached(int64(n.now)) }

// slidingLog refuses what the window has no room for.
type slidingLog struct{ *rows }

func (l slidingLog) refuse(n *note, _ int64, row uint32) mask {
	return l.filled(n, row)
}

// slidingCounter weighs the window before.
type slidingCounter struct {
	*rows
	width int64
	up    int64 // what is added before a share is cut to a whole number
}

func (c slidingCounter) refuse(n *note, at int64, row uint32) (refused mask) {
	left := (n.index+1)*c.width - at
	if now, prior := int64(n.now), int64(n.prior); now+prior >= c.ladder.first {
		// A limit below 2^30 times a window fits 2^53, but a demand is no limit.
		refused = c.ladder.reached(now + share(prior, left, c.width, c.up))
	}
	if row == 0 {
		return refused
	}
	c.roll(row, n.index)
	differing := c.all[row].differing
	refused &^= below(differing)
	limits := c.ladder.limits[:differing]
	this, prior := c.number(row, thisWindow)[:differing], c.number(row, priorWindow)[:differing]
	for i, limit := range limits {
		// this + 1 + floor((prior × left + up) / width) > limit, without a division
		room := (limit-int64(this[i]))*c.width - int64(prior[i])*left - c.up
		refused |= mask(uint64(room-1)>>63) << i
	}
	return refused
}

// share is (count × left + up) / width.
func share(count, left, width, up int64) int64 {
	high, low := bits.Mul64(uint64(count), uint64(left))
	low, carry := bits.Add64(low, uint64(up), 0)
	quotient, _ := bits.Div64(high+carry, low, uint64(width))
	return int64(quotient)
}
