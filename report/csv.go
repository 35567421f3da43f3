package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/rlbench/rlbench/scenarios"
)

// named are the columns that say what a row is about; the scenario is nil where a
// report has none of that name.
var named = []struct {
	name string
	of   func(*Row, *Scenario) string
}{
	{"scenario", func(r *Row, _ *Scenario) string { return r.Scenario }},
	{"limiter", func(r *Row, _ *Scenario) string { return r.Limiter }},
	{"algorithm", func(r *Row, _ *Scenario) string { return r.Algorithm }},
	{"phase", func(r *Row, _ *Scenario) string { return r.Phase }},
	{"run", func(r *Row, _ *Scenario) string { return strconv.Itoa(r.Run) }},
	{"control", func(r *Row, _ *Scenario) string { return strconv.FormatBool(r.Control) }},
	{"clock", func(_ *Row, s *Scenario) string { return string(s.Clock) }},
	{"seed", func(_ *Row, s *Scenario) string { return strconv.FormatUint(s.Seed, 10) }},
	{"limit_max", func(_ *Row, s *Scenario) string { return number(s.Limit.Max) }},
	{"limit_window_us", func(_ *Row, s *Scenario) string { return number(s.Limit.WindowUS) }},
}

// judgedPhases are the phases of limiters that some check was about.
func judgedPhases(r *Report) map[rowKey]bool {
	judged := map[rowKey]bool{}
	for _, f := range r.Findings {
		if f.Phase != "" {
			judged[rowKey{Subject{f.Scenario, f.Limiter, f.Control}, f.Phase, f.Run}] = true
			judged[rowKey{Subject{f.Scenario, f.Limiter, f.Control}, f.Phase, 0}] = true
		}
	}
	return judged
}

// told is the verdict of a row; empty for a phase that no check was about, which would
// otherwise seem to pass where the whole fails.
func (row *Row) told(judged map[rowKey]bool) scenarios.Verdict {
	if row.Phase != "" && row.Verdict == scenarios.Pass && !judged[row.key()] {
		return ""
	}
	return row.Verdict
}

// renderCSV writes a line for each row of the document, with every figure of it; an
// empty field was not measured. Lines end as RFC 4180 has them.
func renderCSV(w io.Writer, r *Report, _ Options) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	var line []string
	for _, c := range named {
		line = append(line, c.name)
	}
	line = append(line, "verdict")
	for _, m := range metrics {
		line = append(line, m.name)
	}
	if err := out.Write(line); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	judged := judgedPhases(r)
	for i := range r.Rows {
		row, s := &r.Rows[i], r.scenarioOf(r.Rows[i].Scenario)
		line = line[:0]
		for _, c := range named {
			line = append(line, printable(c.of(row, s)))
		}
		line = append(line, string(row.told(judged)))
		for _, m := range metrics {
			line = append(line, m.figure(row).String())
		}
		if err := out.Write(line); err != nil {
			return fmt.Errorf("write csv: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}

// scenarioOf is the scenario of a name; an empty one if the report has none.
func (r *Report) scenarioOf(name string) *Scenario {
	if i := slices.IndexFunc(r.Scenarios, func(s Scenario) bool { return s.Name == name }); i >= 0 {
		return &r.Scenarios[i]
	}
	return &Scenario{}
}
