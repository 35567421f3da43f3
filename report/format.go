package report

import (
	"io"

	"github.com/rlbench/rlbench/scenarios"
)

// Format is one way to write a report.
type Format struct {
	Name, Doc string
	Render    func(w io.Writer, r *Report, o Options) error
}

// Options are what the place that a report is written to can show.
type Options struct {
	Width int // columns; 0 means 80
	Color bool
}

// Formats is the table of all formats. To add one, add its row.
var Formats = []Format{
	{"table", "a table for people, fitted to the terminal", renderTable},
	{"json", "the whole document, schema " + Schema, renderJSON},
}

// FormatNamed finds a format.
func FormatNamed(name string) (Format, error) {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		if f.Name == name {
			return f, nil
		}
		names[i] = f.Name
	}
	return Format{}, scenarios.UnknownName("format", name, names)
}
