package cmd

import (
	"slices"

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
run was killed, and what compare, calibrate, tune, doctor and audit saved, in the
formats of each. With --merge it adds up results of the same traffic, such as those
of several machines: counts add, percentiles are those of all samples together.

It renders and does not judge: it ends with 0 whatever the verdict of a result is.`,
		Example: `  rlbench run boundary-burst -o json=result.json
  rlbench report result.json -o markdown
  rlbench report tuning.json -o html=tuning.html
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
	documents, err := a.readDocuments(names)
	if err != nil {
		return usage(err, "rlbench run boundary-burst -o json=result.json writes one")
	}
	if merge {
		if documents, err = merged(documents); err != nil {
			return err
		}
	}
	for _, d := range documents {
		out, err := d.sinks(a, o)
		if err != nil {
			return err
		}
		if len(documents) > 1 && out.files() > 0 {
			return usagef(mergeHint(documents), "report: %d results cannot be written to one file", len(documents))
		}
		if len(documents) > 1 && slices.ContainsFunc(out.all, func(s *sink) bool { return !s.format.People }) {
			return usagef(mergeHint(documents), "report: %d results are not one document of that format", len(documents))
		}
		if err := renderOne(a, out, d.Report); err != nil {
			return err
		}
	}
	return nil
}

// mergeHint is how several documents become one, or are written one by one.
func mergeHint(documents []document) string {
	hint := "rlbench report --merge"
	for _, d := range documents {
		if d.what != "" {
			return "rlbench report " + documents[0].name + ", and so the others, one by one"
		}
		hint += " " + d.name
	}
	return hint
}

// merged is the sum of results.
func merged(documents []document) ([]document, error) {
	var saved []report.Saved
	for _, d := range documents {
		if d.what != "" {
			return nil, usagef("rlbench report "+d.name, "report: merge %s: it is %s, and only results of rlbench run have a sum", d.name, d.what)
		}
		saved = append(saved, report.Saved{Name: d.name, Report: d.Report})
	}
	sum, err := report.Merge(saved)
	if err != nil {
		return nil, usage(err, sideHint(err, "merge results of the same scenario, limit and seed; rlbench report "+documents[0].name+" shows one"))
	}
	return []document{{Report: sum, sinks: (*app).sinks}}, nil
}

func renderOne(a *app, out sinks, r *report.Report) error {
	if err := out.open(); err != nil {
		return err
	}
	defer out.discard()
	err := out.write(r)
	if r == nil {
		return err
	}
	code := verdictCode(r.Verdict)
	if err != nil {
		code = codeOf(err)
	}
	return allOf(err, a.publishGitHub(&out, r, nil, code))
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
