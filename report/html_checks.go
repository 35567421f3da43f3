package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlbench/rlbench/scenarios"
)

// pageFinding is what one check found, in one run or alike in several.
type pageFinding struct {
	Check, Limiter, Phase, Runs, Verdict, Message string
	Evidence                                      []string
}

// findingsOf are all checks; where there is little room, those that did not hold, and where
// there is a bit more, those that are not of one run of several.
func findingsOf(r *Report, s *Scenario, a amount) []pageFinding {
	var all []pageFinding
	for _, alike := range r.alikeFindings(s) {
		f := alike[0]
		ofOne := s.Runs > 1 && f.Run > 0 && len(alike) == 1
		if f.Verdict == scenarios.Pass && (a < general || ofOne && a < full) {
			continue
		}
		one := pageFinding{
			Check: printable(f.Check), Limiter: limiterCell(Row{Limiter: f.Limiter, Control: f.Control}), Phase: printable(f.Phase),
			Runs: runsOf(alike), Verdict: f.word(), Message: printable(f.Message),
		}
		for _, line := range f.Evidence {
			one.Evidence = append(one.Evidence, printable(line))
		}
		all = append(all, one)
	}
	return all
}

// alikeFindings are the findings of a scenario; those that differ in nothing but the run are
// together.
func (r *Report) alikeFindings(s *Scenario) [][]Finding {
	return r.findingsBy(s, func(f Finding) string {
		return fmt.Sprintf("%q", append([]string{f.Limiter, strconv.FormatBool(f.Control), f.Phase, f.Check, f.word(), f.Message}, f.Evidence...))
	})
}

// findingsBy are the findings of a scenario, in their order; those of single runs that have
// the same key are together, at the first of them. Those without a key are left out.
func (r *Report) findingsBy(s *Scenario, key func(Finding) string) [][]Finding {
	var all [][]Finding
	at := map[string]int{}
	for _, f := range r.Findings {
		if f.Scenario != s.Name {
			continue
		}
		k := key(f)
		if k == "" {
			continue
		}
		i, known := at[k]
		if !known || f.Run == 0 {
			i, all = len(all), append(all, nil)
		}
		if f.Run > 0 {
			at[k] = i
		}
		all[i] = append(all[i], f)
	}
	return all
}

// runsOf are the runs of findings, such as 1–3, 7; empty for what is about all of them.
func runsOf(alike []Finding) string {
	runs := make([]int, len(alike))
	for i, f := range alike {
		runs[i] = f.Run
	}
	slices.Sort(runs)
	runs = slices.Compact(runs)
	if runs[0] == 0 {
		return ""
	}
	var parts []string
	for from := 0; from < len(runs); {
		to := from
		for to+1 < len(runs) && runs[to+1] == runs[to]+1 {
			to++
		}
		part := strconv.Itoa(runs[from])
		if to > from {
			part += "–" + strconv.Itoa(runs[to])
		}
		parts, from = append(parts, part), to+1
	}
	return strings.Join(parts, ", ")
}
