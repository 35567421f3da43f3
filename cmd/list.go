package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// listing is one kind of thing that rlbench has.
type listing struct {
	name    string
	entries func() ([]entry, error)
	// brief stands for the entries among other kinds, where they are too many.
	brief func() string
	// note is what --verbose says about all entries together.
	note string
}

// entry is one thing, with a line and those that --verbose adds.
type entry struct {
	name, doc string
	more      []string
}

// listings is the table of all kinds, in the order in which list prints them.
var listings = []listing{
	{name: "scenarios", entries: scenarioEntries},
	{name: "algorithms", entries: always(func() []entry { return entriesOf(limiter.Algorithms, algorithmEntry) })},
	{name: "shapes", entries: always(func() []entry { return entriesOf(scenarios.Shapes, shapeEntry) }), note: shapeNote},
	{name: "distributions", entries: always(func() []entry { return entriesOf(scenarios.Distributions, distributionEntry) }), note: "In a scenario: keys: {count: 100, distribution: cycle} or keys: {count: 100, zipf: {s: 1.1}}."},
	{name: "retries", entries: always(retryEntries), note: retryNote},
	{name: "faults", entries: always(func() []entry { return entriesOf(scenarios.FaultKinds, faultEntry) }), note: faultNote},
	{name: "checks", entries: always(checkEntries), note: checkNote},
	{name: "formats", entries: always(func() []entry {
		return entriesOf(report.Formats, func(f report.Format) entry { return entry{name: f.Name, doc: f.Doc} })
	})},
	{name: "targets", entries: always(func() []entry { return entriesOf(target.Listed(), rowEntry) })},
	{name: "specimens", entries: always(specimenEntries), brief: func() string {
		return plural(len(target.Specimens()), "limiter") + " with one known bug each: rlbench list specimens"
	}},
}

func always(f func() []entry) func() ([]entry, error) {
	return func() ([]entry, error) { return f(), nil }
}

func entriesOf[T any](all []T, of func(T) entry) []entry {
	entries := make([]entry, len(all))
	for i, one := range all {
		entries[i] = of(one)
	}
	return entries
}

func rowEntry(row [2]string) entry { return entry{name: row[0], doc: row[1]} }

func listCommand(a *app) *cobra.Command {
	kinds := make([]string, len(listings))
	for i, l := range listings {
		kinds[i] = l.name
	}
	var verbose bool
	c := &cobra.Command{
		Use:   "list [" + strings.Join(kinds, "|") + "]",
		Short: "List what there is, with a line each",
		Example: `  rlbench list
  rlbench list -v shapes`,
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
		RunE: func(_ *cobra.Command, args []string) error { return list(a.Out, args, verbose) },
	}
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "tell more of each: pictures, fields, units, reports of a bug; formats and targets have a line only")
	return c
}

// list prints one kind as plain rows, or all kinds under headings.
func list(w io.Writer, kinds []string, verbose bool) error {
	for i, l := range listings {
		if len(kinds) == 1 && kinds[0] != l.name {
			continue
		}
		indent := ""
		if len(kinds) == 0 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s:\n", l.name)
			indent = "  "
			if l.brief != nil {
				fmt.Fprintf(w, "  %s\n", l.brief())
				continue
			}
		}
		entries, err := l.entries()
		if err != nil {
			return err
		}
		writeEntries(w, indent, entries, verbose)
		if verbose && l.note != "" {
			fmt.Fprintf(w, "\n%s%s\n", indent, strings.ReplaceAll(l.note, "\n", "\n"+indent))
		}
	}
	return nil
}

func writeEntries(w io.Writer, indent string, entries []entry, verbose bool) {
	width := 0
	for _, e := range entries {
		width = max(width, len(e.name))
	}
	for _, e := range entries {
		fmt.Fprintf(w, "%s%-*s  %s\n", indent, width, e.name, e.doc)
		if !verbose {
			continue
		}
		for _, line := range e.more {
			fmt.Fprintf(w, "%s    %s\n", indent, line)
		}
	}
}

// limiterNames are what --algorithm completes to.
func limiterNames() []string {
	names := append(limiter.Names(), "all", "lua:")
	for _, row := range target.Specimens() {
		names = append(names, row[0])
	}
	return names
}
