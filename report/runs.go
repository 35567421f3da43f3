package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlbench/rlbench/report/stats"
	"github.com/rlbench/rlbench/scenarios"
)

// MostRuns is how often everything can be run at most.
const MostRuns = stats.MostRuns

// runsMissing is the reason of a result that has fewer runs than were wanted.
const runsMissing = "runs-missing"

// made is in how many runs a limiter was sent anything: an interrupt leaves some with
// fewer than others.
func (r *Report) made(s Subject) int {
	return len(slices.DeleteFunc(r.runsOf(s), (*Row).idle))
}

// wanted is how many runs of a scenario were asked for.
func (s *Scenario) wanted() int { return max(s.PlannedRuns, s.Runs) }

// subjectsOf are the limiters under a scenario.
func (r *Report) subjectsOf(s *Scenario) []Subject {
	var all []Subject
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Scenario == s.Name && !slices.Contains(all, row.subject()) {
			all = append(all, row.subject())
		}
	}
	return all
}

// runsMade is how many runs the limiters of a scenario have, and how many were wanted.
func runsMade(r *Report, s *Scenario) string {
	least, most := s.Runs, 0
	for _, subject := range r.subjectsOf(s) {
		made := r.made(subject)
		least, most = min(least, made), max(most, made)
	}
	text := strconv.Itoa(least)
	if least < most {
		text = fmt.Sprintf("%d to %d", least, most)
	}
	if s.PlannedRuns > 0 && s.PlannedRuns > least {
		text += fmt.Sprintf(" of %d", s.PlannedRuns)
	}
	return text
}

// tellMissingRuns says of every limiter that has fewer runs than were planned how many it
// has: what was made may pass, and is not what was asked for. It looks at a result that
// was made at once; without a plan, every limiter that is in it was to have all runs.
func (r *Report) tellMissingRuns(planned []Planned) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Run == 0 }) // of a result that is read
	r.Reasons = slices.DeleteFunc(r.Reasons, func(reason scenarios.Reason) bool { return reason.Code == runsMissing })
	if planned == nil {
		planned = r.everyRun()
	}
	var short []string
	missing, all := 0, 0
	for _, p := range planned {
		rows := r.runsOf(p.Subject)
		made := r.tried(rows)
		all += max(p.Runs, 0)
		if made >= p.Runs || p.Runs < 2 && len(rows) > 0 { // the row of a single run tells why it is none
			continue
		}
		missing += p.Runs - made
		short = append(short, r.tellMissingOf(p, made))
	}
	if missing == 0 {
		return
	}
	r.Reasons = append(r.Reasons, scenarios.Reason{
		Code: runsMissing, Message: fmt.Sprintf("%d of %d runs were not made: %s", missing, all, firstOf(short)),
		Hint: "run it again and let it finish",
	})
	r.judgeSums()
}

// tellMissingOf says how many runs a limiter has, and how many of how many in short.
func (r *Report) tellMissingOf(p Planned, made int) string {
	name := limiterCell(Row{Limiter: p.Limiter, Control: p.Control})
	r.Verdict = r.Verdict.Worse(scenarios.Inconclusive)
	if s := r.scenarioOf(p.Scenario); s.Name != "" { // else it had no turn at all, and has no place for findings
		s.Verdict = s.Verdict.Worse(scenarios.Inconclusive)
		r.Verdict = r.Verdict.Worse(s.Verdict)
		r.Findings = append(r.Findings, Finding{
			Scenario: p.Scenario, Check: "evidence", Limiter: p.Limiter, Control: p.Control, Verdict: scenarios.Inconclusive,
			Message: fmt.Sprintf("%s: %d of %d runs were made", name, made, p.Runs), Evidence: []string{},
		})
	}
	return fmt.Sprintf("%s under %s %d of %d", name, p.Scenario, made, p.Runs)
}

// everyRun is what was planned, as far as the rows tell.
func (r *Report) everyRun() []Planned {
	var all []Planned
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, subject := range r.subjectsOf(s) {
			all = append(all, Planned{subject, s.wanted()})
		}
	}
	return all
}

// runsOf are the rows of the runs of a limiter, in order.
func (r *Report) runsOf(s Subject) []*Row {
	var rows []*Row
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Phase == "" && row.Run > 0 && row.subject() == s {
			rows = append(rows, row)
		}
	}
	return rows
}

// tried is how many of the runs of a limiter were made. One of which nothing was sent was
// made as well, but for those at the end where an interrupt or a lost target kept it from that.
func (r *Report) tried(rows []*Row) int {
	cut := slices.ContainsFunc(r.Reasons, func(reason scenarios.Reason) bool {
		return reason.Code == "interrupted" || reason.Code == "target-lost"
	})
	n := len(rows)
	for cut && n > 0 && rows[n-1].idle() {
		n--
	}
	return n
}

// firstOf lists as many as fit a line or two, and how many more there are.
func firstOf(names []string) string {
	const shown = 4
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// judgeSums gives a sum of runs what was found about all of them together.
func (r *Report) judgeSums() {
	for _, f := range r.Findings {
		if f.Run != 0 || f.Warn {
			continue
		}
		for i := range r.Rows {
			if row := &r.Rows[i]; row.Run == 0 && row.Phase == "" && row.subject() == (Subject{f.Scenario, f.Limiter, f.Control}) {
				row.Verdict = row.Verdict.Worse(f.Verdict)
			}
		}
	}
}

// moreRuns says what would give a p99 to limiters that have too few decisions for one:
// never fewer runs than were wanted.
func moreRuns(r *Report, rows []Row) []note {
	const enough = 1000
	fewest, needed, wanted := int64(enough), int64(0), int64(0)
	for _, row := range rows {
		all := row.ServiceUS.All
		if all == nil || all.P99 != nil || all.Count == 0 {
			continue
		}
		made := int64(max(r.made(row.subject()), 1))
		fewest, needed = min(fewest, all.Count), max(needed, (enough*made+all.Count-1)/all.Count)
		wanted = int64(r.scenarioOf(row.Scenario).wanted())
	}
	advice := fmt.Sprintf("use --runs %d", needed)
	switch {
	case needed == 0:
		return nil
	case needed <= wanted && r.Merged == 0:
		advice = fmt.Sprintf("let all %d runs finish", wanted)
	case needed > MostRuns:
		advice = "send more requests in each run"
	}
	return []note{{"n/a: ", fmt.Sprintf("a p99 needs %d decisions, %d were made; %s.", enough, fewest, advice)}}
}
