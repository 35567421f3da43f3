package trace

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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

// Where durations were taken off, seconds overlap: what is placed is in order again.
func TestPlaceWhereSecondsOverlap(t *testing.T) {
	for s, want := range map[Spread][]int64{
		Front: {0, 0, 300_000, 2 * second},
		Even:  {250_000, 750_000, 800_000, 2_500_000},
		Back:  {second - 1, second - 1, 1_299_999, 3*second - 1},
	} {
		requests := []Request{{At: 0}, {At: 0}, {At: 300_000}, {At: 2 * second}}
		s.Place(requests, nil)
		var ats []int64
		for _, q := range requests {
			ats = append(ats, q.At)
		}
		if diff := cmp.Diff(want, ats); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s, diff)
		}
	}
}

// Batch after batch, a Placer places a log as if it were one batch; in order, each within
// its uncertainty, and none is lost.
func TestPlacer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(Spreads).Draw(t, "spread")
		span := rapid.SampledFrom([]int64{0, 1, 1000, second}).Draw(t, "uncertainty")
		gaps := rapid.SliceOfN(rapid.SampledFrom([]int64{0, 0, 0, 1, 400, 300_000, 2 * second}), 0, 60).Draw(t, "gaps")
		var log []Request
		at := int64(5)
		for i, gap := range gaps {
			at += gap
			log = append(log, Request{At: at, Line: int64(i)})
		}
		run := func(size func() int) (all []Request) {
			p := &Placer{Spread: s, Uncertainty: span, Random: rand.New(rand.NewPCG(1, 2))}
			for rest := log; len(rest) > 0; {
				n := min(size(), len(rest))
				all = append(all, p.Place(slices.Clone(rest[:n]))...)
				rest = rest[n:]
			}
			return append(all, p.Rest()...)
		}
		all := run(func() int { return rapid.IntRange(1, 20).Draw(t, "batch") })
		if diff := cmp.Diff(run(func() int { return len(log) }), all); diff != "" {
			t.Fatalf("in batches (-want +got):\n%s", diff)
		}
		if len(all) != len(log) || !slices.IsSortedFunc(all, byArrival) {
			t.Fatalf("%d of %d, or not in order", len(all), len(log))
		}
		for _, q := range all {
			if moved := q.At - log[q.Line].At; moved < 0 || moved >= max(1, span) {
				t.Fatalf("line %d is moved by %d", q.Line, moved)
			}
		}
	})
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
