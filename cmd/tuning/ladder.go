package tuning

import (
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios/simulator"
)

// steps are the limits of a decade that people write into configurations.
var steps = []int64{10, 12, 15, 20, 25, 30, 40, 50, 60, 80}

// ladder is round limits, from the lowest up, so that one of them is at most low and one
// at least high, if so many are allowed; otherwise the steps between them are longer.
func ladder(low, high int64) []int64 {
	low, high = max(low, 1), max(high, low, 1)
	var all []int64
	for n := int64(1); n < 10; n++ {
		if n != 7 && n != 9 { // as in the decades above, nearly
			all = append(all, n)
		}
	}
	for scale := int64(1); scale <= high && scale < 1<<40; scale *= 10 {
		for _, s := range steps {
			all = append(all, s*scale)
		}
	}
	from, until := 0, len(all)
	for i, n := range all {
		if n <= low {
			from = i
		}
		if n >= high {
			until = i + 1
			break
		}
	}
	all = all[from:until]
	for len(all) > simulator.MostLimits { // every second one, and the highest
		kept := all[:0:0]
		for i := len(all) - 1; i >= 0; i -= 2 {
			kept = append([]int64{all[i]}, kept...)
		}
		all = kept
	}
	return all
}

// computable are the limits that all algorithms can count with, in all windows. At least one
// is left, for a simulation to say what is wrong with it.
func (s *study) computable(limits []int64) []int64 {
	for len(limits) > 1 {
		highest := limits[len(limits)-1]
		can := !slices.ContainsFunc(s.Algorithms, func(name string) bool {
			a, _ := limiter.Named(name)
			return slices.ContainsFunc(s.Windows, func(w time.Duration) bool {
				return a.Validate(limiter.Limit{Max: highest, Window: w}) != nil
			})
		})
		if can && highest <= simulator.HighestLimit {
			break
		}
		limits = limits[:len(limits)-1]
	}
	return limits
}
