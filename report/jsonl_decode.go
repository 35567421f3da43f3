package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rlbench/rlbench/scenarios"
)

// isLines reports whether data is a result in lines.
func isLines(data []byte) bool {
	var first struct {
		Type string `json:"type"`
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	return json.Unmarshal(line, &first) == nil && first.Type == lineStart
}

// decodeLines reads a result in lines. One that ends early is what it has so far, and
// says so.
func decodeLines(data []byte) (*Report, error) {
	r := &Report{Reasons: []scenarios.Reason{}, Scenarios: []Scenario{}, Rows: []Row{}, Findings: []Finding{}}
	var planned []Planned
	ended := false
	whole := data
	if !bytes.HasSuffix(data, []byte("\n")) { // the last was being written
		whole = data[:bytes.LastIndexByte(data, '\n')+1]
	}
	number := 0
	for line := range bytes.Lines(whole) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if ended {
			return nil, fmt.Errorf("decode report: line %d comes behind the end", number)
		}
		end, err := r.decodeLine(line, &planned)
		if err != nil {
			return nil, fmt.Errorf("decode report: line %d: %w", number, err)
		}
		ended = end
	}
	if ended {
		return r, nil
	}
	return r, r.unfinished(planned)
}

// decodeLine adds a line to the document, and reports whether it is the last. What was
// planned is not of the document.
func (r *Report) decodeLine(line []byte, planned *[]Planned) (bool, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return false, err
	}
	switch kind.Type {
	case lineStart:
		var l startLine
		err := json.Unmarshal(line, &l)
		r.Schema, r.Command, r.Started, r.Env = l.Schema, l.Command, l.Started, l.Env
		r.Merged, r.MergedFrom, r.Machines = l.Merged, l.MergedFrom, l.Machines
		*planned = l.Planned
		for _, p := range l.Planned {
			if p.Runs < 1 || p.Runs > MostRuns {
				return false, fmt.Errorf("%d runs of %s: want 1 to %d", p.Runs, p.Limiter, MostRuns)
			}
		}
		return false, err
	case lineScenario:
		var l Scenario
		err := json.Unmarshal(line, &l)
		if i := slices.IndexFunc(r.Scenarios, func(s Scenario) bool { return s.Name == l.Name }); i >= 0 {
			r.Scenarios[i] = l
		} else {
			r.Scenarios = append(r.Scenarios, l)
		}
		return false, err
	case lineRow:
		return false, appended(&r.Rows, line)
	case lineFinding:
		return false, appended(&r.Findings, line)
	case lineReason:
		return false, appended(&r.Reasons, line)
	case lineEnd:
		var l endLine
		err := json.Unmarshal(line, &l)
		r.Verdict, r.Interrupted, r.ElapsedUS = l.Verdict, l.Interrupted, l.ElapsedUS
		return true, r.ordered(err)
	}
	return false, fmt.Errorf("a line of type %q: want start, scenario, row, finding, reason or end", kind.Type)
}

func appended[T any](all *[]T, line []byte) error {
	var one T
	err := json.Unmarshal(line, &one)
	*all = append(*all, one)
	return err
}

// ordered puts sums in front of what they sum, where a document has them. They come
// last, because they are known last.
func (r *Report) ordered(err error) error {
	if err != nil {
		return err
	}
	return r.arrange()
}

// dropTorn leaves out the case that was being written, which has no row of the whole yet,
// and scenarios of which there is none.
func (r *Report) dropTorn() {
	type turn struct {
		Subject
		run int
	}
	whole, begun := map[turn]bool{}, map[string]bool{}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Phase == "" {
			whole[turn{row.subject(), row.Run}], begun[row.Scenario] = true, true
		}
	}
	r.Rows = slices.DeleteFunc(r.Rows, func(row Row) bool { return !whole[turn{row.subject(), row.Run}] })
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		return !whole[turn{Subject{f.Scenario, f.Limiter, f.Control}, f.Run}]
	})
	r.Scenarios = slices.DeleteFunc(r.Scenarios, func(s Scenario) bool { return !begun[s.Name] })
}

// unfinished makes of the beginning of a result what can be made of it.
func (r *Report) unfinished(planned []Planned) error {
	r.Interrupted = true
	r.Verdict = scenarios.Inconclusive
	r.dropTorn()
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if planned == nil && i == len(r.Scenarios)-1 { // else it is known which were not done
			s.Verdict = s.Verdict.Worse(scenarios.Inconclusive)
		}
		r.Verdict = r.Verdict.Worse(s.Verdict)
	}
	r.Reasons = append(r.Reasons, scenarios.Reason{
		Code: "unfinished", Message: "this result has no end: the program that wrote it was killed, or is writing still",
		Hint: "what is here was judged; run again for the rest",
	})
	if r.Merged == 0 {
		r.tellMissingRuns(planned)
	}
	return r.arrange()
}
