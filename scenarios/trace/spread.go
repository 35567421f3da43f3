package trace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Spread says where within a second its requests arrived, when stamps are of whole
// seconds: nobody knows, and a limiter decides differently.
type Spread string

// What may have happened. Front and back are the extremes: all at once, as early or as
// late as can be.
const (
	Front   Spread = "front"
	Even    Spread = "even"
	Back    Spread = "back"
	Poisson Spread = "poisson" // independent of each other
)

// Spreads are all of them.
var Spreads = []Spread{Front, Even, Back, Poisson}

// ParseSpread reads one of Spreads.
func ParseSpread(s string) (Spread, error) {
	if slices.Contains(Spreads, Spread(s)) {
		return Spread(s), nil
	}
	names := make([]string, len(Spreads))
	for i, spread := range Spreads {
		names[i] = string(spread)
	}
	return "", fmt.Errorf("spread %q: want one of %s", s, strings.Join(names, ", "))
}

const second = 1_000_000 // µs

// Place moves requests that arrived in one second, from its beginning on, into it. They
// stay in their order. The generator is for Poisson alone.
func (s Spread) Place(requests []Request, random *rand.Rand) {
	n := int64(len(requests))
	var places []int64
	if s == Poisson {
		places = make([]int64, n)
		for i := range places {
			places[i] = random.Int64N(second)
		}
		slices.Sort(places)
	}
	for i := range requests {
		switch s {
		case Even:
			requests[i].At += (2*int64(i) + 1) * second / (2 * n)
		case Back:
			requests[i].At += second - 1
		case Poisson:
			requests[i].At += places[i]
		}
	}
}
