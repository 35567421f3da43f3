package trace

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Placer places requests of a whole log, batch after batch, each within Uncertainty from
// its At on; for the generator see Spread.Place. It holds those of one uncertainty. The zero value of
// Uncertainty leaves all where they are. It is for one goroutine.
type Placer struct {
	Spread      Spread
	Uncertainty int64 // µs, as Summary has it
	Random      *rand.Rand

	equal  []Request // of one At, and more may come
	placed []Request // in order; earlier ones may come
	out    []Request
}

// Place takes the next batch, and gives what is certain to be in order, good until the
// next call.
func (p *Placer) Place(requests []Request) []Request {
	for _, q := range requests {
		if len(p.equal) > 0 && p.equal[0].At != q.At {
			p.settle()
		}
		p.equal = append(p.equal, q)
	}
	if len(p.equal) == 0 {
		return nil
	}
	return p.until(p.equal[0].At)
}

// Rest is what is left after the last batch.
func (p *Placer) Rest() []Request {
	p.settle()
	p.out = append(p.out[:0], p.placed...)
	p.placed = p.placed[:0]
	slices.SortStableFunc(p.out, byArrival)
	return p.out
}

// settle places those of one At.
func (p *Placer) settle() {
	p.Spread.place(p.equal, p.Uncertainty, p.Random)
	p.placed = append(p.placed, p.equal...)
	p.equal = p.equal[:0]
}

// until gives what was placed before some time: all that is to come is placed after it.
func (p *Placer) until(at int64) []Request {
	slices.SortStableFunc(p.placed, byArrival)
	n, _ := slices.BinarySearchFunc(p.placed, at, func(q Request, at int64) int { return cmp.Compare(q.At, at) })
	p.out = append(p.out[:0], p.placed[:n]...)
	p.placed = p.placed[:copy(p.placed, p.placed[n:])]
	return p.out
}

func byArrival(a, b Request) int { return cmp.Compare(a.At, b.At) }
