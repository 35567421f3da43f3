package cmd

import (
	"fmt"
	"strings"

	"github.com/rlbench/rlbench/cmd/tuning"
	"github.com/rlbench/rlbench/report"
)

// accuracyClients are played for each row of a table.
const accuracyClients = 20

// accuracy prints how algorithms decide the same made-up traffic.
func (a *app) accuracy(o *tuneOptions) error {
	heads := []string{"traffic", "load", "admitted: " + tuning.AccuracyAlgorithms[0]}
	heads = append(heads, tuning.AccuracyAlgorithms[1:]...)
	heads = append(heads, "counter differs", "peak: "+tuning.AccuracyAlgorithms[0])
	heads = append(heads, tuning.AccuracyAlgorithms[1:]...)
	var lines [][]string
	for i, p := range tuning.Populations {
		for _, load := range tuning.Loads {
			m, err := tuning.Measure(i, load, accuracyClients, o.seed, tuning.AccuracyAlgorithms)
			if err != nil {
				return internal(err)
			}
			line := []string{p.Name, fmt.Sprintf("%.1f", load)}
			for _, row := range m.Rows {
				line = append(line, fmt.Sprintf("%.4f", row.Admitted))
			}
			line = append(line, fmt.Sprintf("%.2f %%", 100*m.Rows[2].Differ))
			for _, row := range m.Rows {
				line = append(line, fmt.Sprintf("%.0f", row.PeakInWindow))
			}
			lines = append(lines, line)
		}
	}
	var b strings.Builder
	if err := report.WriteTable(&b, heads, lines); err != nil {
		return internal(err)
	}
	fmt.Fprintf(&b, "\nLimit 100/1m, %d clients of 200 windows each, seed %d. Load is what they ask for of the\nlimit, on average; admitted is a share of it; a counter differs where a log decides\notherwise. Totals hardly differ where decisions do.\n", accuracyClients, o.seed)
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}
