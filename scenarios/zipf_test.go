package scenarios_test

import (
	"fmt"
	"math"
	"testing"
)

// The k-th key, from 1, has a share proportional to 1/k^s.
func TestZipf(t *testing.T) {
	const requests, keys = 100_000, 20
	for _, s := range []float64{0.5, 0.9, 1, 1.5, 3} {
		p := planned(t, scenario(t, "10/1s", fmt.Sprintf("name: a, shape: burst, count: %d}\nkeys: {count: %d, distribution: zipf, zipf: {s: %g}", requests, keys, s)))
		counts := make([]float64, keys)
		for _, a := range p.Arrivals {
			counts[a.Key]++
		}
		total := 0.0
		for k := 1; k <= keys; k++ {
			total += 1 / math.Pow(float64(k), s)
		}
		for i, n := range counts {
			share := 1 / math.Pow(float64(i+1), s) / total
			// Binomial.
			if sigma := math.Sqrt(requests * share * (1 - share)); math.Abs(n-requests*share) > 6*sigma {
				t.Errorf("s = %g: key %d has %.0f requests, want %.0f within %.0f", s, i, n, requests*share, 6*sigma)
			}
		}
	}
}

func TestZipfExponents(t *testing.T) {
	for text, want := range map[string]float64{"0.9": 0.9, "1": 1, "20": 20, "1e-9": 1e-9} {
		s, err := read("10/1s", "name: a, shape: burst, count: 9}\nkeys: {count: 3, zipf: {s: "+text+"}")
		if err != nil || s.Keys.S != want || s.Keys.Distribution != "zipf" {
			t.Errorf("s: %s: got %+v and %v, want %g", text, s, err, want)
			continue
		}
		checkPlan(t, planned(t, s))
	}
	for _, text := range []string{"0", "-1", "20.1", "NaN", ".nan", "nan", "inf", ".inf", "-inf", "+Inf", "1e999", "one", "''", "1s"} {
		if s, err := read("10/1s", "name: a, shape: burst, count: 9}\nkeys: {count: 3, zipf: {s: "+text+"}"); err == nil {
			t.Errorf("s: %s is accepted as %g", text, s.Keys.S)
		}
	}
}
