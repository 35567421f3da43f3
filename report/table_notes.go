package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// note is a sentence under a table.
type note struct{ head, text string }

// notes explain what a table shows: who exceeded the limit and why, what failed,
// and what its figures are not.
func notes(r *Report, s *Scenario, rows []Row, columns []column) []note {
	var out []note
	for _, row := range rows {
		if row.Control {
			continue // what it has to say, the other says too
		}
		if text := strings.TrimSpace(excess(s, row) + " " + landing(r, s, row)); text != "" {
			out = append(out, note{row.Limiter + ": ", text})
		}
	}
	out = append(out, capacityNotes(rows)...)
	out = append(out, faultNotes(s, rows)...)
	for _, same := range r.defects(s) {
		if f := same[0]; f.Message != scenarios.NothingSent && !isReason(r, f) {
			out = append(out, finding(r, s, same)...)
		}
	}
	return append(out, caveats(r, s, rows, columns)...)
}

// capacityNotes say how fast requests may come.
func capacityNotes(rows []Row) (out []note) {
	for _, row := range rows {
		c := row.Capacity
		if c == nil || c.PerSecond == 0 {
			continue
		}
		text := fmt.Sprintf("keeps up with %s requests a second (response p50 %s, p99 %s)", number(c.PerSecond), roundMicros(c.P50US), roundMicros(c.P99US))
		if c.OverloadPerSecond > 0 {
			text += fmt.Sprintf(", and not with %s", number(c.OverloadPerSecond))
		}
		out = append(out, note{limiterCell(row) + ": ", text + "."})
	}
	return out
}

// isReason reports whether the end of the report tells a finding anyway.
func isReason(r *Report, f Finding) bool {
	return slices.ContainsFunc(r.Reasons, func(reason scenarios.Reason) bool { return reason.Message == f.Message })
}

// excess explains a peak above the limit.
func excess(s *Scenario, row Row) string {
	if row.PeakInWindow <= s.Limit.Max {
		return ""
	}
	text := fmt.Sprintf("peak %d in %s", row.PeakInWindow, limiter.FormatDuration(s.window()))
	if row.PeakOverLimit != nil {
		text += fmt.Sprintf(", %.2f× limit", *row.PeakOverLimit)
	}
	kept := " is kept"
	switch a, ok := limiter.Named(row.Algorithm); {
	case admitsByPolicy(row):
		text += "; part of it was decided by the failure policy"
		kept += " by the rest"
	case s.Names > 1:
		text += fmt.Sprintf("; a client has %d names here, each with a budget", s.Names)
		kept = " for each" + kept
	case s.Skewed:
		text += "; the senders' clocks differ"
	case row.StateLost > 0:
		text += "; what was counted was lost with Redis"
	case ok && a.Excess != "":
		text += "; " + a.Excess
	}
	if row.Promise != nil && row.Promise.Kept {
		again := ""
		if row.StateLost > 0 { // who forgets everything may admit a limit again
			again = " after the loss of its state"
			if row.StateLost > 1 {
				again = fmt.Sprintf(" after %d losses of its state", row.StateLost)
			}
		}
		text += fmt.Sprintf(". Its own promise (≤ %d%s)%s", row.Promise.MaxInWindow, again, kept)
	}
	return text + "."
}

// admitsByPolicy reports whether others than Redis may have admitted.
func admitsByPolicy(row Row) bool {
	return row.ByPolicy != nil && row.ByPolicy.Open+row.ByPolicy.Local > 0
}

// landing says, in real time, where the decisions of the last phase really fell
// and how much could be admitted by then.
func landing(r *Report, s *Scenario, row Row) string {
	a, ok := limiter.Named(row.Algorithm)
	if !ok || a.Excess == "" || s.Clock == scenarios.Virtual {
		return ""
	}
	first, last := phasesAround(r, row)
	if first == nil || last == nil || last.LandedUS.Last-first.LandedUS.First >= s.Limit.WindowUS {
		return ""
	}
	before := time.Duration(-first.LandedUS.First) * time.Microsecond
	e := time.Duration(last.LandedUS.Last) * time.Microsecond
	return fmt.Sprintf("After a full burst before the edge at most %d can be admitted until %s past it, when the last request of %s was decided.",
		a.AfterEdge(s.limit(), before, e), roundMicros(last.LandedUS.Last), last.Phase)
}

// phasesAround are the last phase that was decided before the edge, and the last
// one if that was decided after it.
func phasesAround(r *Report, whole Row) (before, last *Row) {
	for i, row := range r.Rows {
		if row.Scenario != whole.Scenario || row.Limiter != whole.Limiter || row.Run != whole.Run || row.Control != whole.Control || row.LandedUS == nil {
			continue
		}
		last = &r.Rows[i]
		if row.LandedUS.Last < 0 {
			before, last = last, nil
		}
	}
	if last != nil && last.LandedUS.First < 0 {
		return nil, nil
	}
	return before, last
}

// faultNotes say which trouble was made, and what it did to counts.
func faultNotes(s *Scenario, rows []Row) []note {
	var out []note
	for _, f := range s.Faults {
		at := time.Duration(f.AtUS) * time.Microsecond
		text := fmt.Sprintf("%s at %s", f.Kind, scenarios.Offset(at))
		if f.EndUS > f.AtUS {
			text += " for " + limiter.FormatDuration(time.Duration(f.EndUS-f.AtUS)*time.Microsecond)
		}
		if s.OnFailure != "" {
			text += ", on failure " + s.OnFailure
		}
		out = append(out, note{"fault: ", text + "."})
	}
	for _, row := range rows {
		if row.DeniedAtEdge > 0 {
			out = append(out, note{limiterCell(row) + ": ", "the tier in front denied " + counted(row.DeniedAtEdge, "request") + "."})
		}
		if row.LostTail > 0 {
			out = append(out, note{limiterCell(row) + ": ", "the failover lost " + counted(row.LostTail, "admission") + "."})
		}
		if row.Unknown > 0 {
			out = append(out, note{limiterCell(row) + ": ", "nobody knows whether " + counted(row.Unknown, "request") + " counted, so what was admitted is an interval."})
		}
		if row.Overcounted != nil {
			out = append(out, note{row.Limiter + ": ", fmt.Sprintf("says that %.1f units are used for each that it can have counted.", *row.Overcounted)})
		}
	}
	return out
}

// policyTimes say how long the failure policy took, for all limiters at once.
func policyTimes(rows []Row) []note {
	n, typical, longest := int64(0), int64(0), int64(0)
	for _, row := range rows {
		if p := row.PolicyUS; p != nil && p.P50 != nil && p.Max != nil {
			n, typical, longest = n+p.Count, max(typical, *p.P50), max(longest, *p.Max)
		}
	}
	if n == 0 {
		return nil
	}
	return []note{{"by policy: ", fmt.Sprintf("%s of the failure policy took up to %s (p50), %s (max); no time above is theirs.", counted(n, "decision"), roundMicros(typical), roundMicros(longest))}}
}

// word is the verdict of a finding, or that it only warns.
func (f *Finding) word() string {
	if f.Warn && f.Verdict != scenarios.Pass {
		return "warn"
	}
	return string(f.Verdict)
}

// finding is what failed, with its evidence.
func finding(r *Report, s *Scenario, same []Finding) []note {
	f := same[0]
	text := f.Message + inRunsOf(r, s, same)
	if f.Control {
		text += " (without the fault)"
	}
	out := []note{{f.word() + ": ", fmt.Sprintf("[%s] %s", f.Check, text)}}
	for _, line := range f.Evidence {
		out = append(out, note{"    ", line})
	}
	return out
}

// caveats say what the figures of a table are not.
func caveats(r *Report, s *Scenario, rows []Row, columns []column) []note {
	var out []note
	if l := s.Schedule.LagUS; l != nil && s.Schedule.Sent > 0 {
		out = append(out, note{"schedule: ", fmt.Sprintf("sent %d of %d; late by %s (p50), %s (max).",
			s.Schedule.Sent, s.Schedule.Planned, roundMicros(l.P50), roundMicros(l.Max))})
	}
	for _, row := range rows {
		if row.Attempts > 1 {
			verb := "hit the edge at attempt %d, each with fresh budgets."
			if row.Verdict == scenarios.Inconclusive {
				verb = "tried %d times, each with fresh budgets."
			}
			out = append(out, note{row.Limiter + ": ", fmt.Sprintf(verb, row.Attempts)})
		}
	}
	if r.Env.Redis.Flavour == "embedded" {
		out = append(out, note{"embedded: ", "counts are exact, latencies are an emulator's and not Redis's; install redis-server or give --redis URL."})
	}
	if slices.ContainsFunc(columns, func(c column) bool { return c.head == "p50" }) {
		out = append(out, policyTimes(rows)...)
	}
	if slices.ContainsFunc(columns, func(c column) bool { return c.head == "p99" }) {
		out = append(out, moreRuns(r, rows)...)
	}
	return out
}

// defects are the findings of a scenario that did not pass; those of one check of one limiter
// are together, whatever the run: a defect is one, and not one a run.
func (r *Report) defects(s *Scenario) [][]Finding {
	return r.findingsBy(s, func(f Finding) string {
		if f.Verdict == scenarios.Pass {
			return ""
		}
		return fmt.Sprintf("%q %t %q %q %s", f.Limiter, f.Control, f.Phase, f.Check, f.word())
	})
}

// inRunsOf says of which runs findings are, the first of which is told.
func inRunsOf(r *Report, s *Scenario, same []Finding) string {
	f := same[0]
	switch {
	case s.Runs < 2 || f.Run == 0:
		return ""
	case len(same) == 1:
		return fmt.Sprintf(" (run %d)", f.Run)
	}
	return fmt.Sprintf(" (run %d; so in %d of %d runs)", f.Run, len(same), len(r.runsOf(Subject{f.Scenario, f.Limiter, f.Control})))
}
