package scenarios_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

const seeds = 2000

// poissonPlans are the timetables of one phase under many seeds.
func poissonPlans(t *testing.T, phase string, each func(*scenarios.Plan)) {
	t.Helper()
	s := scenario(t, "10/1s", "name: a, shape: poisson, "+phase)
	for seed := range uint64(seeds) {
		s.Seed = seed
		each(planned(t, s))
	}
}

// dispersion is variance over mean, which is 1 for a Poisson count. Over 2000
// samples its standard deviation is sqrt(2/2000), three hundredths.
func dispersion(counts []float64) (mean, index float64) {
	for _, n := range counts {
		mean += n / float64(len(counts))
	}
	for _, n := range counts {
		index += (n - mean) * (n - mean) / mean / float64(len(counts)-1)
	}
	return mean, index
}

func TestPoissonRate(t *testing.T) {
	var whole, tenth []float64
	poissonPlans(t, "for: 1s, rate: 50/s", func(p *scenarios.Plan) {
		n := 0.0
		for _, a := range p.Arrivals {
			if a.At >= 500*time.Millisecond && a.At < 600*time.Millisecond {
				n++
			}
		}
		whole, tenth = append(whole, float64(len(p.Arrivals))), append(tenth, n)
	})
	for _, row := range []struct {
		counts []float64
		mean   float64
		why    string
	}{
		{whole, 50, "the whole second"},
		{tenth, 5, "a tenth in the middle, where the start is forgotten"},
	} {
		mean, index := dispersion(row.counts)
		// Six standard deviations of the mean and of the index.
		if tolerance := 6 * math.Sqrt(row.mean/seeds); math.Abs(mean-row.mean) > tolerance {
			t.Errorf("%s: mean %.2f, want %.0f within %.2f", row.why, mean, row.mean, tolerance)
		}
		if math.Abs(index-1) > 6*math.Sqrt(2.0/seeds) {
			t.Errorf("%s: index of dispersion %.3f, want 1", row.why, index)
		}
	}
}

func TestPoissonCount(t *testing.T) {
	sum, n := 0.0, 0.0
	poissonPlans(t, "for: 1s, count: 20", func(p *scenarios.Plan) {
		if len(p.Arrivals) != 20 {
			t.Fatalf("seed %d: %d arrivals, want exactly 20", p.Seed, len(p.Arrivals))
		}
		for _, a := range p.Arrivals {
			sum += a.At.Seconds()
			n++
		}
	})
	// A uniform instant has mean 1/2 and standard deviation sqrt(1/12).
	if mean := sum / n; math.Abs(mean-0.5) > 6*math.Sqrt(1.0/12/n) {
		t.Errorf("mean instant %.4f of the phase, want the middle", mean)
	}
}

// Phases draw from streams of their own. If two were shifted copies of each
// other, their instants would be correlated.
func TestPhasesAreIndependent(t *testing.T) {
	const n = 1000
	s := scenario(t, "10/1s", "name: a, at: 0s, for: 1s, shape: poisson, rate: 1000/s", "name: b, at: 0s, for: 1s, shape: poisson, rate: 1000/s")
	var sum float64
	for seed := range uint64(100) {
		s.Seed = seed
		p := planned(t, s)
		sum += correlation(gaps(ofPhase(p, 0)), gaps(ofPhase(p, 1)))
	}
	// Each of the hundred has a standard deviation of 1/sqrt(n) or so.
	if mean := sum / 100; math.Abs(mean) > 6/math.Sqrt(100*0.8*n) {
		t.Errorf("the gaps of two phases are correlated by %.3f", mean)
	}
	if slices.Equal(gaps(ofPhase(planned(t, s), 0)), gaps(ofPhase(planned(t, s), 1))) {
		t.Error("two phases are the same")
	}
}

func gaps(arrivals []scenarios.Arrival) []float64 {
	var all []float64
	for i := 1; i < len(arrivals); i++ {
		all = append(all, (arrivals[i].At - arrivals[i-1].At).Seconds())
	}
	return all
}

func correlation(a, b []float64) float64 {
	n := min(len(a), len(b))
	meanA, _ := dispersion(a[:n])
	meanB, _ := dispersion(b[:n])
	var ab, aa, bb float64
	for i := range n {
		ab += (a[i] - meanA) * (b[i] - meanB)
		aa += (a[i] - meanA) * (a[i] - meanA)
		bb += (b[i] - meanB) * (b[i] - meanB)
	}
	return ab / math.Sqrt(aa*bb)
}

// Keys are drawn evenly.
func TestKeysAreUniform(t *testing.T) {
	s := scenario(t, "10/1s", "name: a, shape: burst, count: 100000}\nkeys: {count: 10")
	counts := make([]float64, 10)
	for _, a := range planned(t, s).Arrivals {
		counts[a.Key]++
	}
	for key, n := range counts {
		// Binomial: standard deviation sqrt(100000 × 0.1 × 0.9).
		if math.Abs(n-10_000) > 6*95 {
			t.Errorf("key %d has %.0f of 100000 requests, want a tenth", key, n)
		}
	}
}
