package oracle

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// promise compares the peak with the algorithm's own worst case. Requests of
// unknown fate count only where they could not change the verdict.
func promise(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	if j.Promise == nil || j.Measures.Planned == 0 {
		return nil
	}
	window := limiter.FormatDuration(c.Plan.Limit.Window)
	peak, bound := j.Promise.Admitted, j.Promise.MaxInWindow
	f := scenarios.Finding{Check: "promise", Verdict: scenarios.Pass}
	switch {
	case !j.Promise.Kept:
		f.Verdict = scenarios.Fail
		f.Message = fmt.Sprintf("%s admitted %d within %s; it promises at most %d", c.Name, peak, window, bound)
	case peak > bound:
		return []scenarios.Finding{inconclusive(j, "promise", "instants-unknown",
			fmt.Sprintf("%s admitted about %d within %s; it promises at most %d, and does not tell when exactly it decides", c.Name, peak, window, bound),
			"let it tell the instant by which it decides")}
	case j.Measures.PeakAtMost > bound && accidents(j.Measures) == 0:
		// Lost on purpose: that it may be broken is no reason to doubt.
		f.Message = fmt.Sprintf("%s admitted between %d and %d within %s; it promises at most %d", c.Name, peak, j.Measures.PeakAtMost, window, bound)
	case j.Measures.PeakAtMost > bound:
		return []scenarios.Finding{inconclusive(j, "promise", "unknown-outcomes",
			fmt.Sprintf("%s admitted between %d and %d within %s; it promises at most %d", c.Name, peak, j.Measures.PeakAtMost, window, bound),
			"raise --timeout so that fewer replies are lost")}
	default:
		f.Message = fmt.Sprintf("%s admitted at most %d within %s; it promises at most %d", c.Name, peak, window, bound)
	}
	return []scenarios.Finding{f}
}

// overshoot compares the peak with the limit itself, the largest if it changes.
func overshoot(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	if c.MaxOvershoot == nil || j.Measures.Planned == 0 {
		return nil
	}
	limit, peak := loosest(c.Plan), j.Measures.PeakInWindow
	allowed := new(big.Rat).Add(big.NewRat(1, 1), c.MaxOvershoot)
	allowed.Mul(allowed, new(big.Rat).SetInt64(limit.Max))
	over := func(peak int64) bool { return new(big.Rat).SetInt64(peak).Cmp(allowed) > 0 }
	window, most := limiter.FormatDuration(limit.Window), j.Measures.PeakAtMost
	f := scenarios.Finding{Check: "max-overshoot", Verdict: scenarios.Pass}
	switch {
	case over(peak):
		f.Verdict = scenarios.Fail
		f.Message = fmt.Sprintf("%s admitted %d within %s: %s over the limit of %d", c.Name, peak, window, excess(peak, limit.Max), limit.Max)
	case over(most):
		f = inconclusive(j, "max-overshoot", "unknown-outcomes",
			fmt.Sprintf("%s admitted between %d and %d within %s at a limit of %d", c.Name, peak, most, window, limit.Max),
			"raise --timeout so that fewer replies are lost")
	default:
		f.Message = fmt.Sprintf("%s admitted at most %d within %s at a limit of %d", c.Name, peak, window, limit.Max)
	}
	return []scenarios.Finding{f}
}

// excess is how far a peak is over the limit, in percent where there is a limit.
func excess(peak, limit int64) string {
	if limit == 0 {
		return strconv.FormatInt(peak, 10)
	}
	percent := 100 * float64(peak-limit) / float64(limit)
	if percent >= 1000 {
		return strconv.FormatFloat(percent, 'f', 0, 64) + "%"
	}
	return strconv.FormatFloat(percent, 'g', 3, 64) + "%"
}
