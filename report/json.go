package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/rlbench/rlbench/scenarios"
)

// JSONSchema is the JSON Schema of a report. It is generated from the types in
// this package by "go test ./report -update".
//
//go:embed schema.json
var JSONSchema []byte

func renderJSON(w io.Writer, r *Report, _ Options) error { return encode(w, "report", r) }

// encode writes a document as JSON. It is encoded as a whole before a byte is
// written, so that no reader ever sees half of one.
func encode(w io.Writer, name string, document any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	_, err := w.Write(withoutControls(numbersInLine(b.Bytes())))
	return err
}

// numbersInLine puts lists of numbers on one line, in JSON that is indented.
func numbersInLine(data []byte) []byte {
	out := make([]byte, 0, len(data))
	open := -1 // where a list of numbers began
	for line := range bytes.Lines(data) {
		text := bytes.TrimSpace(line)
		last := bytes.TrimRight(text, ",")
		switch {
		case bytes.HasSuffix(text, []byte("[")):
			open = len(out)
			out = append(out, line...)
		case open >= 0 && len(last) > 0 && bytes.Trim(last, "-0123456789.eE+") == nil:
			out = append(out, line...)
		case open >= 0 && len(last) == 1 && last[0] == ']':
			numbers := open + bytes.LastIndexByte(out[open:], '[') + 1
			folded := bytes.Join(bytes.Fields(out[numbers:]), []byte(" "))
			out = append(append(append(out[:numbers], folded...), text...), '\n')
			open = -1
		default:
			open = -1
			out = append(out, line...)
		}
	}
	return out
}

// withoutControls escapes the control characters that JSON may hold as they are, and
// that some terminals obey.
func withoutControls(data []byte) []byte {
	if !bytes.ContainsFunc(data, isLateControl) {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		if isLateControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

func isLateControl(r rune) bool { return r >= 0x7f && r < 0xa0 }

// Decode reads a report that was written as JSON, or as JSON lines.
func Decode(data []byte) (*Report, error) {
	r := &Report{}
	if isLines(data) {
		var err error
		if r, err = decodeLines(data); err != nil {
			return nil, err
		}
	} else if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("decode report: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("decode report: schema is %q, want %q", r.Schema, Schema)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if err := row.sound(); err != nil {
			return nil, fmt.Errorf("decode report: %w", err)
		}
		if row.Unknown > 0 && row.PeakAtMost == 0 { // older ones do not tell
			row.PeakAtMost = row.PeakInWindow + row.Unknown
		}
	}
	for _, s := range r.Scenarios {
		if err := s.limit().Validate(); err != nil {
			return nil, fmt.Errorf("decode report: scenario %s: %w", s.Name, err)
		}
	}
	if r.Interrupted {
		r.recount()
	}
	return r, r.knownVerdicts()
}

// recount takes runs that were never begun out of a result that was interrupted.
func (r *Report) recount() {
	runs := map[string]int{}
	for _, row := range r.Rows {
		runs[row.Scenario] = max(runs[row.Scenario], row.Run)
	}
	for i := range r.Scenarios {
		r.Scenarios[i].begun(runs[r.Scenarios[i].Name])
	}
	r.Rows = slices.DeleteFunc(r.Rows, func(row Row) bool { return row.Run == 0 && runs[row.Scenario] < 2 })
}

// knownVerdicts refuses a verdict that nobody gives: what has one would be neither
// passed nor failed, and so nowhere.
func (r *Report) knownVerdicts() error {
	refuse := func(what string, v scenarios.Verdict) error {
		if v == scenarios.Pass || v == scenarios.Inconclusive || v == scenarios.Fail {
			return nil
		}
		return fmt.Errorf("decode report: the verdict of %s is %q, want pass, inconclusive or fail", what, string(v))
	}
	err := refuse("the report", r.Verdict)
	for i := 0; err == nil && i < len(r.Scenarios); i++ {
		err = refuse("scenario "+r.Scenarios[i].Name, r.Scenarios[i].Verdict)
	}
	for i := 0; err == nil && i < len(r.Rows); i++ {
		err = refuse(r.Rows[i].Limiter+" under "+r.Rows[i].Scenario, r.Rows[i].Verdict)
	}
	for i := 0; err == nil && i < len(r.Findings); i++ {
		err = refuse("check "+r.Findings[i].Check, r.Findings[i].Verdict)
	}
	return err
}
