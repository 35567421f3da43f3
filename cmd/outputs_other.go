package cmd

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/rlbench/rlbench/report"
)

// sinksFor are where a document goes that is no report. The formats of such documents
// have the names of those of reports, so that the same files are opened in the same way;
// only what is written to them is the document, which is made of the report, if there
// is one.
func sinksFor[T any](a *app, o *runOptions, formats report.Formatters[T], document func(*report.Report) (T, error)) (sinks, error) {
	for _, text := range o.outputs {
		name, _, _ := strings.Cut(text, "=")
		if _, err := formats.Named(name); err != nil {
			return sinks{}, usage(fmt.Errorf("%s %s: %w", cmp.Or(o.outputsFlag, "--output"), text, err), cmp.Or(o.outputsFlag, "-o")+" json=result.json")
		}
	}
	s, err := a.sinks(o)
	if err != nil {
		return s, err
	}
	for _, one := range s.all {
		render, err := formats.Named(one.format.Name)
		if err != nil {
			return s, internal(err)
		}
		one.format.Render = func(w io.Writer, r *report.Report, o report.Options) error {
			d, err := document(r)
			if err != nil {
				return err
			}
			return render(w, d, o)
		}
	}
	return s, nil
}

// already is a document that is there already.
func already[T any](document T) func(*report.Report) (T, error) {
	return func(*report.Report) (T, error) { return document, nil }
}
