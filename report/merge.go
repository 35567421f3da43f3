package report

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// Saved is a report and the name of the file that it was read from.
type Saved struct {
	Name string
	*Report
}

// ErrCountedTwice is of results of which one is in another, for errors.Is.
var ErrCountedTwice = errors.New("counted twice")

// Merge makes one report of several of the same traffic, such as those of several
// machines: the runs of each are further runs, counts add, histograms are merged, so
// that percentiles are those of all samples. It changes none of them.
//
// It refuses what has no sum, with a reason: other traffic under the same name,
// latencies of an emulator beside a server's, a result that is given twice, and one
// without histograms.
func Merge(results []Saved) (*Report, error) {
	if len(results) == 0 {
		return nil, errors.New("merge: no results")
	}
	var errs []error
	for i, s := range results {
		for _, other := range results[:i] {
			errs = append(errs, mergeable(other, s))
		}
		errs = append(errs, readable(s))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	m := merger{
		Report: &Report{Schema: Schema, Verdict: scenarios.Pass, Reasons: []scenarios.Reason{}, Scenarios: []Scenario{}, Rows: []Row{}, Findings: []Finding{}},
		runs:   map[string]int{},
	}
	for _, s := range results {
		m.add(s.Report)
	}
	return m.Report, m.arrange()
}

// readable reports whether the histograms of a result can be read, and of what it is.
func readable(s Saved) error {
	if s.Merged > 0 && len(s.MergedFrom) == 0 {
		return fmt.Errorf("merge %s: it is a sum that does not tell of what, so that something could be %w: merge its parts again", s.Name, ErrCountedTwice)
	}
	for _, row := range s.Rows {
		if row.Phase == "" || row.Run == 0 {
			continue
		}
		if err := new(Row).pool([]Row{row}); err != nil {
			return fmt.Errorf("merge %s: %s of %s: %w", s.Name, row.Limiter, row.Scenario, err)
		}
	}
	return nil
}

// mergeable says why two results have no sum.
func mergeable(a, b Saved) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("merge %s and %s: %w", a.Name, b.Name, fmt.Errorf(format, args...))
	}
	if why := twice(a, b); why != "" {
		return refuse("%s, which would be %w", why, ErrCountedTwice)
	}
	if x, y := a.Env.Redis.Flavour, b.Env.Redis.Flavour; (x == "embedded") != (y == "embedded") {
		if y == "embedded" {
			x, y = y, x
		}
		return refuse("one is of an emulator (redis %q) and one of a server (redis %q): their latencies have no sum", x, y)
	}
	for _, s := range a.Scenarios {
		i := slices.IndexFunc(b.Scenarios, func(o Scenario) bool { return o.Name == s.Name })
		if i < 0 {
			continue
		}
		if why := otherTraffic(s, b.Scenarios[i]); why != "" {
			return refuse("%s", why)
		}
	}
	return nil
}

// twice says what two results have in common; empty if nothing.
func twice(a, b Saved) string {
	from, other := a.parts(), b.parts()
	i := slices.IndexFunc(from, func(part string) bool { return slices.Contains(other, part) })
	switch {
	case i < 0:
		return ""
	case a.Merged == 0 && b.Merged == 0:
		return "they are the same result"
	case b.Merged == 0:
		return fmt.Sprintf("%s is a sum that %s is in already", a.Name, b.Name)
	case a.Merged == 0:
		return fmt.Sprintf("%s is a sum that %s is in already", b.Name, a.Name)
	}
	return "both are sums that have one result in common, begun at " + strings.Fields(from[i])[0]
}

// parts name the results that a report is of: when each began, and a mark of where and how
// it was made, since several machines may begin at once. One that was killed has no end, and
// is the same as the whole.
func (r *Report) parts() []string {
	if r.Merged > 0 {
		return r.MergedFrom
	}
	if r.Started.IsZero() || len(r.Rows) == 0 {
		return nil
	}
	mark := sha256.Sum256(fmt.Appendf(nil, "%q %q", fmt.Sprint(r.Env), r.Command))
	return []string{fmt.Sprintf("%s %x", r.Started.UTC().Format(time.RFC3339Nano), mark[:4])}
}

// otherTraffic says in what two scenarios of one name differ; empty if in nothing.
func otherTraffic(s, o Scenario) string {
	switch {
	case s.Limit != o.Limit:
		return fmt.Sprintf("scenario %s has limit %s in one and %s in the other", s.Name, s.limit(), o.limit())
	case s.Clock != o.Clock:
		return fmt.Sprintf("scenario %s has the %s clock in one and the %s clock in the other", s.Name, s.Clock, o.Clock)
	case s.Seed != o.Seed:
		return fmt.Sprintf("scenario %s has seed %d in one and %d in the other: that is other traffic", s.Name, s.Seed, o.Seed)
	case s.SHA256 != o.SHA256:
		return fmt.Sprintf("scenario %s is another plan in each (sha256 %.8s and %.8s)", s.Name, s.SHA256, o.SHA256)
	}
	return ""
}

// merger is a merged report in the making.
type merger struct {
	*Report
	runs map[string]int // of each scenario, so far
}

func (m *merger) add(r *Report) {
	if m.Merged == 0 {
		m.Command, m.Started, m.Env, m.Machines = r.Command, r.Started, r.Env, slices.Clone(r.Machines)
	}
	for _, env := range r.machines() {
		if !slices.Contains(m.machines(), env) {
			m.Machines = append(m.machines(), env)
		}
	}
	m.ElapsedUS = took(m.Started, m.ElapsedUS, r.Started, r.ElapsedUS)
	if r.Started.Before(m.Started) {
		m.Started = r.Started
	}
	m.Merged, m.MergedFrom = m.Merged+max(r.Merged, 1), append(m.MergedFrom, r.parts()...)
	m.Interrupted = m.Interrupted || r.Interrupted
	m.Verdict = m.Verdict.Worse(r.Verdict)
	for _, reason := range r.Reasons {
		if !slices.Contains(m.Reasons, reason) {
			m.Reasons = append(m.Reasons, reason)
		}
	}
	for _, row := range r.Rows {
		if row.Run > 0 {
			row.Run += m.runs[row.Scenario]
			m.Rows = append(m.Rows, row)
		}
	}
	for _, f := range r.Findings {
		if f.Run > 0 { // else it is about all of its runs
			f.Run += m.runs[f.Scenario]
		}
		m.Findings = append(m.Findings, f)
	}
	for _, s := range r.Scenarios {
		m.addScenario(s)
		m.runs[s.Name] += s.Runs
	}
}

// machines are where a result was made.
func (r *Report) machines() []Env {
	if len(r.Machines) == 0 {
		return []Env{r.Env}
	}
	return r.Machines
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (m *merger) addScenario(s Scenario) {
	i := slices.IndexFunc(m.Scenarios, func(o Scenario) bool { return o.Name == s.Name })
	if i < 0 {
		m.Scenarios = append(m.Scenarios, s)
		return
	}
	o := &m.Scenarios[i]
	if o.PlannedRuns+s.PlannedRuns > 0 {
		o.PlannedRuns = max(o.PlannedRuns, o.Runs) + max(s.PlannedRuns, s.Runs)
	}
	o.Runs += s.Runs
	o.Verdict = o.Verdict.Worse(s.Verdict)
	o.Schedule.Planned += s.Schedule.Planned
	o.Schedule.Sent += s.Schedule.Sent
	o.Schedule.Missed += s.Schedule.Missed
	o.Schedule.LagUS = either(o.Schedule.LagUS, s.Schedule.LagUS, func(a, b Lag) Lag {
		return Lag{max(a.P50, b.P50), max(a.P99, b.P99), max(a.Max, b.Max)}
	})
}

// arrange puts the rows of one limiter under one scenario together, with their sum in
// front where there are several runs.
func (r *Report) arrange() error {
	groups := map[Subject][]Row{}
	var order []Subject
	for _, row := range r.Rows {
		if row.Run == 0 {
			continue
		}
		g := row.subject()
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], row)
	}
	r.Rows = []Row{}
	for _, g := range order {
		slices.SortStableFunc(groups[g], func(a, b Row) int { // the whole before its phases
			return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(min(len(a.Phase), 1), min(len(b.Phase), 1)))
		})
		if i := slices.IndexFunc(r.Scenarios, func(s Scenario) bool { return s.Name == g.Scenario }); i >= 0 && r.Scenarios[i].Runs > 1 {
			sums, err := sumRuns(groups[g])
			if err != nil {
				return fmt.Errorf("add up the runs of %s under %s: %w", g.Limiter, g.Scenario, err)
			}
			r.Rows = append(r.Rows, sums...)
		}
		r.Rows = append(r.Rows, groups[g]...)
	}
	r.judgeSums()
	return nil
}

// took is how long two results took: all of the time of both if they were made at once, and
// else what each took, without what is between them.
func took(a time.Time, aUS int64, b time.Time, bUS int64) int64 {
	aEnd, bEnd := a.Add(time.Duration(aUS)*time.Microsecond), b.Add(time.Duration(bUS)*time.Microsecond)
	if aEnd.Before(b) || bEnd.Before(a) {
		return aUS + bUS
	}
	begin := a
	if b.Before(a) {
		begin = b
	}
	return later(aEnd, bEnd).Sub(begin).Microseconds()
}
