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

// Place moves requests into the second that begins with their At. Those of one At stay in
// their order; where there are several, as durations were taken off, all are sorted again.
// The generator is for Poisson alone. A Placer does this for a whole log, and for other
// uncertainties than a second.
func (s Spread) Place(requests []Request, random *rand.Rand) {
	for rest := requests; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].At == rest[0].At {
			n++
		}
		s.place(rest[:n], second, random)
		rest = rest[n:]
	}
	slices.SortStableFunc(requests, byArrival)
}

// place moves requests of one At within a span of µs.
func (s Spread) place(requests []Request, span int64, random *rand.Rand) {
	n := int64(len(requests))
	if span <= 1 {
		return // there is nowhere to go
	}
	var places []int64
	if s == Poisson {
		places = make([]int64, n)
		for i := range places {
			places[i] = random.Int64N(span)
		}
		slices.Sort(places)
	}
	for i := range requests {
		switch s {
		case Even:
			requests[i].At += (2*int64(i) + 1) * span / (2 * n)
		case Back:
			requests[i].At += span - 1
		case Poisson:
			requests[i].At += places[i]
		}
	}
}
