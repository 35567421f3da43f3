package scenarios

import (
	"math/rand/v2"
	"slices"
	"time"
)

// poisson is what many independent clients add up to. With a rate the gaps are
// exponential and the count is random; with a count the instants are that many
// sorted uniforms, which is a Poisson process given its count.
var poisson = Shape{
	Name:   "poisson",
	Doc:    "independent clients: random instants at a rate, or exactly count of them",
	needs:  []string{"for"},
	either: []string{"count", "rate"},
	Picture: `
█ █    █     ██     █
█─█────█─────██─────█  gaps exponential, mean 1/rate`,
	arrive: func(d demand, rng *rand.Rand) []time.Duration {
		if d.rate != nil {
			return exponentialGaps(d, rng)
		}
		offsets := make([]time.Duration, d.count)
		for k := range offsets {
			offsets[k] = time.Duration(rng.Int64N(d.span.Microseconds())) * time.Microsecond
		}
		slices.Sort(offsets)
		return offsets
	},
}

func exponentialGaps(d demand, rng *rand.Rand) []time.Duration {
	perMicro, _ := d.rate.Float64()
	var offsets []time.Duration
	for at := rng.ExpFloat64() / perMicro; at < float64(d.span.Microseconds()); at += rng.ExpFloat64() / perMicro {
		offsets = append(offsets, time.Duration(at)*time.Microsecond)
	}
	return offsets
}
