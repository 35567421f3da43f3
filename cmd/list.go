package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
	"github.com/rlbench/rlbench/scenarios/target"
)

// listing is one kind of thing that rlbench has.
type listing struct {
	name string
	rows func() ([][2]string, error)
}

// listings is the table of all kinds, in the order in which list prints them.
var listings = []listing{
	{"scenarios", scenarioRows},
	{"algorithms", func() ([][2]string, error) {
		return rowsOf(limiter.Algorithms, func(a limiter.Algorithm) [2]string { return [2]string{a.Name, a.Doc} }), nil
	}},
	{"shapes", func() ([][2]string, error) {
		return rowsOf(scenarios.Shapes, func(s scenarios.Shape) [2]string { return [2]string{s.Name, s.Doc} }), nil
	}},
	{"checks", func() ([][2]string, error) {
		metrics := rowsOf(scenarios.Metrics, func(m scenarios.Metric) [2]string { return [2]string{m.Name, "metric: " + m.Doc} })
		return append(oracle.Listed(), metrics...), nil
	}},
	{"formats", func() ([][2]string, error) {
		return rowsOf(report.Formats, func(f report.Format) [2]string { return [2]string{f.Name, f.Doc} }), nil
	}},
	{"targets", func() ([][2]string, error) { return target.Listed(), nil }},
}

func rowsOf[T any](all []T, row func(T) [2]string) [][2]string {
	rows := make([][2]string, len(all))
	for i, one := range all {
		rows[i] = row(one)
	}
	return rows
}

func scenarioRows() ([][2]string, error) {
	var rows [][2]string
	for _, b := range scenarios.Builtins() {
		s, err := b.Read(scenarios.BuiltinDefaults())
		if err != nil {
			return nil, internal(err)
		}
		rows = append(rows, [2]string{b.Name, s.Description})
	}
	return rows, nil
}

func listCommand(a *app) *cobra.Command {
	kinds := make([]string, len(listings))
	for i, l := range listings {
		kinds[i] = l.name
	}
	return &cobra.Command{
		Use:       "list [" + strings.Join(kinds, "|") + "]",
		Short:     "List what there is, with a line each",
		ValidArgs: kinds,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("rlbench list", "list: want at most one kind, there are %d", len(args))
			}
			if len(args) == 1 {
				if err := known("kind", args[0], kinds); err != nil {
					return usage(fmt.Errorf("list: %w", err), "rlbench list")
				}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return list(a.Out, args) },
	}
}

// list prints one kind as plain rows, or all kinds under headings.
func list(w io.Writer, kinds []string) error {
	for i, l := range listings {
		if len(kinds) == 1 && kinds[0] != l.name {
			continue
		}
		rows, err := l.rows()
		if err != nil {
			return err
		}
		indent := ""
		if len(kinds) == 0 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s:\n", l.name)
			indent = "  "
		}
		width := 0
		for _, row := range rows {
			width = max(width, len(row[0]))
		}
		for _, row := range rows {
			fmt.Fprintf(w, "%s%-*s  %s\n", indent, width, row[0], row[1])
		}
	}
	return nil
}
