package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// The types of the lines of a result that is written as it comes: the same document, a
// part a line. A scenario that comes again replaces what was said of it before.
const (
	lineStart    = "start"
	lineScenario = "scenario"
	lineRow      = "row"
	lineFinding  = "finding"
	lineReason   = "reason"
	lineEnd      = "end"
)

// startLine is the head of a document, and endLine its end.
type (
	startLine struct {
		Schema     string    `json:"schema"`
		Command    []string  `json:"command"`
		Started    time.Time `json:"started"`
		Env        Env       `json:"env"`
		Merged     int       `json:"merged,omitempty"`
		MergedFrom []string  `json:"merged_from,omitempty"`
		Machines   []Env     `json:"machines,omitempty"`
		Planned    []Planned `json:"planned,omitempty"` // absent from what was whole when it was written
	}
	endLine struct {
		Verdict     scenarios.Verdict `json:"verdict"`
		Interrupted bool              `json:"interrupted"`
		ElapsedUS   int64             `json:"elapsed_us"`
	}
)

// Stream writes a result line by line, while it is made: what is written is there
// whatever happens to the program. It is not safe for concurrent use.
type Stream struct {
	w    io.Writer
	told Report // what the lines so far say
}

// NewStream begins a result: the cases and their end are not needed yet.
func NewStream(w io.Writer, in Input) (*Stream, error) {
	return begin(w, &Report{Schema: Schema, Command: in.Command, Started: in.Started.UTC(), Env: in.Env}, in.Planned)
}

func begin(w io.Writer, r *Report, planned []Planned) (*Stream, error) {
	var b lines
	b.add(lineStart, startLine{r.Schema, r.Command, r.Started, r.Env, r.Merged, r.MergedFrom, r.Machines, planned})
	s := &Stream{w: w}
	return s, s.write(&b)
}

// Add writes a case that has been judged.
func (s *Stream) Add(c *Case) error {
	rows, err := rowsOf(c)
	if err != nil {
		return err
	}
	s.told.addScenario(c)
	findings, reasons := len(s.told.Findings), len(s.told.Reasons)
	s.told.addFindings(c)
	s.told.Rows = append(s.told.Rows, rows...)
	var b lines
	for _, f := range s.told.Findings[findings:] {
		b.add(lineFinding, f)
	}
	for _, reason := range s.told.Reasons[reasons:] {
		b.add(lineReason, reason)
	}
	for _, row := range rows[1:] {
		b.add(lineRow, row)
	}
	for _, scenario := range s.told.Scenarios {
		if scenario.Name == c.Plan.Scenario {
			b.add(lineScenario, scenario)
		}
	}
	b.add(lineRow, rows[0]) // the whole comes last: a case without it is torn
	return s.write(&b)
}

// End writes what a report says beyond what has been written, and the last line.
func (s *Stream) End(r *Report) error {
	var b lines
	for _, scenario := range r.Scenarios {
		if i := slices.IndexFunc(s.told.Scenarios, func(o Scenario) bool { return o.Name == scenario.Name }); i < 0 || !sameJSON(s.told.Scenarios[i], scenario) {
			b.add(lineScenario, scenario)
		}
	}
	told := map[rowKey]bool{}
	for _, row := range s.told.Rows {
		told[row.key()] = true
	}
	for _, row := range r.Rows {
		if !told[row.key()] {
			b.add(lineRow, row)
		}
	}
	for _, f := range r.Findings[min(len(s.told.Findings), len(r.Findings)):] {
		b.add(lineFinding, f)
	}
	for _, reason := range r.Reasons {
		if !slices.Contains(s.told.Reasons, reason) {
			b.add(lineReason, reason)
		}
	}
	b.add(lineEnd, endLine{r.Verdict, r.Interrupted, r.ElapsedUS})
	return s.write(&b)
}

// write writes lines at once, so that what is there of a case is all of it or, at a
// crash, a beginning.
func (s *Stream) write(b *lines) error {
	if b.err != nil {
		return b.err
	}
	_, err := s.w.Write(b.Bytes())
	return err
}

func renderJSONL(w io.Writer, r *Report, _ Options) error {
	s, err := begin(w, r, nil)
	if err != nil {
		return err
	}
	return s.End(r)
}

// rowKey names a row.
type rowKey struct {
	Subject
	phase string
	run   int
}

func (row *Row) key() rowKey {
	return rowKey{row.subject(), row.Phase, row.Run}
}

// lines are lines to write.
type lines struct {
	bytes.Buffer
	err error
}

func (l *lines) add(kind string, value any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		l.err = errors.Join(l.err, fmt.Errorf("encode a %s: %w", kind, err))
		return
	}
	l.WriteString(`{"type":"` + kind + `",`)
	l.Write(withoutControls(b.Bytes()[1:]))
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
