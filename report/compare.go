package report

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlbench/rlbench/report/stats"
	"github.com/rlbench/rlbench/scenarios"
)

// ComparisonSchema names the version of the document of a comparison.
const ComparisonSchema = "rlbench.comparison/v1"

// ComparisonJSONSchema is the JSON Schema of a comparison. It is generated from the
// types in this package by "go test ./report -update".
//
//go:embed comparison_schema.json
var ComparisonJSONSchema []byte

// Comparison is what changed from one report to another. A count is exact: where all
// runs of the old report have one value, any other is a change. Times and what varies
// are samples, a value for each run.
type Comparison struct {
	Schema    string            `json:"schema" jsonschema:"enum=rlbench.comparison/v1"`
	Verdict   scenarios.Verdict `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"`
	Alpha     float64           `json:"alpha"`      // chance of even one false alarm
	MinEffect float64           `json:"min_effect"` // as a share of the old median: less is no change; of times see their own
	// FailOn is what the comparison fails for: its verdict says what changed, whether or not
	// that ends a job.
	FailOn string `json:"fail_on,omitempty" jsonschema:"enum=never,enum=regression,enum=fail,enum=inconclusive"`
	// OwnGate is that the new report ends the job by its own verdict, whatever FailOn lets
	// pass, since the run that made it does.
	OwnGate bool       `json:"own_gate,omitempty"`
	Old     Side       `json:"old"`
	New     Side       `json:"new"`
	Rows    []Compared `json:"rows"`
	// Missing are limiters of the old report that the new one lacks, and Added the
	// other way round.
	Missing []Subject `json:"missing"`
	Added   []Subject `json:"added"`
	Notes   []string  `json:"notes"`
}

// Side is one of the two reports.
type Side struct {
	Name    string            `json:"name"`
	Started time.Time         `json:"started"`
	Verdict scenarios.Verdict `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"`
	Env     Env               `json:"env"`
}

// Subject is a limiter under a scenario.
type Subject struct {
	Scenario string `json:"scenario"`
	Limiter  string `json:"limiter"`
	Control  bool   `json:"control,omitempty"`
}

// Compared is one metric of one limiter under one scenario.
type Compared struct {
	Subject
	Metric string `json:"metric"`
	Unit   string `json:"unit,omitempty"`
	// Better says which direction is: lower, higher, or none, where any change is one
	// for the worse.
	Better  string  `json:"better,omitempty" jsonschema:"enum=lower,enum=higher"`
	Exact   bool    `json:"exact"`
	OldRuns int     `json:"old_runs"`
	NewRuns int     `json:"new_runs"`
	Old     float64 `json:"old"` // median; of what is exact the value
	// New is the median; of what is exact the worst, or if none is worse the one that differs
	// most; absent where the new report does not have it.
	New *float64 `json:"new,omitempty"`
	// Shift is the Hodges-Lehmann estimate of what was added, with an interval of
	// confidence 1-alpha where there are runs enough for one; absent if exact. P is the
	// Mann-Whitney p-value after Holm.
	Shift *float64 `json:"shift,omitempty"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	P     *float64 `json:"p,omitempty"`
	// Change says what that means. Gone is what the old report has and the new one has not.
	// Undecided may be more than min_effect or less, and NeedsRuns is how many runs would
	// tell: 1001 is more than 1000, and absent if none would, because it is about min_effect.
	Change    string `json:"change" jsonschema:"enum=same,enum=better,enum=worse,enum=undecided,enum=gone"`
	NeedsRuns int    `json:"needs_runs,omitempty"`
	// MinEffect is what a shift has to exceed by itself, as a share of the old median, to be
	// a change: 0 of counts that vary; absent if exact.
	MinEffect *float64 `json:"min_effect,omitempty"`

	samples [2][]float64
	kind    metricKind
}

// What a Compared can have changed to.
const (
	ChangeSame      = "same"
	ChangeBetter    = "better"
	ChangeWorse     = "worse"
	ChangeUndecided = "undecided"
	ChangeGone      = "gone"
)

// CompareOptions say what counts as a change.
type CompareOptions struct {
	Alpha, MinEffect float64
	// TimeEffect is the MinEffect of times: what two invocations may differ by though nothing
	// changed. 0 is MinEffect.
	TimeEffect float64
	// Noise is a calibration, whose floors times have to exceed; nil is none.
	Noise  *Calibration
	FailOn string // "" is FailRegression
	// AcrossMachines compares results of different machines too.
	AcrossMachines bool
}

// Compare says what changed from one report to another. It refuses what says nothing:
// other traffic under the same name, and other machines unless the options let it.
func Compare(before, after Saved, o CompareOptions) (*Comparison, error) {
	if err := CanCompare(before, after, o); err != nil {
		return nil, err
	}
	c := &Comparison{
		Schema: ComparisonSchema, Alpha: o.Alpha, MinEffect: o.MinEffect, FailOn: cmp.Or(o.FailOn, FailRegression),
		Old: side(before), New: side(after), Rows: []Compared{}, Missing: []Subject{}, Added: []Subject{}, Notes: []string{},
	}
	olds, news := comparableRuns(before.Report), comparableRuns(after.Report)
	for _, s := range olds.subjects {
		if news.rows[s] == nil {
			c.Missing = append(c.Missing, s)
			continue
		}
		for _, m := range comparedMetrics(before.Report) {
			c.add(s, m, olds.rows[s], news.rows[s])
		}
	}
	for _, s := range news.subjects {
		if olds.rows[s] == nil {
			c.Added = append(c.Added, s)
		}
	}
	if len(c.Rows) == 0 {
		return nil, nothingInCommon(before, after)
	}
	if err := c.test(o); err != nil {
		return nil, err
	}
	c.note(before, after)
	c.judge()
	return c, nil
}

// Why results are not compared, for errors.Is.
var (
	// ErrOtherMachine is of results of different machines.
	ErrOtherMachine = errors.New("times say nothing")
	// ErrOtherNoise is of a calibration of another machine.
	ErrOtherNoise = errors.New("the calibration does not fit")
)

func side(s Saved) Side { return Side{s.Name, s.Started, s.Verdict, s.Env} }

func nothingInCommon(a, b Saved) error {
	return fmt.Errorf("compare %s with %s: they have no limiter under the same scenario in common", a.Name, b.Name)
}

// CanCompare says why two reports cannot be compared. The second may be one that is yet to
// be made, with a row for each limiter that will be in it.
func CanCompare(a, b Saved, o CompareOptions) error {
	var errs []error
	for _, s := range a.Scenarios {
		if i := slices.IndexFunc(b.Scenarios, func(o Scenario) bool { return o.Name == s.Name }); i >= 0 {
			if why := otherTraffic(s, b.Scenarios[i]); why != "" {
				errs = append(errs, fmt.Errorf("compare %s with %s: %s", a.Name, b.Name, why))
			}
		}
	}
	if o.Noise != nil {
		if why := OtherMachine(o.Noise.Env, b.Env); why != "" {
			errs = append(errs, fmt.Errorf("compare %s with %s: %w: %s", a.Name, b.Name, ErrOtherNoise, why))
		}
	}
	if why := OtherMachine(a.Env, b.Env); why != "" && !o.AcrossMachines {
		errs = append(errs, fmt.Errorf("compare %s with %s: %s, so that %w", a.Name, b.Name, why, ErrOtherMachine))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	olds, news := comparableRuns(a.Report), comparableRuns(b.Report)
	if len(olds.subjects) == 0 {
		return fmt.Errorf("compare %s with %s: %[1]s has no run that was sent", a.Name, b.Name)
	}
	if !slices.ContainsFunc(olds.subjects, func(s Subject) bool { return news.rows[s] != nil }) {
		return nothingInCommon(a, b)
	}
	return nil
}

// OtherMachine says in what two environments differ, so that times of one say nothing
// about the other; empty if in nothing. A flavour that is not known yet is any.
func OtherMachine(a, b Env) string {
	for _, d := range []struct{ what, a, b string }{
		{"processor", a.CPU, b.CPU},
		{"number of cores", fmt.Sprint(a.Cores), fmt.Sprint(b.Cores)},
		{"system", a.OS + "/" + a.Arch, b.OS + "/" + b.Arch},
		{"kind of Redis", a.Redis.Flavour, b.Redis.Flavour},
	} {
		if d.a != d.b && d.a != "" && d.b != "" {
			return fmt.Sprintf("they are of different machines (%s %s and %s)", d.what, d.a, d.b)
		}
	}
	return ""
}

func (row *Row) subject() Subject { return Subject{row.Scenario, row.Limiter, row.Control} }

// comparedRuns are the runs of each limiter of a report, in order. A run that was cut short is
// none: it says what was interrupted and not what the limiter does.
type comparedRuns struct {
	subjects []Subject
	rows     map[Subject][]*Row
}

func comparableRuns(r *Report) comparedRuns {
	all := comparedRuns{rows: map[Subject][]*Row{}}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Run == 0 || row.Phase != "" || row.idle() || r.Interrupted && row.Missed > 0 {
			continue
		}
		s := row.subject()
		if all.rows[s] == nil {
			all.subjects = append(all.subjects, s)
		}
		all.rows[s] = append(all.rows[s], row)
	}
	return all
}

// add compares one metric, as far as counts go.
func (c *Comparison) add(s Subject, m comparedMetric, before, after []*Row) {
	d := Compared{Subject: s, Metric: m.name, Unit: m.unit, Better: m.better, Change: ChangeSame, kind: m.kind}
	d.samples = [2][]float64{valuesOf(before, m), valuesOf(after, m)}
	d.OldRuns, d.NewRuns = len(d.samples[0]), len(d.samples[1])
	if d.OldRuns == 0 {
		return // nothing to compare with
	}
	d.Old = stats.Median(d.samples[0])
	if d.NewRuns == 0 {
		d.Change = ChangeGone
		c.Rows = append(c.Rows, d)
		return
	}
	now := stats.Median(d.samples[1])
	steady := constant(d.samples[0]) && (m.kind == exactCount || m.kind == exactCost && constant(d.samples[1]))
	if d.Exact = steady; steady {
		now = worst(m.better, d.samples[1], d.Old)
		if least := c.MinEffect * math.Abs(d.Old); now != d.Old && (m.kind == exactCount || math.Abs(now-d.Old) >= least) {
			d.Change = direction(m.better, now-d.Old)
		}
	}
	d.New = &now
	c.Rows = append(c.Rows, d)
}

// valuesOf are the values of a metric, one for each run.
func valuesOf(rows []*Row, m comparedMetric) []float64 {
	var values []float64
	for _, row := range rows {
		if v := m.of(row); v.known {
			values = append(values, v.number)
		}
	}
	return values
}

func constant(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != values[0] })
}

// worst is the value that is worse than another by most, and if none is worse the one that
// is better by most: nine runs that got better do not make up for one that got worse.
func worst(better string, values []float64, than float64) float64 {
	low, high := slices.Min(values), slices.Max(values)
	switch {
	case better == "lower" && high > than, better == "higher" && low >= than:
		return high
	case better == "higher" && low < than, better == "lower":
		return low
	case than-low > high-than:
		return low
	}
	return high
}

func direction(better string, by float64) string {
	if better == "lower" && by < 0 || better == "higher" && by > 0 {
		return ChangeBetter
	}
	return ChangeWorse
}

// note says what else is different.
func (c *Comparison) note(before, after Saved) {
	if why := OtherMachine(before.Env, after.Env); why != "" {
		c.Notes = append(c.Notes, why+": times say little")
	}
	if own := c.ownVerdict(); own != "" {
		c.Notes = append(c.Notes, own)
	}
	if sameJSON(before.Report, after.Report) { // and no copy that was edited
		c.Notes = append(c.Notes, "they are the same result, so that nothing can differ")
		for i := range c.Rows { // more runs of it would be of something else
			c.Rows[i].Change, c.Rows[i].NeedsRuns = ChangeSame, 0
		}
	}
	c.noteRuns()
	if a, b := server(before.Env.Redis), server(after.Env.Redis); a != b {
		c.Notes = append(c.Notes, fmt.Sprintf("Redis was %s and is %s", a, b))
	}
	if before.Env.Redis.Flavour == "embedded" {
		c.Notes = append(c.Notes, "latencies of the emulator are not compared")
	}
	for _, s := range []Saved{before, after} {
		if s.Interrupted {
			c.Notes = append(c.Notes, s.Name+" is of a run that was interrupted")
		}
	}
}

func (c *Comparison) judge() {
	c.Verdict = scenarios.Pass
	if len(c.Missing) > 0 {
		c.Verdict = scenarios.Inconclusive
	}
	for _, d := range c.Rows {
		c.Verdict = c.Verdict.Worse(verdictOf(d.Change))
	}
}
