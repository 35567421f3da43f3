package oracle

import (
	"fmt"
	"strings"

	"github.com/rlbench/rlbench/scenarios"
)

// expectations evaluates the checks that the scenario and the user wrote.
func expectations(c *Case, j *scenarios.Judgement) []scenarios.Finding {
	var findings []scenarios.Finding
	for _, check := range c.Checks {
		if check.Clock != "" && check.Clock != c.Plan.Clock {
			continue
		}
		if check.Algorithm == "" || check.Algorithm == c.Name || c.Algorithm != nil && c.Algorithm.Is(check.Algorithm) {
			findings = append(findings, expectation(c, j, check))
		}
	}
	return findings
}

func expectation(c *Case, j *scenarios.Judgement, check scenarios.Check) scenarios.Finding {
	f := scenarios.Finding{Check: check.String(), Phase: check.Phase, Warn: check.Warn, Verdict: scenarios.Pass}
	m := measuresOf(c, j, check.Phase)
	expected, err := check.Value.Eval(c.Plan.Limit)
	low, sampled := m.Measure(check.Metric)
	switch {
	case err != nil:
		f.Verdict = scenarios.Fail
		f.Message = fmt.Sprintf("%s cannot be computed for limit %s: %v", check.Value, c.Plan.Limit, err)
		return f
	case !sampled:
		f.Verdict = scenarios.Inconclusive
		f.Message = fmt.Sprintf("%s has no sample of %s", c.Name, check.Metric)
		return f
	}
	high, _ := withUnknown(m).Measure(check.Metric)
	f.Message = fmt.Sprintf("%s: %s is %s, expected %s %s", c.Name, check.Metric, interval(low, high), check.Op, expected)
	held := check.Holds(low, expected)
	// Between the ends lies a value that decides an equality the other way.
	between := low.Cmp(expected) < 0 && expected.Cmp(high) < 0 && (check.Op == "==" || check.Op == "!=")
	// Even an account of the traffic is no account of traffic that was cut short.
	cut := c.Interrupted || c.Lost != nil && m.Missed > 0
	excused := (!check.Accounts() || cut) && (displaced(c, j) || partial(c, j) && !provenTooMany(check))
	switch {
	case held != check.Holds(high, expected) || between:
		f.Verdict = scenarios.Inconclusive
	case !held && excused:
		f.Verdict = scenarios.Inconclusive
	case !held:
		f.Verdict = scenarios.Fail
	}
	return f
}

// withUnknown is what the measures would be if everything of unknown fate had
// counted.
func withUnknown(m scenarios.Measures) scenarios.Measures {
	m.Admitted += m.Unknown
	m.Denied += m.Unknown
	m.PeakInWindow = m.PeakAtMost
	m.PeakInShort += m.UnknownUnits
	m.WrongAdmissions += m.Unknown
	m.WrongDenials += m.Unknown
	return m
}

func interval(low, high scenarios.Quantity) string {
	if low.Cmp(high) == 0 {
		return low.String()
	}
	return low.String() + " to " + high.String()
}

// provenTooMany reports whether missing requests cannot excuse the failure: an
// upper bound on admissions that is broken stays broken.
func provenTooMany(check scenarios.Check) bool {
	switch check.Metric {
	case "admitted", "peak_in_window", "peak_in_short", "peak_over_limit":
		return strings.HasPrefix(check.Op, "<")
	}
	return false
}

// measuresOf are the measures of a phase, or of the whole scenario for "". A
// phase that does not exist has measured nothing.
func measuresOf(c *Case, j *scenarios.Judgement, phase string) scenarios.Measures {
	if phase == "" {
		return j.Measures
	}
	for i, p := range c.Plan.Phases {
		if p.Name == phase {
			return j.Phases[i].Measures
		}
	}
	return scenarios.Measures{}
}
