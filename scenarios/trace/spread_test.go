package trace

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlace(t *testing.T) {
	for s, want := range map[Spread][]int64{
		Front: {7 * second, 7 * second, 7 * second, 7 * second},
		Even:  {7*second + 125_000, 7*second + 375_000, 7*second + 625_000, 7*second + 875_000},
		Back:  {8*second - 1, 8*second - 1, 8*second - 1, 8*second - 1},
	} {
		if diff := cmp.Diff(want, placed(s, 4, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s, diff)
		}
	}
	// In a second, independent arrivals are anywhere in it: of ten thousand a tenth in each tenth.
	ats := placed(Poisson, 10_000, rand.New(rand.NewPCG(1, 2)))
	if !slices.IsSorted(ats) || ats[0] < 7*second || ats[9999] >= 8*second {
		t.Errorf("%d to %d, sorted: %t", ats[0], ats[9999], slices.IsSorted(ats))
	}
	for tenth := range int64(10) {
		n := 0
		for _, at := range ats {
			if (at-7*second)/(second/10) == tenth {
				n++
			}
		}
		if n < 850 || n > 1150 { // five standard deviations
			t.Errorf("%d in tenth %d", n, tenth)
		}
	}
}

func placed(s Spread, n int, random *rand.Rand) []int64 {
	requests := make([]Request, n)
	for i := range requests {
		requests[i].At = 7 * second
	}
	s.Place(requests, random)
	ats := make([]int64, n)
	for i := range requests {
		ats[i] = requests[i].At
	}
	return ats
}

func TestParseSpread(t *testing.T) {
	for _, s := range Spreads {
		if got, err := ParseSpread(string(s)); err != nil || got != s {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	if _, err := ParseSpread("middle"); err == nil || err.Error() != `spread "middle": want one of front, even, back, poisson` {
		t.Error(err)
	}
}
