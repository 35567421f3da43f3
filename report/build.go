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
	Cases       []Case
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
	Cost        *Cost // nil if nothing was measured
	Control     bool  // the plan is run without its faults
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
	for _, group := range grouped(in.Cases) {
		if err := r.addGroup(group); err != nil {
			return nil, err
		}
	}
	for i := range in.Cases {
		r.addScenario(&in.Cases[i])
		r.addFindings(&in.Cases[i])
		r.Verdict = r.Verdict.Worse(in.Cases[i].Judgement.Verdict)
	}
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

// addGroup adds the rows of one limiter under one scenario: the sum of all runs
// first, if there are several, then each run; in each the whole scenario first,
// then its phases.
func (r *Report) addGroup(group []*Case) error {
	if group[0].Runs > 1 {
		if err := r.addRows(group, 0); err != nil {
			return err
		}
	}
	for _, c := range group {
		if err := r.addRows([]*Case{c}, c.Run); err != nil {
			return err
		}
	}
	return nil
}

const wholeScenario = -1

func (r *Report) addRows(cases []*Case, run int) error {
	phases := len(cases[0].Plan.Phases)
	for phase := wholeScenario; phase < phases; phase++ {
		row, err := newRow(cases, phase, run)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, row)
	}
	return nil
}

// newRow sums cases. The counts of several are added, peaks and costs are the
// highest, the verdict is the worst.
func newRow(cases []*Case, phase, run int) (Row, error) {
	first := cases[0]
	row := Row{Scenario: first.Plan.Scenario, Limiter: first.Limiter, Algorithm: first.Algorithm, Run: run, Control: first.Control, Verdict: scenarios.Pass}
	if phase != wholeScenario {
		row.Phase = first.Plan.Phases[phase].Name
	}
	for _, c := range cases {
		row.add(c, phase)
	}
	if sent := row.Planned - row.Missed; sent > 0 {
		row.ErrorRate = finite(float64(row.Errored+row.Unknown) / float64(sent))
	}
	limit := first.Plan.Limit.Max
	if phase != wholeScenario {
		limit = first.Plan.Phases[phase].Limit.Max
	}
	if limit > 0 {
		row.PeakOverLimit = finite(float64(row.PeakInWindow) / float64(limit))
	}
	return row, row.time(cases, phase)
}

// add adds the counts of one case.
func (row *Row) add(c *Case, phase int) {
	m, verdict := c.Judgement.Measures, c.Judgement.Verdict
	if phase != wholeScenario {
		p := c.Judgement.Phases[phase]
		m, verdict = p.Measures, phaseVerdict(c, row.Phase, p.Measures)
		if c.Plan.Clock != scenarios.Virtual && m.Admitted+m.Denied > 0 {
			landed := Landed{First: p.First.Microseconds(), Last: p.Last.Microseconds()}
			if row.LandedUS != nil {
				landed.First = min(landed.First, row.LandedUS.First)
				landed.Last = max(landed.Last, row.LandedUS.Last)
			}
			row.LandedUS = &landed
		}
	}
	row.Planned += m.Planned
	row.Admitted += m.Admitted
	row.Denied += m.Denied
	row.Errored += m.Errored
	row.Unknown += m.Unknown
	row.Missed += m.Missed
	row.Wanted += m.Wanted
	row.Crowd = max(row.Crowd, m.Crowd)
	if m.Admitted > 0 {
		row.FirstAdmittedUS = further(row.FirstAdmittedUS, m.FirstAdmitted, func(a, b int64) int64 { return min(a, b) })
		row.LastAdmittedUS = further(row.LastAdmittedUS, m.LastAdmitted, func(a, b int64) int64 { return max(a, b) })
	}
	row.PeakInWindow = max(row.PeakInWindow, m.PeakInWindow)
	row.PeakInShort = Short{SpanUS: m.ShortSpan.Microseconds(), Admitted: max(row.PeakInShort.Admitted, m.PeakInShort)}
	row.Wrong.Admissions += m.WrongAdmissions
	row.Wrong.Denials += m.WrongDenials
	row.addElsewhere(m)
	row.Verdict = row.Verdict.Worse(verdict)
	if phase != wholeScenario {
		return
	}
	if c.Attempts > 1 {
		row.Attempts = max(row.Attempts, c.Attempts)
	}
	if p := c.Judgement.Promise; p != nil {
		kept := p.Kept && (row.Promise == nil || row.Promise.Kept)
		row.Promise = &Promise{MaxInWindow: p.MaxInWindow, Kept: kept}
	}
	if c.Cost != nil {
		row.Redis = worseCost(row.Redis, c.Cost)
	}
}

// addElsewhere adds what others than the limiter decided, and how it came back.
func (row *Row) addElsewhere(m scenarios.Measures) {
	row.DeniedAtEdge += m.ByEdge
	row.LostTail += m.LostTail
	row.StateLost += m.StateLost
	if m.ByOpen+m.ByClosed+m.ByLocal > 0 {
		if row.ByPolicy == nil {
			row.ByPolicy = &ByPolicy{}
		}
		row.ByPolicy.Open += m.ByOpen
		row.ByPolicy.Closed += m.ByClosed
		row.ByPolicy.Local += m.ByLocal
	}
	if m.Recovery != nil {
		row.RecoveryUS = further(row.RecoveryUS, *m.Recovery, func(a, b int64) int64 { return max(a, b) })
	}
	if c := m.Capacity; c != nil && (row.Capacity == nil || c.PerSecond < row.Capacity.PerSecond) { // of several runs the lowest
		row.Capacity = &Capacity{PerSecond: c.PerSecond, P50US: c.P50.Microseconds(), P99US: c.P99.Microseconds(), OverloadPerSecond: c.Overload}
	}
	if o := m.Overcounted; o.Used > o.Sent {
		share := float64(o.Used) / float64(o.Sent)
		if row.Overcounted == nil || share > *row.Overcounted {
			row.Overcounted = &share
		}
	}
}

// further is the earlier or the later of two instants, of which the first may be
// absent.
func further(known *int64, at time.Duration, choose func(a, b int64) int64) *int64 {
	us := at.Microseconds()
	if known != nil {
		us = choose(*known, us)
	}
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

// worseCost keeps the higher figure of each kind.
func worseCost(a, b *Cost) *Cost {
	if a == nil {
		return b
	}
	higher := func(x, y *float64) *float64 {
		if x == nil || y != nil && *y > *x {
			return y
		}
		return x
	}
	return &Cost{
		Keys:                max(a.Keys, b.Keys),
		BytesPerIdentity:    higher(a.BytesPerIdentity, b.BytesPerIdentity),
		CommandsPerDecision: higher(a.CommandsPerDecision, b.CommandsPerDecision),
		ScriptUSPerDecision: higher(a.ScriptUSPerDecision, b.ScriptUSPerDecision),
	}
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
	if c.Plan.Clock == scenarios.Virtual {
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
