package report

import (
	"math"
	"slices"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// Input is everything that a report is built from.
type Input struct {
	Command     []string
	Started     time.Time
	Elapsed     time.Duration
	Env         Env
	Interrupted bool
	// Planned is what is to be run, for whoever finds only the beginning of a Stream.
	Planned []Planned
	Cases   []Case
}

// Planned is how often a limiter is to be run under a scenario.
type Planned struct {
	Subject
	Runs int `json:"runs"`
}

// Case is one judged run of one limiter under one scenario.
type Case struct {
	Description string
	Plan        *scenarios.Plan // its arrivals are not needed
	Hash        string          // of the plan
	Limiter     string
	Algorithm   string // "" if the limiter claims nothing
	Run, Runs   int    // from 1
	Attempts    int    // at hitting the edge, from 1
	Timings     *Timings
	Judgement   *scenarios.Judgement
	Profile     *scenarios.Profile // nil leaves the pictures out
	Cost        *Cost              // nil if nothing was measured
	Control     bool               // the plan is run without its faults
}

// Build makes the document. Scenarios, limiters and runs keep the order in which
// they first appear.
func Build(in Input) (*Report, error) {
	r := &Report{
		Schema: Schema, Verdict: scenarios.Pass, Interrupted: in.Interrupted,
		Reasons: []scenarios.Reason{}, Command: in.Command, Started: in.Started.UTC(),
		ElapsedUS: in.Elapsed.Microseconds(), Env: in.Env,
		Scenarios: []Scenario{}, Rows: []Row{}, Findings: []Finding{},
	}
	runs := map[string]int{}
	for i := range in.Cases {
		c := &in.Cases[i]
		runs[c.Plan.Scenario] = max(runs[c.Plan.Scenario], c.Run)
	}
	for _, group := range grouped(in.Cases) {
		if err := r.addGroup(group, runs[group[0].Plan.Scenario]); err != nil {
			return nil, err
		}
	}
	for i := range in.Cases {
		r.addScenario(&in.Cases[i])
		r.addFindings(&in.Cases[i])
		r.Verdict = r.Verdict.Worse(in.Cases[i].Judgement.Verdict)
	}
	for i := range r.Scenarios {
		r.Scenarios[i].begun(runs[r.Scenarios[i].Name])
	}
	r.tellMissingRuns(nil)
	if len(in.Cases) == 0 {
		r.Verdict = scenarios.Inconclusive
	}
	return r, nil
}

// grouped puts the runs of one limiter under one scenario together.
func grouped(cases []Case) [][]*Case {
	var groups [][]*Case
	for i := range cases {
		c := &cases[i]
		at := slices.IndexFunc(groups, func(g []*Case) bool {
			return g[0].Plan.Scenario == c.Plan.Scenario && g[0].Limiter == c.Limiter && g[0].Control == c.Control
		})
		if at < 0 {
			groups = append(groups, []*Case{c})
		} else {
			groups[at] = append(groups[at], c)
		}
	}
	return groups
}

// begun sets how many runs there are: an interrupt leaves fewer than were planned.
func (s *Scenario) begun(runs int) {
	if runs = max(runs, 1); runs < s.Runs {
		s.Runs, s.PlannedRuns = runs, max(s.PlannedRuns, s.Runs)
	}
}

// addGroup adds the rows of one limiter under one scenario: the sum of all runs
// first, if there are several, then each run; in each the whole scenario first,
// then its phases.
func (r *Report) addGroup(group []*Case, runs int) error {
	var rows []Row
	for _, c := range group {
		own, err := rowsOf(c)
		if err != nil {
			return err
		}
		rows = append(rows, own...)
	}
	if runs > 1 {
		sums, err := sumRuns(rows)
		if err != nil {
			return err
		}
		rows = append(sums, rows...)
	}
	r.Rows = append(r.Rows, rows...)
	return nil
}

const wholeScenario = -1

// rowsOf are the rows of a case.
func rowsOf(c *Case) ([]Row, error) {
	rows := []Row{rowOf(c, wholeScenario)}
	for phase := range c.Plan.Phases {
		row := rowOf(c, phase)
		t := &c.Timings.phases[phase]
		row.ServiceUS, row.ResponseUS, row.PolicyUS, row.LagUS = t.service, t.response, t.policy, t.lag
		rows = append(rows, row)
	}
	return rows, rows[0].pool(rows[1:])
}

// rowOf is a row but for its times.
func rowOf(c *Case, phase int) Row {
	m, limit := c.Judgement.Measures, c.Plan.Limit.Max
	row := Row{Scenario: c.Plan.Scenario, Limiter: c.Limiter, Algorithm: c.Algorithm, Run: c.Run, Control: c.Control, Verdict: c.Judgement.Verdict}
	if phase != wholeScenario {
		p := c.Judgement.Phases[phase]
		m, limit = p.Measures, c.Plan.Phases[phase].Limit.Max
		row.Phase = c.Plan.Phases[phase].Name
		row.Verdict = phaseVerdict(c, row.Phase, m)
		if c.Plan.Clock != scenarios.Virtual && m.Admitted+m.Denied > 0 {
			row.LandedUS = &Landed{First: p.First.Microseconds(), Last: p.Last.Microseconds()}
		}
	}
	row.Planned, row.Admitted, row.Denied = m.Planned, m.Admitted, m.Denied
	row.Errored, row.Unknown, row.Missed = m.Errored, m.Unknown, m.Missed
	row.Wanted, row.Crowd = m.Wanted, m.Crowd
	if m.Admitted > 0 {
		row.FirstAdmittedUS, row.LastAdmittedUS = micros(m.FirstAdmitted), micros(m.LastAdmitted)
	}
	row.PeakInWindow = m.PeakInWindow
	if m.Unknown > 0 {
		row.PeakAtMost = m.PeakAtMost
	}
	row.PeakInShort = Short{SpanUS: m.ShortSpan.Microseconds(), Admitted: m.PeakInShort}
	row.Wrong = Wrong{m.WrongAdmissions, m.WrongDenials}
	row.decidedElsewhere(m)
	row.rates()
	if limit > 0 {
		row.PeakOverLimit = finite(float64(row.PeakInWindow) / float64(limit))
	}
	if phase != wholeScenario {
		return row
	}
	if c.Attempts > 1 {
		row.Attempts = c.Attempts
	}
	if p := c.Judgement.Promise; p != nil && !row.idle() {
		row.Promise = &Promise{MaxInWindow: p.MaxInWindow, Kept: p.Kept}
	}
	row.Redis = c.Cost
	row.profiled(c.Profile)
	return row
}

// idle reports whether nothing was sent of what was planned.
func (row *Row) idle() bool { return row.Planned > 0 && row.Missed == row.Planned }

// decidedElsewhere sets what others than the limiter decided, and how it came back.
func (row *Row) decidedElsewhere(m scenarios.Measures) {
	row.DeniedAtEdge, row.LostTail, row.StateLost = m.ByEdge, m.LostTail, m.StateLost
	if m.ByOpen+m.ByClosed+m.ByLocal > 0 {
		row.ByPolicy = &ByPolicy{Open: m.ByOpen, Closed: m.ByClosed, Local: m.ByLocal}
	}
	if m.Recovery != nil {
		row.RecoveryUS = micros(*m.Recovery)
	}
	if c := m.Capacity; c != nil {
		row.Capacity = &Capacity{PerSecond: c.PerSecond, P50US: c.P50.Microseconds(), P99US: c.P99.Microseconds(), OverloadPerSecond: c.Overload}
	}
	if o := m.Overcounted; o.Used > o.Sent {
		row.Overcounted = finite(float64(o.Used) / float64(o.Sent))
	}
}

// rates sets what follows from the counts.
func (row *Row) rates() {
	row.ErrorRate = nil
	if sent := row.Planned - row.Missed; sent > 0 {
		row.ErrorRate = finite(float64(row.Errored+row.Unknown) / float64(sent))
	}
}

func micros(d time.Duration) *int64 {
	us := d.Microseconds()
	return &us
}

// phaseVerdict is the worst finding about a phase itself. One of which a part
// was not decided is inconclusive.
func phaseVerdict(c *Case, phase string, m scenarios.Measures) scenarios.Verdict {
	verdict := scenarios.Pass
	if m.Missed+m.Errored+m.Unknown-m.Excused > 0 {
		verdict = scenarios.Inconclusive
	}
	for _, f := range c.Judgement.Findings {
		if f.Phase == phase && !f.Warn {
			verdict = verdict.Worse(f.Verdict)
		}
	}
	return verdict
}

// finite keeps NaN and infinities, which JSON cannot hold, out of the document.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// addScenario adds a case to the entry of its scenario.
func (r *Report) addScenario(c *Case) {
	at := slices.IndexFunc(r.Scenarios, func(s Scenario) bool { return s.Name == c.Plan.Scenario })
	if at < 0 {
		at = len(r.Scenarios)
		r.Scenarios = append(r.Scenarios, Scenario{
			Name: c.Plan.Scenario, Description: c.Description, SHA256: c.Hash, Seed: c.Plan.Seed,
			Clock: c.Plan.Clock, Runs: c.Runs, Verdict: scenarios.Pass,
			Limit:     Limit{Max: c.Plan.Limit.Max, WindowUS: c.Plan.Limit.Window.Microseconds()},
			OnFailure: c.Plan.OnFailure, Names: names(c.Plan), Skewed: c.Plan.Skewed(),
		})
	}
	s, m := &r.Scenarios[at], c.Judgement.Measures
	if s.Faults == nil { // the control run comes first, and has none
		s.Faults = plannedFaults(c.Plan)
	}
	s.Verdict = s.Verdict.Worse(c.Judgement.Verdict)
	s.Schedule.Planned += m.Planned
	s.Schedule.Sent += m.Planned - m.Missed
	s.Schedule.Missed += m.Missed
	if c.Plan.Clock == scenarios.Virtual || m.Planned == m.Missed { // nothing was sent, so nothing late
		return
	}
	if s.Schedule.LagUS == nil {
		s.Schedule.LagUS = &Lag{}
	}
	lag, l := s.Schedule.LagUS, c.Judgement.Lag
	lag.P50 = max(lag.P50, l.P50.Microseconds())
	lag.P99 = max(lag.P99, l.P99.Microseconds())
	lag.Max = max(lag.Max, l.Max.Microseconds())
}

// names is how many identities a client has; 0 if one.
func names(p *scenarios.Plan) int {
	known := map[int32]bool{}
	for i := range p.Phases {
		known[p.Identity(scenarios.Arrival{Phase: int32(i)}).Pseudonym] = true
	}
	if len(known) < 2 {
		return 0
	}
	return len(known)
}

func plannedFaults(p *scenarios.Plan) []PlannedFault {
	var faults []PlannedFault
	for _, f := range p.Faults {
		faults = append(faults, PlannedFault{f.Kind, f.At.Microseconds(), f.End.Microseconds()})
	}
	return faults
}

func (r *Report) addFindings(c *Case) {
	for _, f := range c.Judgement.Findings {
		evidence := f.Evidence
		if evidence == nil {
			evidence = []string{}
		}
		r.Findings = append(r.Findings, Finding{
			Scenario: c.Plan.Scenario, Check: f.Check, Limiter: c.Limiter, Phase: f.Phase, Run: c.Run, Control: c.Control,
			Verdict: f.Verdict, Warn: f.Warn, Message: f.Message, Evidence: evidence,
		})
	}
	for _, reason := range c.Judgement.Reasons {
		if !slices.Contains(r.Reasons, reason) {
			r.Reasons = append(r.Reasons, reason)
		}
	}
}
