package cmd

import (
	"fmt"
	"math"
	"strings"

	"github.com/rlbench/rlbench/cmd/tuning"
	"github.com/rlbench/rlbench/report"
)

// accuracyClients are played for each row of a table.
const accuracyClients = 20

// accuracy prints how algorithms decide the same made-up traffic.
func (a *app) accuracy(o *tuneOptions) error {
	names := tuning.AccuracyAlgorithms
	var admitted, decided [][]string
	totals, decisions := 0.0, 0.0 // by how much a counter and a log differ at most
	for i, p := range tuning.Populations {
		for _, load := range tuning.Loads {
			m, err := tuning.Measure(i, load, accuracyClients, o.seed, names)
			if err != nil {
				return internal(err)
			}
			row := []string{p.Name, fmt.Sprintf("%.1f", load)}
			counter, log := m.Of("counter"), m.Of("log")
			totals, decisions = max(totals, math.Abs(counter.Admitted-log.Admitted)), max(decisions, counter.Differ)
			peaks := append(row[:2:2], fmt.Sprintf("%.2f %%", 100*counter.Differ))
			for _, r := range m.Rows {
				row = append(row, fmt.Sprintf("%.4f", r.Admitted))
				peaks = append(peaks, fmt.Sprintf("%.0f", r.PeakInWindow))
			}
			admitted, decided = append(admitted, row), append(decided, peaks)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Limit 100/1m, %d clients of 200 windows each, seed %d. Load is what they\nask for of the limit, on average.\n", accuracyClients, o.seed)
	for _, t := range []struct {
		caption string
		heads   []string
		lines   [][]string
	}{
		{"Admitted, as a share of what was asked for", []string{"traffic", "load"}, admitted},
		{"Decisions of a counter that a log makes otherwise; most in a window", []string{"traffic", "load", "differ"}, decided},
	} {
		fmt.Fprintf(&b, "\n%s\n", t.caption)
		if err := report.WriteTable(&b, append(t.heads, names...), t.lines); err != nil {
			return internal(err)
		}
	}
	fmt.Fprintf(&b, "\nUp to %.0f %% of the decisions of a counter are not those of a log, while totals\ndiffer by %.1f %% of what is asked for at the most.\n", 100*decisions, 100*totals)
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}
