package scenarios

import (
	"math/big"
	"math/rand/v2"
	"time"
)

// drip sends one request at a time, a fixed gap apart: what a poller does.
var drip = Shape{
	Name:  "drip",
	Doc:   "one request every so often, the first at the start of the phase",
	needs: []string{"for", "every"},
	Picture: `
█       █       █
█───────█───────█────  gap = every`,
	total: func(d demand) *big.Rat {
		if d.every == 0 { // refused elsewhere
			return new(big.Rat)
		}
		return big.NewRat(int64((d.span+d.every-1)/d.every), 1)
	},
	arrive: func(d demand, _ *rand.Rand) []time.Duration {
		var offsets []time.Duration
		for at := time.Duration(0); at < d.span; at += d.every {
			offsets = append(offsets, at)
		}
		return offsets
	},
}
