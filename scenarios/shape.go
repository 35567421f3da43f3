package scenarios

import (
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"
)

// Shape is how a phase spreads its arrivals.
type Shape struct {
	Name, Doc string
	// Picture shows requests over time in a few lines of text.
	Picture string
	// needs are the fields that a phase of this shape has to have, and takes those
	// that it may have.
	needs, takes []string
	// refuses are fields of any other phase that one of this shape may not have.
	refuses []string
	// either are two fields of which a phase has exactly one.
	either []string
	// total is how many requests one repetition sends, of shapes for which no count
	// or rate is checked; else nil.
	total func(d demand) *big.Rat
	// perKey says that every key sends the arrivals, and not all keys together.
	perKey bool
	// arrive returns the offsets from the start of the phase, in order, each in
	// [0, d.span).
	arrive func(d demand, rng *rand.Rand) []time.Duration
}

// demand is how much traffic a phase asks for.
type demand struct {
	span     time.Duration
	count    int64
	rate     *big.Rat // per microsecond; nil if none was given
	from, to *big.Rat // per microsecond, of a ramp
	every    time.Duration
	full     *big.Rat        // the phase's limit per window, per microsecond
	counted  bool            // a count was given
	recorded []time.Duration // the requests of a log, as offsets
}

// Shapes is the table of all shapes. To add one, add its row.
var Shapes = []Shape{burst, herd, constantShape, saturate, drip, ramp, poisson, replay}

// shapeFields are the fields of a phase that depend on its shape.
var shapeFields = []string{"for", "count", "rate", "from", "to", "every", "trace", "format", "speed", "since", "until", "spread"}

func shapeNamed(name string) (Shape, error) {
	for _, s := range Shapes {
		if s.Name == name {
			return s, nil
		}
	}
	return Shape{}, UnknownName("shape", name, shapeNames())
}

// Fields are the fields that depend on the shape: those that a phase needs and
// those that it may have. "count or rate" is one of the two, not both.
func (s Shape) Fields() (needs, may []string) {
	needs = slices.Clone(s.needs)
	if len(s.either) == 2 {
		one := s.either[0] + " or " + s.either[1]
		if slices.Contains(s.takes, s.either[0]) {
			may = append(may, one)
		} else {
			needs = append(needs, one)
		}
	}
	for _, field := range s.takes {
		if !slices.Contains(s.either, field) {
			may = append(may, field)
		}
	}
	return needs, may
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
	add := func(field, format string, args ...any) {
		out = append(out, misfit{field, fmt.Errorf(format, args...)})
	}
	for _, field := range shapeFields {
		known := slices.Contains(s.needs, field) || slices.Contains(s.takes, field) || slices.Contains(s.either, field)
		switch {
		case has(field) && !known:
			add(field, "%s takes no %q", s.Name, field)
		case !has(field) && slices.Contains(s.needs, field):
			article := "a"
			if field == "every" {
				article = "an"
			}
			add("", "%s needs %s %q", s.Name, article, field)
		}
	}
	for _, field := range s.refuses {
		if has(field) {
			add(field, "%s takes no %q", s.Name, field)
		}
	}
	if len(s.either) == 2 {
		first, second := s.either[0], s.either[1]
		switch {
		case has(first) && has(second):
			add(second, "%s needs either a %q or a %q, not both", s.Name, first, second)
		case !has(first) && !has(second) && !slices.Contains(s.takes, first):
			add("", "%s needs either a %q or a %q", s.Name, first, second)
		}
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
