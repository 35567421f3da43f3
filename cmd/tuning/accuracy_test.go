package tuning

import (
	"math"
	"testing"
)

// What others have measured of Poisson clients at a limit of 100, in shares: admitted by
// each algorithm, and decided otherwise by a counter than by a log.
func TestAccuracyOfPoissonClients(t *testing.T) {
	for _, want := range []struct {
		load                      float64
		fixed, log, counter, gcra float64
		differ                    float64
	}{
		{0.5, 1, 1, 1, 1, 0},
		{0.8, .9992, .9942, .998, 1, .006},
		{0.9, .9935, .979, .987, 1, .024},
		{1.0, .959, .924, .940, .995, .087},
		{1.2, .812, .784, .797, .816, .22},
		{2.0, .4997, .4952, .4983, .5021, .36},
	} {
		a, err := Measure(0, want.load, 8, 1, AccuracyAlgorithms)
		if err != nil {
			t.Fatal(err)
		}
		for i, share := range []float64{want.fixed, want.log, want.counter, want.gcra} {
			if got := a.Rows[i].Admitted; math.Abs(got-share) > 0.022 { // those are of one run of 200 windows
				t.Errorf("at %.1f of the limit %s admits %.4f, want about %.4f", want.load, a.Rows[i].Algorithm, got, share)
			}
		}
		if got, theory := a.Rows[0].Admitted, admittedOfPoisson(want.load*accuracyLimit); math.Abs(got-theory) > 0.005 {
			t.Errorf("at %.1f of the limit a fixed window admits %.4f, and in theory %.4f", want.load, got, theory)
		}
		if got := a.Rows[2].Differ; math.Abs(got-want.differ) > 0.03 {
			t.Errorf("at %.1f of the limit %.3f of decisions differ, want about %.3f", want.load, got, want.differ)
		}
		if a.Rows[1].Differ != 0 || a.Rows[1].Wrong != 0 || a.Rows[1].PeakInWindow > accuracyLimit {
			t.Errorf("at %.1f of the limit the log is not exact: %+v", want.load, a.Rows[1])
		}
	}
}

// admittedOfPoisson is E[min(N, limit)] / λ of N requests a window, which are Poisson of λ:
// what a fixed window admits.
func admittedOfPoisson(lambda float64) float64 {
	sum, p := 0.0, math.Exp(-lambda)
	for n := 1; n < 1000; n++ {
		p *= lambda / float64(n)
		sum += p * min(float64(n), accuracyLimit)
	}
	return sum / lambda
}

// Bursts are harder: a client far below its limit on average is refused.
func TestAccuracyOfBursts(t *testing.T) {
	steady, err := Measure(0, 0.8, 4, 1, AccuracyAlgorithms)
	if err != nil {
		t.Fatal(err)
	}
	bursts, err := Measure(1, 0.8, 4, 1, AccuracyAlgorithms)
	if err != nil {
		t.Fatal(err)
	}
	if bursts.Rows[1].Admitted >= steady.Rows[1].Admitted || bursts.Rows[2].Differ <= steady.Rows[2].Differ {
		t.Errorf("bursts %+v are no harder than %+v", bursts.Rows, steady.Rows)
	}
}
