package tuning

import (
	"cmp"
	"slices"
)

// Heavy clients are few: at most one in ten. They ask for several times what the others do,
// and not for little.
const (
	heavyShare = 10
	heavyGap   = 2.0
	heavyLeast = 10
)

// gap is between clients that ask for at most so much in a window, and heavy ones.
type gap struct {
	above int64
	ratio float64 // of the least above it to the most below; 0 is no gap
	score float64 // by which gaps are compared, also those of different windows
}

// heavyAbove finds a gap between the peaks of clients in a window, among the tenth of them
// that asks for most: who is above it is heavy. A gap is a ratio of two neighbours of at least
// two. Of several it is the one with the highest ratio times that of how many requests come
// within a second, the least above it to the most below: an address with many people behind
// it asks for much, and not for so much at once as a program does. Without a gap nobody is
// heavy.
func heavyAbove(peaks, seconds []uint32) (found gap) {
	order := make([]int, 0, len(peaks))
	for client, p := range peaks {
		if p > 0 {
			order = append(order, client)
		}
	}
	if len(order) == 0 {
		return found
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(peaks[a], peaks[b]) })
	from := len(order) - len(order)/heavyShare
	least := make([]uint32, len(order)+1) // within a second, of this one and all above
	least[len(order)] = ^uint32(0)
	for i := len(order) - 1; i >= 0; i-- {
		least[i] = min(least[i+1], seconds[order[i]])
	}
	found.above = int64(peaks[order[len(order)-1]])
	most := uint32(1)
	for i, client := range order {
		if i > 0 && i >= from {
			low, high := peaks[order[i-1]], peaks[client]
			ratio := float64(high) / float64(low)
			if score := ratio * float64(least[i]) / float64(most); high >= heavyLeast && ratio >= heavyGap && score > found.score {
				found = gap{int64(low), ratio, score}
			}
		}
		most = max(most, seconds[client])
	}
	return found
}

// groups are 1 for clients above a peak, and 0 for others; and how many are.
func groups(peaks []uint32, above int64) (group []uint8, heavy int64) {
	group = make([]uint8, len(peaks))
	for i, p := range peaks {
		if int64(p) > above {
			group[i] = 1
			heavy++
		}
	}
	return group, heavy
}
