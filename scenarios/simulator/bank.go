package simulator

import (
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// MostLimits are decided by one bank: one bit each of what a decision is.
const MostLimits = 64

// Mask has a bit for each limit of a bank, in their order.
type Mask uint64

// Count is how many limits are in it.
func (m Mask) Count() int { return bits.OnesCount64(uint64(m)) }

// lowest is the first limit in a mask that is not empty.
func (m Mask) lowest() int { return bits.TrailingZeros64(uint64(m)) }

// Has reports whether a limit is in it.
func (m Mask) Has(limit int) bool { return m>>limit&1 == 1 }

// decider is an algorithm with one window and some limits. Keys are numbers from 0 on,
// and each comes in the order of time.
type decider interface {
	// grow makes room for keys below n, all as if never used.
	grow(n int)
	// forget makes a key as if it was never used.
	forget(key int)
	// step decides a request at an instant, in microseconds since 1970, by all limits:
	// those in the mask admit it. Behind are the counts of what each limit admitted to
	// this key in the window that ends now.
	step(key int, at int64, behind []int32) Mask
}

// deciders make one for each algorithm that decides by itself.
var deciders = map[string]func(window int64, limits []int64) decider{
	"fixed":          newFixed,
	"log":            newLog,
	"counter":        func(w int64, l []int64) decider { return newCounter(w, l, 0) },
	"counter-strict": func(w int64, l []int64) decider { return newCounter(w, l, w-1) },
	"gcra":           newGCRA,
}

// rowOf is a row of a matrix that is stored row by row.
func rowOf[T any](all []T, row, width int) []T { return all[row*width : (row+1)*width] }

// fixedWindow counts the requests of the current window: a limit admits the first ones.
type fixedWindow struct {
	width  int64
	limits []int64
	states []demand
}

// demand is how many requests came in a window.
type demand struct{ window, wanted int64 }

func newFixed(width int64, limits []int64) decider { return &fixedWindow{width: width, limits: limits} }

func (f *fixedWindow) grow(n int) {
	f.states = append(f.states, make([]demand, n-len(f.states))...)
}
func (f *fixedWindow) forget(key int) { f.states[key] = demand{} }

func (f *fixedWindow) step(key int, at int64, _ []int32) (admit Mask) {
	s := &f.states[key]
	if w := at / f.width; w > s.window {
		*s = demand{window: w}
	}
	for i, limit := range f.limits {
		if s.wanted < limit {
			admit |= 1 << i
		}
	}
	s.wanted++
	return admit
}

// slidingLog admits what the window behind has room for.
type slidingLog struct{ limits []int64 }

func newLog(_ int64, limits []int64) decider { return slidingLog{limits} }

func (slidingLog) grow(int)   {}
func (slidingLog) forget(int) {}

func (l slidingLog) step(_ int, _ int64, behind []int32) (admit Mask) {
	for i, limit := range l.limits {
		if int64(behind[i]) < limit {
			admit |= 1 << i
		}
	}
	return admit
}

// slidingCounter weighs the window before.
type slidingCounter struct {
	width  int64
	limits []int64
	up     int64 // what is added before a share is cut to a whole number
	window []int64
	counts []twoWindows // of key × limit
}

type twoWindows struct{ current, previous int32 }

func newCounter(width int64, limits []int64, up int64) decider {
	return &slidingCounter{width: width, limits: limits, up: up}
}

func (c *slidingCounter) grow(n int) {
	more := n - len(c.window)
	c.window = append(c.window, make([]int64, more)...)
	c.counts = append(c.counts, make([]twoWindows, more*len(c.limits))...)
}

func (c *slidingCounter) forget(key int) {
	c.window[key] = 0
	clear(rowOf(c.counts, key, len(c.limits)))
}

func (c *slidingCounter) step(key int, at int64, _ []int32) (admit Mask) {
	window := at / c.width
	counts := rowOf(c.counts, key, len(c.limits))
	switch was := c.window[key]; {
	case window == was+1:
		for i := range counts {
			counts[i] = twoWindows{previous: counts[i].current}
		}
	case window > was+1:
		clear(counts)
	}
	c.window[key] = window
	left := (window+1)*c.width - at
	for i, limit := range c.limits {
		share := (int64(counts[i].previous)*left + c.up) / c.width
		if int64(counts[i].current)+1+share <= limit {
			counts[i].current++
			admit |= 1 << i
		}
	}
	return admit
}

// cells is GCRA: when everything is available again, in microseconds and parts of one, of
// which a limit has as many as units.
type cells struct {
	width  int64
	limits []int64
	full   []backlog // of key × limit
}

type backlog struct{ micros, parts int64 }

func newGCRA(width int64, limits []int64) decider { return &cells{width: width, limits: limits} }

func (c *cells) grow(n int) {
	c.full = append(c.full, make([]backlog, n*len(c.limits)-len(c.full))...)
}

func (c *cells) forget(key int) { clear(rowOf(c.full, key, len(c.limits))) }

func (c *cells) step(key int, at int64, _ []int32) (admit Mask) {
	full := rowOf(c.full, key, len(c.limits))
	for i, limit := range c.limits {
		f := &full[i]
		micros, parts := f.micros, f.parts
		if micros < at {
			micros, parts = at, 0
		}
		if (micros-at)*limit+parts+c.width > c.width*limit {
			continue
		}
		parts += c.width
		f.micros, f.parts = micros+parts/limit, parts%limit
		admit |= 1 << i
	}
	return admit
}

// newDecider checks what it is asked for.
func newDecider(algorithm string, window time.Duration, limits []int64) (decider, error) {
	a, ok := limiter.Named(algorithm)
	if !ok {
		return nil, fmt.Errorf("algorithm %q: want one of %v", algorithm, limiter.Names())
	}
	if len(limits) == 0 || len(limits) > MostLimits || !slices.IsSorted(limits) {
		return nil, fmt.Errorf("%d limits: want 1 to %d, from the lowest up", len(limits), MostLimits)
	}
	for _, limit := range limits {
		if err := a.Validate(limiter.Limit{Max: limit, Window: window}); err != nil {
			return nil, err
		}
		if limit > 1<<30 {
			return nil, fmt.Errorf("limit %d: want at most %d", limit, 1<<30)
		}
	}
	if a.DecidesAs != "" {
		a.Name = a.DecidesAs
	}
	return deciders[a.Name](window.Microseconds(), limits), nil
}
