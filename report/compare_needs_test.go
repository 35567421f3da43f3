package report_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlbench/rlbench/report"
)

// timed is a report whose service p50 of log is slower by a factor, with noise as a share of
// it: 4 % is a quiet machine.
func timed(r *rand.Rand, runs int, noise, slower float64) report.Saved {
	return measuredRuns("timed", r, runs, func(limiter string, _ int, row *report.Row) {
		if limiter == "log" {
			*row.ServiceUS.All.P50 = int64(100_000 * slower * (1 + noise*r.NormFloat64()))
		}
	})
}

// shifted compares what did not change with what is slower by a factor.
func shifted(t *testing.T, r *rand.Rand, runs int, noise, slower float64, o report.CompareOptions) report.Compared {
	t.Helper()
	return metricOf(t, compared(t, timed(r, runs, noise, 1), timed(r, runs, noise, slower), o), "log", "service p50")
}

// A time that grew by a tenth is found at a margin of 5 %, nine times of ten with as many
// runs as the comparison itself asked for, whether or not the pilot was significant; and no
// pilot calls it the same.
func TestPlantedShiftIsFound(t *testing.T) {
	t.Parallel()
	for _, pilot := range []int{5, 10} {
		r := rand.New(rand.NewPCG(6, uint64(pilot)))
		trials := 80
		if raced {
			trials = 40
		}
		var asked [2]int // by whether the pilot was significant
		var found [2]int
		for range trials {
			d := shifted(t, r, pilot, 0.04, 1.1, usual)
			if d.Change == report.ChangeWorse {
				continue
			}
			if d.Change != report.ChangeUndecided || d.NeedsRuns < pilot*3/2 || d.NeedsRuns > 300 {
				t.Fatalf("a pilot of %d is %s and needs %d runs", pilot, d.Change, d.NeedsRuns)
			}
			branch := 0
			if *d.P <= usual.Alpha {
				branch = 1
			}
			asked[branch]++
			if shifted(t, r, d.NeedsRuns, 0.04, 1.1, usual).Change == report.ChangeWorse {
				found[branch]++
			}
		}
		for branch, n := range asked {
			if found[branch] < n*90/100 {
				t.Errorf("pilots of %d, significant %v: %d of %d found with what they asked for", pilot, branch == 1, found[branch], n)
			}
		}
		if asked[1] < trials/4 || pilot == 5 && asked[0] < trials/4 {
			t.Errorf("pilots of %d: %d of %d were not significant and %d were, which tells little", pilot, asked[0], trials, asked[1])
		}
	}
}

// Who makes as many runs as are asked for gets an answer after a few times, be the shift
// where it may, and is never asked for one run more.
func TestRunsNeededEnd(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(16, 16))
	for _, slower := range []float64{1, 1.03, 1.05, 1.06, 1.1} {
		for range 6 {
			runs, steps := 5, 0
			for ; ; steps++ {
				d := shifted(t, r, runs, 0.03, slower, usual)
				if d.NeedsRuns == 0 {
					break
				}
				if d.NeedsRuns < runs+runs/2 || steps == 5 {
					t.Fatalf("slower by %g: after %d steps and %d runs %d are asked for", slower, steps, runs, d.NeedsRuns)
				}
				runs = d.NeedsRuns
			}
		}
	}
}

// What may lie beyond the margin is not the same: that is only what lies within with all of
// its interval, and what did not shift is that with as many runs as are asked for.
func TestSameIsWithinTheMargin(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(17, 17))
	o := usual
	o.TimeEffect = 0.25
	const trials = 100
	for _, noise := range []float64{0.04, 0.1, 0.3} {
		for slower, most := range map[float64]int{1.26: trials / 12, 1.3: trials / 20} {
			same := 0
			for range trials {
				if d := shifted(t, r, 10, noise, slower, o); d.Change == report.ChangeSame {
					same++
					if least := *d.MinEffect * d.Old; *d.Low < -least || *d.High > least {
						t.Errorf("from %g to %g it is the same as %g", *d.Low, *d.High, d.Old)
					}
				}
			}
			if same > most {
				t.Errorf("noise %g: %d of %d that are slower by %g are the same", noise, same, trials, slower)
			}
		}
	}
	same := 0
	for range trials {
		d := shifted(t, r, 10, 0.1, 1, o)
		if d.NeedsRuns > 0 {
			d = shifted(t, r, d.NeedsRuns, 0.1, 1, o)
		}
		if d.Change == report.ChangeSame {
			same++
		}
	}
	if same < trials*9/10 {
		t.Errorf("%d of %d that did not change are the same", same, trials)
	}
}

// More runs than anybody makes are no number, and one run tells nothing of how many.
func TestRunsNobodyMakes(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 18))
	o := usual
	o.MinEffect = 0.001
	c := compared(t, timed(r, 5, 0.2, 1), timed(r, 5, 0.2, 1), o)
	if d := metricOf(t, c, "log", "service p50"); d.Change != report.ChangeUndecided || d.NeedsRuns != 1001 {
		t.Errorf("%+v", d)
	}
	for _, format := range []string{"table", "markdown", "junit"} {
		if text := string(renderComparison(t, format, c, report.Options{Width: 200})); !strings.Contains(text, "needs more than 1000 runs") || strings.Contains(text, "1001") {
			t.Errorf("printed\n%s", text)
		}
	}
	c = compared(t, timed(r, 1, 0.2, 1), timed(r, 1, 0.2, 1), usual)
	if text := string(renderComparison(t, "table", c, report.Options{Width: 200})); !strings.Contains(text, "note: one run of each does not tell how far runs lie apart") {
		t.Errorf("printed\n%s", text)
	}
}
