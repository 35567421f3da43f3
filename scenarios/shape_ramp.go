package scenarios

import (
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"time"
)

// ramp changes its rate evenly. With rates f and g over a span S, by t it has
// sent N(t) = f·t + (g-f)·t²/(2S) requests; the k-th comes at the first
// microsecond at which N(t) >= k, counted from 0.
var ramp = Shape{
	Name:  "ramp",
	Doc:   "a rate that rises or falls evenly, from one to another",
	needs: []string{"for", "from", "to"},
	Picture: `
█       █     █   █  █ █ █████
█───────█─────█───█──█─█─█████  from … to`,
	arrive: func(d demand, _ *rand.Rand) []time.Duration {
		r := newRamp(d)
		var offsets []time.Duration
		for k := int64(0); ; k++ {
			at := r.reaches(k)
			if at >= d.span.Microseconds() {
				return offsets
			}
			offsets = append(offsets, time.Duration(at)*time.Microsecond)
		}
	},
}

// rampCurve is N(t) with the denominator cleared: (a·t² + b·t) / unit.
type rampCurve struct {
	a, b, unit *big.Int
	from, grow float64 // for a first guess
	span       int64
}

func newRamp(d demand) rampCurve {
	grow := new(big.Rat).Sub(d.to, d.from)
	grow.Quo(grow, new(big.Rat).SetInt64(2*d.span.Microseconds()))
	unit := new(big.Int).Mul(d.from.Denom(), grow.Denom())
	scaled := func(r *big.Rat) *big.Int {
		return new(big.Int).Div(new(big.Int).Mul(r.Num(), unit), r.Denom())
	}
	r := rampCurve{a: scaled(grow), b: scaled(d.from), unit: unit, span: d.span.Microseconds()}
	r.from, _ = d.from.Float64()
	r.grow, _ = grow.Float64()
	return r
}

// reached reports whether N(t) >= k.
func (r rampCurve) reached(t, k int64) bool {
	at := big.NewInt(t)
	n := new(big.Int).Mul(r.a, at)
	n.Add(n, r.b).Mul(n, at)
	return n.Cmp(new(big.Int).Mul(big.NewInt(k), r.unit)) >= 0
}

// reaches is when the k-th request comes. A floating point solution is a guess
// that exact arithmetic puts right.
func (r rampCurve) reaches(k int64) int64 {
	if k == 0 {
		return 0
	}
	guess := float64(k) / r.from
	if r.grow != 0 {
		// Below zero the curve never gets there; the end is the guess.
		root := math.Sqrt(r.from*r.from + 4*r.grow*float64(k))
		guess = 2 * float64(k) / (r.from + root)
	}
	if math.IsNaN(guess) || guess > float64(r.span) {
		guess = float64(r.span)
	}
	return r.first(k, min(max(int64(guess), 0), r.span))
}

// first is the first t with N(t) >= k, or the end of the span. It looks around a
// guess, in steps that double: near the end of a ramp to 0 a guess can be far off.
func (r rampCurve) first(k, guess int64) int64 {
	low, high := guess, guess // low-1 has not been reached, high has, or is the end
	for step := int64(1); low > 0 && r.reached(low-1, k); step *= 2 {
		high, low = low-1, max(low-1-step, 0)
	}
	for step := int64(1); high < r.span && !r.reached(high, k); step *= 2 {
		low, high = high+1, min(high+step, r.span)
	}
	return low + int64(sort.Search(int(high-low), func(i int) bool { return r.reached(low+int64(i), k) }))
}
