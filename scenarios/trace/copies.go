package trace

import (
	"bytes"
	"os"
	"slices"
)

// fewLines may be alike in two logs by chance, such as those of health checks.
const fewLines = 16

// copies reports whether a file is another one, or begins with all of it: a rotated log beside
// its compressed copy. Its first lines are known; only if they are alike more is read.
func copies(a, b string, first, second []logLine, done <-chan struct{}) (bool, error) {
	one, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	other, err := os.Stat(b)
	if err != nil {
		return false, err
	}
	if os.SameFile(one, other) {
		return true, nil
	}
	n := min(len(first), len(second))
	if n == 0 || !slices.EqualFunc(first[:n], second[:n], func(x, y logLine) bool { return bytes.Equal(x.text, y.text) }) {
		return false, nil
	}
	return prefixed(a, b, done)
}

// prefixed reports whether one of two files begins with all lines of the other, and that is
// more than few. One that cannot be read to its end is as long as it can be read.
func prefixed(a, b string, done <-chan struct{}) (bool, error) {
	left, right := source{names: []string{a}, done: done}, source{names: []string{b}, done: done}
	defer left.end()
	defer right.end()
	for n := 0; ; n++ {
		x, errX := left.next()
		y, errY := right.next()
		if errX != nil || errY != nil {
			return n >= fewLines, nil
		}
		if !bytes.Equal(x.text, y.text) {
			return false, nil
		}
	}
}

// end closes the file at hand, if there is one.
func (s *source) end() {
	if s.lines != nil {
		s.lines = nil
		s.close() // it was read, and nothing depends on how it ends
	}
}
