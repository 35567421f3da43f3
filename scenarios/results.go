package scenarios

import "iter"

// Results are what became of the requests of a plan, by their place in it. Reading is
// safe for concurrent use.
type Results interface {
	Len() int
	At(i int) Result
	All() iter.Seq2[int, Result]
}

// ResultList are results as they are. Nil is none.
type ResultList []Result

var _ Results = ResultList(nil)

// Len is how many there are.
func (l ResultList) Len() int { return len(l) }

// At is one of them.
func (l ResultList) At(i int) Result { return l[i] }

// All are all of them, in order.
func (l ResultList) All() iter.Seq2[int, Result] {
	return func(yield func(int, Result) bool) {
		for i, r := range l {
			if !yield(i, r) {
				return
			}
		}
	}
}
