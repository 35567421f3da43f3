package scenarios_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/scenarios"
)

func TestRamps(t *testing.T) {
	for _, row := range []struct {
		ramp string
		want []string
		why  string
	}{
		{
			"from: 0/s, to: 2/s, for: 4s",
			[]string{"0s a", "2s a", "2.828428s a", "3.464102s a"},
			"N(t) = t²/4, so the k-th is at 2√k s, rounded up; the fourth is at the end and does not count",
		},
		{
			"from: 2/s, to: 0/s, for: 4s",
			[]string{"0s a", "535.899ms a", "1.171573s a", "2s a"},
			"N(t) = 2t - t²/4, so the k-th is at 4 - √(16-4k) s",
		},
		{
			"from: 2/s, to: 2/s, for: 2s + 1us",
			[]string{"0s a", "500ms a", "1s a", "1.5s a", "2s a"},
			"a flat ramp is a constant rate",
		},
		{
			"from: 0/s, to: 1/s, for: 1s",
			[]string{"0s a"},
			"half a request is less than one; the first comes at once",
		},
	} {
		p := planned(t, scenario(t, "1/1s", "name: a, shape: ramp, "+row.ramp))
		checkPlan(t, p)
		if diff := cmp.Diff(row.want, timetable(p)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", row.ramp, row.why, diff)
		}
	}
}

// sentBy is N(t) = from·t + (to-from)·t²/(2·span), everything in microseconds.
func sentBy(from, to *big.Rat, span, t int64) *big.Rat {
	at := new(big.Rat).SetInt64(t)
	grow := new(big.Rat).Sub(to, from)
	grow.Quo(grow, new(big.Rat).SetInt64(2*span))
	n := new(big.Rat).Mul(grow, at)
	return n.Add(n, from).Mul(n, at)
}

// checkRamp holds what a ramp is: the k-th request comes at the first
// microsecond by which k have come, and all that come before the end are there.
func checkRamp(t interface{ Errorf(string, ...any) }, p *scenarios.Plan, from, to *big.Rat, why string) {
	span := p.Phases[0].End.Microseconds()
	reached := func(at int64, k int) bool {
		return sentBy(from, to, span, at).Cmp(new(big.Rat).SetInt64(int64(k))) >= 0
	}
	for k, a := range p.Arrivals {
		at := a.At.Microseconds()
		if !reached(at, k) || at > 0 && reached(at-1, k) {
			t.Errorf("request %d of %d is at %d µs, where %s are due (%s)", k, len(p.Arrivals), at, sentBy(from, to, span, at).FloatString(6), why)
			return
		}
	}
	if n := len(p.Arrivals); n == 0 || reached(span-1, n) {
		t.Errorf("%d requests in %d µs, there are more (%s)", n, span, why)
	}
}

func TestRampsAreExact(t *testing.T) {
	const third = "333333333333333333333333333333/1000000000000000000000000000000"
	for _, row := range []struct {
		from, to, span  string
		perSecond, upTo string
		why             string
	}{
		{"10/s", "1000/s", "10s", "10", "1000", "rising"},
		{"1000/s", "10/s", "10s", "1000", "10", "falling"},
		{"0/s", "1000/s", "10s", "0", "1000", "from nothing"},
		{"1000/s", "0/s", "10s", "1000", "0", "to nothing; where it ends the curve is flat"},
		{"7/s", "7/s", "777s", "7", "7", "flat"},
		{"0/s", "3000000/s", "4ms", "0", "3000000", "several each tick"},
		{"3000000/s", "0/s", "4ms", "3000000", "0", "and fewer and fewer"},
		{"0.333333333333333333333333333333/s", "limit/3*1/s", "5000s", third, "1/3", "hardly rising"},
		{"2000/3650d", "0/s", "3650d", "2000/315360000", "0", "ten years, the last request a century after the last but one if it were to come"},
		{"2000.00000000000000002/3650d", "0/s", "3650d", "200000000000000000002/31536000000000000000000000", "0", "a last request that floating point does not see coming"},
		{"0/s", "2000/3650d", "3650d", "0", "2000/315360000", "ten years from nothing"},
		{"0.000000000000000000000000000000000001/s", "1/s", "100s", "1/1000000000000000000000000000000000000", "1", "from next to nothing"},
		{"999999999.999999999/s", "1000000000/s", "10us", "999999999999999999/1000000000", "1000000000", "a thousand each tick"},
	} {
		p := planned(t, scenario(t, "1/1s", fmt.Sprintf("name: a, shape: ramp, from: %s, to: %s, for: %s", row.from, row.to, row.span)))
		perMicro := func(s string) *big.Rat { return new(big.Rat).Quo(rational(s), big.NewRat(1_000_000, 1)) }
		checkPlan(t, p)
		checkRamp(t, p, perMicro(row.perSecond), perMicro(row.upTo), row.why)
	}
}

func TestAnyRampIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(0, 2000)
		from, to := rate.Draw(t, "from"), rate.Draw(t, "to")
		per := rapid.Int64Range(1, 2_000_000).Draw(t, "per")
		if from+to == 0 {
			from = 1
		}
		span := rapid.Int64Range(1, 2*per).Draw(t, "span")
		s, err := read("1/1s", fmt.Sprintf("name: a, at: 0us, shape: ramp, from: %d/%dus, to: %d/%dus, for: %dus", from, per, to, per, span))
		if err != nil {
			t.Fatal(err)
		}
		p, err := scenarios.NewPlan(s)
		if err != nil {
			t.Fatal(err)
		}
		checkRamp(t, p, big.NewRat(from, per), big.NewRat(to, per), "drawn")
		if p.Phases[0].End != time.Duration(span)*time.Microsecond {
			t.Errorf("it ends at %s", p.Phases[0].End)
		}
	})
}
