package scenarios

import (
	"math/big"
	"math/rand/v2"
	"time"
)

// constantShape spaces arrivals evenly, the first at the start of the phase.
var constantShape = Shape{
	Name:   "constant",
	Doc:    "evenly spaced requests: count of them, or as many as the rate gives",
	needs:  []string{"for"},
	either: []string{"count", "rate"},
	Picture: `
█   █   █   █   █
█───█───█───█───█────  gap = for/count = 1/rate`,
	arrive: evenly,
}

// saturate never lets a limiter rest.
var saturate = Shape{
	Name:   "saturate",
	Doc:    "evenly spaced requests at ten times the limit, unless a count or a rate says otherwise",
	needs:  []string{"for"},
	takes:  []string{"count", "rate"},
	either: []string{"count", "rate"},
	Picture: `
█████████████████████
█████████████████████  10×limit in each window`,
	total: func(d demand) *big.Rat {
		if d.rate != nil || d.counted {
			return new(big.Rat)
		}
		return new(big.Rat).Mul(d.flood(), new(big.Rat).SetInt64(d.span.Microseconds()))
	},
	arrive: func(d demand, rng *rand.Rand) []time.Duration {
		if d.rate == nil && !d.counted {
			d.rate = d.flood()
			if d.rate.Sign() == 0 {
				return nil
			}
		}
		return evenly(d, rng)
	},
}

// flood is ten times the limit, per microsecond.
func (d demand) flood() *big.Rat { return new(big.Rat).Mul(d.full, big.NewRat(10, 1)) }

func evenly(d demand, _ *rand.Rand) []time.Duration {
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
}

// arrivalsWithin counts the k >= 0 with k/rate < span: ceil(rate × span).
func arrivalsWithin(span time.Duration, rate *big.Rat) int64 {
	n := new(big.Rat).Mul(rate, new(big.Rat).SetInt64(span.Microseconds()))
	up := new(big.Int).Add(n.Num(), new(big.Int).Sub(n.Denom(), big.NewInt(1)))
	return up.Div(up, n.Denom()).Int64()
}
