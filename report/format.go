package report

import (
	"io"

	"github.com/rlbench/rlbench/scenarios"
)

// Format is one way to write a report.
type Format struct {
	Name, Doc string
	Render    func(w io.Writer, r *Report, o Options) error
	// People is that it is for people, who can read several one after another.
	People bool
	// Program is what shows it: nobody reads it on a terminal. "" if somebody does.
	Program string
	// Streams is that it can be written while the run goes on, by a Stream.
	Streams bool
}

// Options are what the place that a report is written to can show.
type Options struct {
	Width int // columns; 0 means 80
	Color bool
	// Verbose is everything, where a table for people has only what comes first.
	Verbose bool
}

// Formats is the table of all formats. To add one, add its row.
var Formats = []Format{
	{Name: "table", Doc: "a table for people, fitted to the terminal", Render: renderTable, People: true},
	{Name: "json", Doc: "the whole document, schema " + Schema, Render: renderJSON},
	{Name: "jsonl", Doc: "the same in lines, as they come: they survive a crash", Render: renderJSONL, Streams: true},
	{Name: "csv", Doc: "a line for each row of the document, with all its figures", Render: renderCSV},
	{Name: "markdown", Doc: "tables for a pull request or a wiki", Render: renderMarkdown, People: true},
	{Name: "html", Doc: "a page with pictures that needs no network", Render: renderHTML, Program: "a browser"},
	{Name: "svg", Doc: "pictures of what was admitted when, for a README", Render: renderSVG, Program: "a browser"},
	{Name: "junit", Doc: "JUnit XML: a test case for each check of each limiter", Render: renderJUnit},
	{Name: "github", Doc: "annotations of a GitHub workflow, its step summary and outputs", Render: renderGitHub, People: true},
	{Name: "benchmark-action", Doc: "JSON that github-action-benchmark charts over time", Render: renderBenchmarkAction},
	{Name: "prometheus", Doc: "OpenMetrics text of all figures", Render: renderPrometheus},
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

// Formatters are the formats of a document that is no Report.
type Formatters[T any] []struct {
	Name, Doc string
	Render    func(w io.Writer, document T, o Options) error
}

// Names are what they are called.
func (f Formatters[T]) Names() []string {
	names := make([]string, len(f))
	for i := range f {
		names[i] = f[i].Name
	}
	return names
}

// Named is how one of them writes.
func (f Formatters[T]) Named(name string) (render func(w io.Writer, document T, o Options) error, err error) {
	for i := range f {
		if f[i].Name == name {
			return f[i].Render, nil
		}
	}
	return nil, scenarios.UnknownName("format", name, f.Names())
}
