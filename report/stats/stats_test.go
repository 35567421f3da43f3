package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

// The p-values and intervals are those of R 4: wilcox.test(y, x, conf.int=TRUE).
func TestBetweenKnownValues(t *testing.T) {
	for _, row := range []struct {
		first, second    []float64
		by, low, high, p float64
	}{
		// Complete separation of 3 and 3: 2 / C(6,3); no interval at 95 %.
		{[]float64{1, 2, 3}, []float64{11, 12, 13}, 10, math.Inf(-1), math.Inf(1), 0.1},
		// Of 4 and 4: 2 / C(8,4) = 0.0286; all differences but none cut.
		{[]float64{1, 2, 3, 4}, []float64{11, 12.5, 13, 14.5}, 10.25, 7, 13.5, 2.0 / 70},
		{[]float64{5, 5, 5}, []float64{5, 5, 5}, 0, math.Inf(-1), math.Inf(1), 1},
		{[]float64{1}, []float64{2}, 1, math.Inf(-1), math.Inf(1), 1},
	} {
		s, err := Between(row.first, row.second, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if !near(s.By, row.by) || s.Low != row.low && !near(s.Low, row.low) || s.High != row.high && !near(s.High, row.high) || !near(s.P, row.p) {
			t.Errorf("%v and %v: %+v, want %+v", row.first, row.second, s, row)
		}
	}
	for _, bad := range [][2][]float64{{nil, {1}}, {{1}, nil}, {{1}, {math.NaN()}}, {{math.Inf(1)}, {1}}} {
		if _, err := Between(bad[0], bad[1], 0.95); err == nil {
			t.Errorf("%v and %v are compared", bad[0], bad[1])
		}
	}
}

// Whatever is done to both samples alike does nothing to the test, and what is done to
// one shifts the estimate by as much.
func TestBetweenMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		first, second := draw(r, 1+r.IntN(12), 100, 10), draw(r, 1+r.IntN(12), 100, 10)
		s, err := Between(first, second, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		moved, err := Between(first, plus(second, 7), 0.95)
		if err != nil || !near(moved.By, s.By+7) {
			t.Errorf("moved by 7: %+v, was %+v, error %v", moved, s, err)
		}
		both, err := Between(plus(first, 7), plus(second, 7), 0.95)
		if err != nil || !near(both.By, s.By) || !near(both.P, s.P) {
			t.Errorf("both moved: %+v, was %+v, error %v", both, s, err)
		}
		turned, err := Between(second, first, 0.95)
		if err != nil || !near(turned.By, -s.By) || !near(turned.P, s.P) || !math.IsInf(s.Low, 0) && !near(turned.Low, -s.High) {
			t.Errorf("turned round: %+v, was %+v, error %v", turned, s, err)
		}
		if s.Low > s.By || s.High < s.By {
			t.Errorf("the estimate is outside its interval: %+v", s)
		}
	}
}

// draw are so many values around a middle. With a negative spread one in ten is far out.
func draw(r *rand.Rand, n int, middle, spread float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = middle + math.Abs(spread)*r.NormFloat64()
		if spread < 0 && r.IntN(10) == 0 {
			values[i] += 10 * math.Abs(spread)
		}
	}
	return values
}

func plus(values []float64, d float64) []float64 {
	moved := make([]float64, len(values))
	for i, v := range values {
		moved[i] = v + d
	}
	return moved
}

// The interval covers the truth as often as it says, and the test cries wolf no more
// often than it says, for small samples and large ones.
func TestBetweenCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	sizes := []int{4, 5, 10, 20, 60}
	if raced {
		sizes = sizes[:3]
	}
	for _, n := range sizes {
		const trials = 1000
		covered, alarms := 0, 0
		for range trials {
			s, err := Between(draw(r, n, 100, 10), draw(r, n, 103, 10), 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if s.Low <= 3 && s.High >= 3 {
				covered++
			}
			null, err := Between(draw(r, n, 100, 10), draw(r, n, 100, 10), 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if null.P <= 0.05 {
				alarms++
			}
		}
		// Five standard deviations of a share of 5 % in so many trials are 3.4 %.
		if share := float64(covered) / trials; share < 0.95-0.035 {
			t.Errorf("of %d: the interval covers %.3f", n, share)
		}
		if share := float64(alarms) / trials; share > 0.05+0.035 {
			t.Errorf("of %d: %.3f are false alarms", n, share)
		}
	}
}

// All arrangements are as many as there are ways to choose one sample's places.
func TestArrangements(t *testing.T) {
	for _, n := range [][2]int{{1, 1}, {2, 3}, {5, 5}, {20, 50}} {
		sum := 0.0
		ways := arrangements(n[0], n[1])
		for u, w := range ways {
			sum += w
			if !near(w, ways[len(ways)-1-u]) {
				t.Errorf("%v: U is not symmetric at %d", n, u)
			}
		}
		if !near(sum, binomial(n[0]+n[1], n[0])) {
			t.Errorf("%v: %g arrangements, want %g", n, sum, binomial(n[0]+n[1], n[0]))
		}
	}
	if got := arrangements(2, 2); got[0] != 1 || got[2] != 2 || got[4] != 1 {
		t.Errorf("of 2 and 2: %v, want 1 1 2 1 1", got)
	}
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !near(got[i], want) {
			t.Errorf("adjusted %v, want 0.03, 0.06, 0.06, 0.02", got)
			break
		}
	}
	if got := Holm([]float64{0.9, 0.8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("adjusted %v, want no more than 1", got)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("adjusted nothing to %v", got)
	}
}

// 2/C(2n,n) is the least p-value that n and n runs can have.
func TestLeastRuns(t *testing.T) {
	for _, row := range []struct{ tests, want int }{{1, 4}, {2, 5}, {10, 6}, {100, 8}} {
		if got := LeastRuns(0.05, row.tests); got != row.want {
			t.Errorf("%d tests need %d runs, want %d", row.tests, got, row.want)
		}
	}
}

// With as many runs as are asked for, after a few, a shift is found nine times of ten;
// and with far fewer it is not, so what is asked for is no idle number.
func TestRunsForFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, noise := range []float64{5, 10, 20, -5} { // negative: with outliers
		const trials = 300
		found, early, asked := 0, 0, 0
		for range trials {
			n := RunsFor(draw(r, 5, 100, noise), draw(r, 5, 110, noise), 10, 0.05, 4)
			asked += n
			s, err := Between(draw(r, n, 100, noise), draw(r, n, 110, noise), 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if s.P*4 <= 0.05 {
				found++
			}
			few, err := Between(draw(r, max(n/4, 2), 100, noise), draw(r, max(n/4, 2), 110, noise), 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if few.P*4 <= 0.05 {
				early++
			}
		}
		if share := float64(found) / trials; share < 0.85 {
			t.Errorf("noise %g: %.2f found with %d runs in the mean", noise, share, asked/trials)
		}
		if share := float64(early) / trials; share > 0.7 {
			t.Errorf("noise %g: %.2f found with a quarter of the runs", noise, share)
		}
	}
}

// Where a shift is just the margin, it is taken for more in no more than half of alpha;
// without a margin it is the two-sided test; and what lies within it is certain to be no more.
func TestBeyond(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 21))
	sample := func(middle float64) []float64 {
		values := make([]float64, 10)
		for i := range values {
			values[i] = middle + r.NormFloat64()
		}
		return values
	}
	beyond := func(a, b []float64, margin float64) float64 {
		t.Helper()
		p, err := Beyond(a, b, margin)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const trials, alpha = 2000, 0.05
	alarms, found := 0, 0
	for range trials {
		a, b, far := sample(10), sample(13), sample(16)
		if beyond(a, b, 3) <= alpha {
			alarms++
		}
		if beyond(a, far, 3) <= alpha {
			found++
		}
		two, err := Between(a, b, 0.95)
		if err != nil || math.Abs(beyond(a, b, 0)-two.P) > 1e-9 || math.Abs(beyond(b, a, 0)-two.P) > 1e-9 {
			t.Fatalf("without a margin %g and %g, want %g", beyond(a, b, 0), beyond(b, a, 0), two.P)
		}
		if p := beyond(a, a, 0.1); p != 1 {
			t.Fatalf("within the margin it is %g", p)
		}
	}
	if most := alpha/2*trials + 4*math.Sqrt(alpha/2*trials); float64(alarms) > most || found < trials*99/100 {
		t.Errorf("%d of %d at the margin, want %.0f at most; %d at twice the margin", alarms, trials, most, found)
	}
	if _, err := Beyond(nil, []float64{1}, 0); err == nil {
		t.Error("an empty sample is compared")
	}
}

// Which sample is above is told by pairs, also where most of them are ties and the median of
// the differences is 0; and without a margin the p-value is that of the two-sided test then too.
func TestDominance(t *testing.T) {
	for _, row := range []struct {
		first, second []float64
		want          float64
	}{
		{[]float64{1, 2}, []float64{3, 4}, 1},
		{[]float64{3, 4}, []float64{1, 2}, -1},
		{[]float64{5, 5}, []float64{5, 5}, 0},
		{[]float64{1, 1, 1, 1, 0}, []float64{1, 1, 0, 0, 1}, (3.0 - 8.0) / 25},
		{[]float64{0}, []float64{math.SmallestNonzeroFloat64}, 1},
	} {
		s, err := Between(row.first, row.second, 0.95)
		if err != nil || !near(s.Dominance, row.want) {
			t.Errorf("%v and %v: %g, error %v, want %g", row.first, row.second, s.Dominance, err, row.want)
		}
		if p, err := Beyond(row.first, row.second, 0); err != nil || !near(p, s.P) {
			t.Errorf("%v and %v: without a margin %g, error %v, want %g", row.first, row.second, p, err, s.P)
		}
	}
}

// With as many runs as are asked for, a promise that is broken more often is found nine times
// of ten.
func TestRunsForDominanceFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	sample := func(n int, share float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			if r.Float64() < share {
				values[i] = 1
			}
		}
		return values
	}
	for _, shares := range [][2]float64{{0.1, 0.6}, {0.5, 0.8}, {0.2, 0.4}} {
		n := RunsForDominance(shares[1]-shares[0], 0.05, 6)
		const trials = 400
		found := 0
		for range trials {
			s, err := Between(sample(n, shares[0]), sample(n, shares[1]), 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if s.P*6 <= 0.05 && s.Dominance > 0 {
				found++
			}
		}
		if found < trials*85/100 {
			t.Errorf("%g and %g of all: %d of %d found with %d runs", shares[0], shares[1], found, trials, n)
		}
	}
	if n := RunsForDominance(1, 0.05, 6); n != LeastRuns(0.05, 6) && n > 12 {
		t.Errorf("of complete separation %d", n)
	}
}
