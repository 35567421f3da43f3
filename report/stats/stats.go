// Package stats compares samples of runs: did what was measured shift, by how much, and
// how many runs would it take to see it? It knows nothing of rate limiters.
package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	moremath "github.com/aclements/go-moremath/stats"
)

// Shift is how far a second sample lies from a first.
type Shift struct {
	// By is the Hodges-Lehmann estimate: the median of all differences between a
	// value of the second sample and one of the first.
	By float64
	// Low and High bound it: an interval of the confidence asked for, by inverting the
	// test. Both are infinite where the samples are too small for one.
	Low, High float64
	// P is the two-sided p-value of the Mann-Whitney U test that nothing shifted; 1 if
	// all values are equal.
	P float64
	// Dominance is the share of pairs in which the second sample has the higher value, less
	// the share in which it has the lower: the way that the test decides, also where the
	// estimate is 0 because most pairs are ties. Source: Cliff, Dominance Statistics (1993).
	Dominance float64
}

// Between compares two samples, neither of them empty. confidence is that of the
// interval, such as 0.95.
// Source: Hodges, Lehmann: Estimates of Location Based on Rank Tests (1963); the interval
// is that of Moses, as in Hollander, Wolfe, Chicken: Nonparametric Statistical Methods.
func Between(first, second []float64, confidence float64) (Shift, error) {
	if len(first) == 0 || len(second) == 0 {
		return Shift{}, errors.New("compare samples: one is empty")
	}
	for _, v := range slices.Concat(first, second) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Shift{}, fmt.Errorf("compare samples: %v is no value", v)
		}
	}
	differences := make([]float64, 0, len(first)*len(second))
	for _, y := range second {
		for _, x := range first {
			differences = append(differences, y-x)
		}
	}
	slices.Sort(differences)
	s := Shift{By: median(differences), Low: math.Inf(-1), High: math.Inf(1), P: 1, Dominance: dominance(differences)}
	if k := outside(len(first), len(second), 1-confidence); k >= 0 {
		s.Low, s.High = differences[k], differences[len(differences)-1-k]
	}
	test, err := moremath.MannWhitneyUTest(first, second, moremath.LocationDiffers)
	switch {
	case errors.Is(err, moremath.ErrSamplesEqual):
	case err != nil:
		return Shift{}, fmt.Errorf("compare samples: %w", err)
	default:
		s.P = math.Min(test.P, 1)
	}
	return s, nil
}

// dominance is that of sorted differences.
func dominance(differences []float64) float64 {
	lower, _ := slices.BinarySearch(differences, 0)
	notHigher, _ := slices.BinarySearch(differences, math.SmallestNonzeroFloat64)
	return float64(len(differences)-notHigher-lower) / float64(len(differences))
}

// Beyond is the p-value that the second sample lies no further from the first than a margin,
// in the direction that it seems to lie: the Mann-Whitney test of what is left of the
// second when the margin is taken off. Both directions are counted, so that it is the
// two-sided p-value where the margin is 0, and it is 1 where the estimate is within.
func Beyond(first, second []float64, margin float64) (float64, error) {
	s, err := Between(first, second, 0.5)
	if err != nil {
		return 0, err
	}
	if margin == 0 {
		return s.P, nil
	}
	if math.Abs(s.By) <= margin {
		return 1, nil
	}
	off, side := margin, moremath.LocationLess // the first is less
	if s.By < 0 {
		off, side = -margin, moremath.LocationGreater
	}
	left := make([]float64, len(second))
	for i, v := range second {
		left[i] = v - off
	}
	test, err := moremath.MannWhitneyUTest(first, left, side)
	switch {
	case errors.Is(err, moremath.ErrSamplesEqual):
		return 1, nil
	case err != nil:
		return 0, fmt.Errorf("compare samples: %w", err)
	}
	return math.Min(2*test.P, 1), nil
}

// exactUpTo is for how large samples the distribution of U is computed; beyond, it is
// close to a normal one.
const exactUpTo = 50

// outside is how many of the sorted differences are cut off at each end for an interval
// with so much probability outside; -1 if even none is too many. It is asked again and
// again for samples of one size, and so is kept.
func outside(n1, n2 int, alpha float64) int {
	key := size{n1, n2, alpha}
	if k, ok := cuts.Load(key); ok {
		return k.(int)
	}
	k := cut(n1, n2, alpha)
	cuts.Store(key, k)
	return k
}

type size struct {
	n1, n2 int
	alpha  float64
}

var cuts sync.Map // of size

func cut(n1, n2 int, alpha float64) int {
	if n1 > exactUpTo || n2 > exactUpTo {
		product := float64(n1) * float64(n2)
		k := math.Floor(product/2 - normal(1-alpha/2)*math.Sqrt(product*float64(n1+n2+1)/12) - 0.5)
		return int(math.Max(k, -1))
	}
	below, all := 0.0, binomial(n1+n2, n1)
	for u, ways := range arrangements(n1, n2) {
		if below += ways; below/all > alpha/2 {
			return u - 1
		}
	}
	return n1 * n2
}

// arrangements are in how many ways two samples without ties can be mixed for each value
// of U, which is how many pairs have the value of the first above the other's.
func arrangements(n1, n2 int) []float64 {
	ways := make([][]float64, n1+1) // with so many of the first sample among the lowest
	for j := range ways {
		ways[j] = make([]float64, n1*n2+1)
	}
	ways[0][0] = 1
	for rank := 1; rank <= n1+n2; rank++ {
		for j := min(rank, n1); j >= 1; j-- {
			above := rank - j // of the second sample, if the value at this rank is the first's j-th
			if above > n2 {
				continue
			}
			for u := above; u <= n1*n2; u++ {
				ways[j][u] += ways[j-1][u-above]
			}
		}
	}
	return ways[n1]
}

// Median is that of a sample; NaN for an empty one.
func Median(sample []float64) float64 { return median(slices.Sorted(slices.Values(sample))) }

func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Holm adjusts p-values of several tests, so that the chance of even one false alarm is
// that which each adjusted value is compared with. They keep their order.
// Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure (1979).
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return a - b
	})
	adjusted := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = math.Max(least, math.Min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = least
	}
	return adjusted
}

// MostRuns is more than anybody will make: how many more it would take says nothing.
const MostRuns = 1000

// countedRuns are the most that RunsFor counts to.
const countedRuns = 1_000_000

// LeastRuns is how many runs of each of two samples it takes before any difference at
// all can be significant at alpha, divided over so many tests.
func LeastRuns(alpha float64, tests int) int {
	for n := 1; n < 100; n++ {
		if 2/binomial(2*n, n) <= alpha/float64(max(tests, 1)) {
			return n
		}
	}
	return 100
}

// binomial is the number of ways to choose k of n.
func binomial(n, k int) float64 {
	ways := 1.0
	for i := 1; i <= k; i++ {
		ways *= float64(n-k+i) / float64(i)
	}
	return ways
}

// RunsFor is how many runs of each sample it takes to find a shift of a size at alpha,
// divided over so many tests, nine times of ten: from how far the values within the
// samples lie apart, which a few runs tell badly, so that it is rather too many.
//
// It is the sample size of a t test, corrected for the efficiency of the rank test
// under normal noise (0.955). Source: Lehmann, Nonparametrics (1975), section 2.4.
func RunsFor(first, second []float64, shift, alpha float64, tests int) int {
	least := LeastRuns(alpha, tests)
	freedom := len(first) + len(second) - 2
	if freedom < 1 || shift <= 0 {
		return least
	}
	scale := spread(first, second)
	variance := scale * scale
	// The upper bound of the variance that four of five such samples are below.
	// Source: Wilson, Hilferty, The Distribution of Chi-Square (1931).
	f := float64(freedom)
	low := f * math.Pow(math.Max(1-2/(9*f)+normal(0.2)*math.Sqrt(2/(9*f)), 0.05), 3)
	variance *= f / low
	z := normal(1-alpha/float64(max(tests, 1))/2) + normal(0.9)
	n := math.Ceil(2 * z * z * variance / (0.955 * shift * shift))
	return max(least, int(math.Min(n, countedRuns)))
}

// RunsForDominance is how many runs of each sample it takes to find at alpha, divided over so
// many tests, that one lies above the other as often as seen, nine times of ten. Ties make it
// rather too many. Source: Noether, Sample Size Determination for Some Common Nonparametric
// Tests (1987).
func RunsForDominance(seen, alpha float64, tests int) int {
	z := normal(1-alpha/float64(max(tests, 1))/2) + normal(0.9)
	n := math.Ceil(2 * z * z / (3 * seen * seen))
	return max(LeastRuns(alpha, tests), int(math.Min(n, countedRuns)))
}

// spread is how far values of one sample lie apart, as a standard deviation of normal
// noise: the median of all distances within the samples, which a few outliers do not
// move, as they do not move a rank test. Source: Shamos, Geometry and Statistics (1976).
func spread(samples ...[]float64) float64 {
	var distances []float64
	for _, sample := range samples {
		for i, v := range sample {
			for _, w := range sample[:i] {
				distances = append(distances, math.Abs(v-w))
			}
		}
	}
	if len(distances) == 0 {
		return 0
	}
	const ofNormal = 1.0483 // that median of a normal distribution is its deviation divided by this
	return ofNormal * Median(distances)
}

// normal is the quantile of the standard normal distribution.
func normal(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
