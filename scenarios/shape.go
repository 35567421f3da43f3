package scenarios

import (
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"time"
)

// Shape is how a phase spreads its arrivals.
type Shape struct {
	Name, Doc string
	// instant shapes happen at one moment and take no "for" and no "rate".
	instant bool
	// arrive returns the offsets from the start of the phase, in order, each in
	// [0, d.span).
	arrive func(d demand, rng *rand.Rand) []time.Duration
}

// demand is how much traffic a phase asks for.
type demand struct {
	span  time.Duration
	count int64
	rate  *big.Rat // per microsecond; nil if a count was given
}

// Shapes is the table of all shapes. To add one, add its row.
var Shapes = []Shape{burst, constantShape, poisson}

func shapeNamed(name string) (Shape, error) {
	for _, s := range Shapes {
		if s.Name == name {
			return s, nil
		}
	}
	return Shape{}, UnknownName("shape", name, shapeNames())
}

// A misfit is a mistake in one field of a phase; field "" is the phase itself.
type misfit struct {
	field string
	err   error
}

// misfits reports what does not go together in a phase of this shape that has
// certain fields.
func (s Shape) misfits(has func(field string) bool) []misfit {
	var out []misfit
	add := func(field, format string) {
		out = append(out, misfit{field, fmt.Errorf(format, s.Name)})
	}
	if s.instant {
		if has("for") {
			add("for", `%s happens at one instant and takes no "for"`)
		}
		if has("rate") {
			add("rate", `%s takes a "count" and no "rate"`)
		} else if !has("count") {
			add("", `%s needs a "count"`)
		}
		return out
	}
	if !has("for") {
		add("", `%s needs a "for"`)
	}
	switch {
	case has("count") && has("rate"):
		add("rate", `%s needs either a "count" or a "rate", not both`)
	case !has("count") && !has("rate"):
		add("", `%s needs either a "count" or a "rate"`)
	}
	return out
}

// micro is k/rate in whole microseconds, rounded down: the instant of the k-th
// arrival. Each is computed from the start, so that no error adds up. The result
// has to be within a span.
func micro(k int64, rate *big.Rat) time.Duration {
	if rate.Num().IsUint64() && rate.Denom().IsUint64() {
		hi, lo := bits.Mul64(uint64(k), rate.Denom().Uint64())
		us, _ := bits.Div64(hi, lo, rate.Num().Uint64())
		return time.Duration(us) * time.Microsecond
	}
	at := new(big.Rat).Quo(new(big.Rat).SetInt64(k), rate)
	us := new(big.Int).Div(at.Num(), at.Denom())
	return time.Duration(us.Int64()) * time.Microsecond
}
