package scenarios

import (
	"math"
	"math/rand/v2"
	"sort"
)

// maxZipf bounds the exponent; at 20 the first key has all but a millionth.
const maxZipf = 20

// picker draws the key of the i-th request of a phase.
type picker func(i int, rng *rand.Rand) int32

// picker makes the way in which these keys are drawn.
func (k Keys) picker() picker {
	switch k.Distribution {
	case "cycle":
		return func(i int, _ *rand.Rand) int32 { return int32(i % k.Count) }
	case "zipf":
		return zipf(k.Count, k.S)
	default:
		return func(_ int, rng *rand.Rand) int32 { return int32(rng.IntN(k.Count)) }
	}
}

// zipf draws key k, from 0, with a probability proportional to 1/(k+1)^s, for
// any s > 0: by looking a uniform number up in the cumulated weights. (The
// generator of the standard library wants s > 1.)
func zipf(n int, s float64) picker {
	upTo := make([]float64, n)
	total := 0.0
	for k := range upTo {
		total += math.Pow(float64(k+1), -s)
		upTo[k] = total
	}
	return func(_ int, rng *rand.Rand) int32 {
		at := rng.Float64() * total
		return int32(min(sort.SearchFloat64s(upTo, at), n-1))
	}
}
