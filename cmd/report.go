package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/report"
)

func reportCommand(a *app) *cobra.Command {
	var o runOptions
	var schema, merge bool
	c := &cobra.Command{
		Use:   "report RESULT...",
		Short: "Render saved results again, in any format",
		Long: `Report renders results that were saved with -o json or -o jsonl, also one whose
run was killed. With --merge it adds up results of the same traffic, such as those
of several machines: counts add, percentiles are those of all samples together.

It renders and does not judge: it ends with 0 whatever the verdict of a result is.`,
		Example: `  rlbench run boundary-burst -o json=result.json
  rlbench report result.json -o markdown
  rlbench report --merge one.json two.json -o json=both.json
  rlbench report --schema > rlbench.schema.json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if schema {
				if len(o.outputs) > 0 {
					return usagef("rlbench report --schema > schema.json", "report: --output cannot apply to --schema")
				}
				return printSchema(a, args)
			}
			if len(args) == 0 {
				return usagef("rlbench report result.json", "report: no result is named")
			}
			return renderSaved(a, &o, args, merge)
		},
	}
	f := c.Flags()
	f.BoolVar(&schema, "schema", false, "print the JSON Schema of results")
	f.BoolVar(&merge, "merge", false, "make one result of several of the same traffic")
	f.StringArrayVarP(&o.outputs, "output", "o", nil, "FORMAT[=PATH], repeatable: "+formatList())
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no table unless asked for")
	f.StringVar(&o.color, "color", "auto", "auto (never with NO_COLOR or off a terminal), always or never")
	complete(c, "output", formatNames)
	complete(c, "color", func() []string { return colorModes })
	return c
}

func printSchema(a *app, args []string) error {
	if len(args) > 0 {
		return usagef("rlbench report --schema", "report: --schema takes no results")
	}
	_, err := a.Out.Write(report.JSONSchema)
	return err
}

// renderSaved writes every result in every format. Several results cannot share
// a file, so paths are for one.
func renderSaved(a *app, o *runOptions, names []string, merge bool) error {
	if err := oneOf("color", o.color, colorModes); err != nil {
		return err
	}
	var saved []report.Saved
	var errs []error
	for _, name := range names {
		r, err := a.readResult(name)
		saved, errs = append(saved, report.Saved{Name: name, Report: r}), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return usage(err, "rlbench run boundary-burst -o json=result.json writes one")
	}
	if merge {
		merged, err := report.Merge(saved)
		if err != nil {
			hint := "merge results of the same scenario, limit and seed; rlbench report " + names[0] + " shows one"
			if errors.Is(err, report.ErrCountedTwice) {
				hint = "leave one of them out"
			}
			return usage(err, hint)
		}
		saved = []report.Saved{{Report: merged}}
	}
	for _, r := range saved {
		out, err := a.sinks(o)
		if err != nil {
			return err
		}
		if len(saved) > 1 && out.files() > 0 {
			return usagef("rlbench report --merge "+strings.Join(names, " "), "report: %d results cannot be written to one file", len(saved))
		}
		if len(saved) > 1 && slices.ContainsFunc(out.all, func(s *sink) bool { return !s.format.People }) {
			return usagef("rlbench report --merge "+strings.Join(names, " "), "report: %d results are not one document of that format", len(saved))
		}
		if err := renderOne(a, out, r.Report); err != nil {
			return err
		}
	}
	return nil
}

func renderOne(a *app, out sinks, r *report.Report) error {
	if err := out.open(); err != nil {
		return err
	}
	defer out.discard()
	if err := out.write(r); err != nil {
		return err
	}
	return a.publishGitHub(&out, r, nil, verdictCode(r.Verdict))
}

func (a *app) readResult(name string) (*report.Report, error) {
	data, err := a.readAll(name)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	r, err := report.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func (a *app) readAll(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.In)
	}
	return os.ReadFile(name)
}

// files counts sinks that are not stdout.
func (s *sinks) files() int {
	n := 0
	for _, one := range s.all {
		if one.path != "" {
			n++
		}
	}
	return n
}
