package scenarios

import (
	"math/big"
	"math/rand/v2"
	"time"
)

// constantShape spaces arrivals evenly, the first at the start of the phase.
var constantShape = Shape{
	Name: "constant",
	Doc:  "evenly spaced requests: count of them, or as many as the rate gives",
	arrive: func(d demand, _ *rand.Rand) []time.Duration {
		rate := d.rate
		n := d.count
		if rate == nil {
			rate = big.NewRat(max(n, 1), d.span.Microseconds())
		} else {
			n = arrivalsWithin(d.span, rate)
		}
		offsets := make([]time.Duration, n)
		for k := range offsets {
			offsets[k] = micro(int64(k), rate)
		}
		return offsets
	},
}

// arrivalsWithin counts the k >= 0 with k/rate < span: ceil(rate × span).
func arrivalsWithin(span time.Duration, rate *big.Rat) int64 {
	n := new(big.Rat).Mul(rate, new(big.Rat).SetInt64(span.Microseconds()))
	up := new(big.Int).Add(n.Num(), new(big.Int).Sub(n.Denom(), big.NewInt(1)))
	return up.Div(up, n.Denom()).Int64()
}
