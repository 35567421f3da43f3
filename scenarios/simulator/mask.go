package simulator

import (
	"math/bits"
	"sort"
)

// mask has a bit for each limit of a bank, in their order.
type mask uint64

// lowest is the first limit of a mask that is not empty.
func (m mask) lowest() int { return bits.TrailingZeros64(uint64(m)) }

// length is one more than the last limit of a mask, and 0 if it is empty.
func (m mask) length() int { return bits.Len64(uint64(m)) }

// below has the first n limits.
func below(n int) mask { return mask(1)<<n - 1 } // 1<<64 is 0

// ladder is the limits, from the lowest up.
type ladder struct {
	limits []int64
	first  int64
	ranks  []uint8 // of small counts: how many limits are at most that
}

func newLadder(limits []int64) ladder {
	const small = 1 << 12
	l := ladder{limits: limits, first: limits[0], ranks: make([]uint8, min(limits[len(limits)-1]+1, small))}
	for i := range l.ranks {
		l.ranks[i] = uint8(l.search(int64(i)))
	}
	return l
}

func (l *ladder) search(count int64) int {
	return sort.Search(len(l.limits), func(i int) bool { return l.limits[i] > count })
}

// reached is the limits that a count has reached.
func (l *ladder) reached(count int64) mask {
	switch {
	case count < l.first:
		return 0
	case count < int64(len(l.ranks)):
		return below(int(l.ranks[count]))
	default:
		return below(l.search(count))
	}
}

// tally counts how often each limit was in a mask. Its low digits stand upright, one in
// each word, so that a mask is added in a few operations whatever is in it.
type tally struct {
	digits [7]mask
	adds   int
	high   []int64 // nil until needed
}

func (t *tally) add(m mask) {
	if m == 0 {
		return
	}
	if t.adds == 1<<len(t.digits)-1 {
		t.carry()
	}
	t.adds++
	for i := range t.digits {
		t.digits[i], m = t.digits[i]^m, t.digits[i]&m
		if m == 0 {
			return
		}
	}
}

// carry moves the low digits to the counts.
func (t *tally) carry() {
	if t.high == nil {
		t.high = make([]int64, MostLimits)
	}
	for i, m := range t.digits {
		for ; m != 0; m &= m - 1 {
			t.high[m.lowest()] += 1 << i
		}
	}
	t.digits, t.adds = [7]mask{}, 0
}

// count is how often a limit was in a mask.
func (t *tally) count(limit int) int64 {
	n := int64(0)
	if t.high != nil {
		n = t.high[limit]
	}
	for i, m := range t.digits {
		n += int64(m>>limit&1) << i
	}
	return n
}

// counts are those of the first limits.
func (t *tally) counts(limits int) []int64 {
	counts := make([]int64, limits)
	for i := range counts {
		counts[i] = t.count(i)
	}
	return counts
}
