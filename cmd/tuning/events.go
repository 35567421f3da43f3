package tuning

import (
	"cmp"
	"slices"
)

// Event is a request of the riskiest windows, for a scenario.
type Event struct {
	At     int64  // µs since 1970
	Holder uint32 // whose budget it takes from: a client, a network, or a client on a route
	Route  string
	Status uint16
}

// events are those of two windows, or as many as a scenario takes: then only those of the key
// that asked for most, and of these the last ones up to its peak and what has room after it.
type events struct {
	most  int
	peak  int64 // when the key has asked for most
	total int64
	all   []Event // while they are no more than most
	own   []Event
}

// add takes the next request in order of time.
func (k *events) add(e Event, own bool) {
	if k.total++; k.total <= int64(k.most) {
		k.all = append(k.all, e)
	} else {
		k.all = nil
	}
	if !own || e.At > k.peak && len(k.own) >= k.most {
		return
	}
	if k.own = append(k.own, e); len(k.own) >= 2*k.most {
		k.own = slices.Delete(k.own, 0, k.most)
	}
}

// chosen are those for a scenario.
func (k *events) chosen() []Event {
	if k.total <= int64(k.most) {
		return k.all
	}
	until, _ := slices.BinarySearchFunc(k.own, k.peak+1, func(e Event, at int64) int { return cmp.Compare(e.At, at) })
	from := max(0, until-k.most)
	return k.own[from:min(len(k.own), from+k.most)]
}
