package simulator

// places finds the slots of keys: in an array where keys are numbers from 0 on, in a map
// where they are pairs.
type places struct {
	flat  []uint32 // a slot and one; 0 is none
	pairs map[uint64]uint32
}

func newPlaces(key Key) places {
	if key == PerRoute {
		return places{pairs: map[uint64]uint32{}}
	}
	return places{}
}

func (p *places) find(key uint64) uint32 {
	if p.pairs != nil {
		if i, ok := p.pairs[key]; ok {
			return i
		}
		return none
	}
	if key >= uint64(len(p.flat)) {
		return none
	}
	return p.flat[key] - 1
}

// put remembers the slot of a key, or that it has none.
func (p *places) put(key uint64, slot uint32) {
	if p.pairs == nil {
		p.flat = longer(p.flat, key)
		p.flat[key] = slot + 1
	} else if slot == none {
		delete(p.pairs, key)
	} else {
		p.pairs[key] = slot
	}
}

// longer makes a slice long enough to have a place.
func longer[T any](s []T, place uint64) []T {
	if place < uint64(len(s)) {
		return s
	}
	return append(s, make([]T, place+1-uint64(len(s)))...)
}
