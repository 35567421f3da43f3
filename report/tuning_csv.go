package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"
)

// tuningFields are the columns of a policy as CSV: first what it is, then counts, of which
// the least and the most are empty where stamps say when requests came.
var tuningFields = []struct {
	name string
	of   func(*Policy) string
}{
	{"algorithm", func(p *Policy) string { return printable(p.Algorithm) }},
	{"window_us", func(p *Policy) string { return number(p.WindowUS) }},
	{"limit", func(p *Policy) string { return number(p.Limit) }},
	{"key", func(p *Policy) string { return printable(p.Key) }},
	{"requests", func(p *Policy) string { return number(p.Requests) }},
	{"refused", func(p *Policy) string { return number(p.Refused) }},
	{"refused_least", placed(least, refusedOf)},
	{"refused_most", placed(most, refusedOf)},
	{"refused_ordinary", func(p *Policy) string { return number(p.RefusedOrdinary) }},
	{"touched_ordinary", func(p *Policy) string { return number(p.TouchedOrdinary) }},
	{"touched_ordinary_least", placed(least, touchedOf)},
	{"touched_ordinary_most", placed(most, touchedOf)},
	{"touched_heavy", func(p *Policy) string { return number(p.TouchedHeavy) }},
	{"peak_in_window", func(p *Policy) string { return number(p.PeakInWindow) }},
	{"peak_in_window_least", placed(least, peakInWindowOf)},
	{"peak_in_window_most", placed(most, peakInWindowOf)},
	{"peak_in_second", func(p *Policy) string { return number(p.PeakInSecond) }},
	{"peak_in_second_least", placed(least, peakInSecondOf)},
	{"peak_in_second_most", placed(most, peakInSecondOf)},
	{"peak_at", func(p *Policy) string {
		if p.PeakAt.IsZero() {
			return ""
		}
		return p.PeakAt.Format(time.RFC3339Nano)
	}},
	{"wrong_admissions", func(p *Policy) string { return number(p.Wrong.Admissions) }},
	{"wrong_denials", func(p *Policy) string { return number(p.Wrong.Denials) }},
	{"differ", func(p *Policy) string { return number(p.Differ) }},
	{"repeated", func(p *Policy) string { return number(p.Repeated) }},
	{"keys", func(p *Policy) string { return number(p.Keys) }},
	{"bytes", func(p *Policy) string { return number(p.Bytes) }},
	{"server_share", func(p *Policy) string { return strconv.FormatFloat(p.ServerShare, 'g', -1, 64) }},
}

func least(p *Policy) *Placement { return p.Least }
func most(p *Policy) *Placement  { return p.Most }

func refusedOf(p *Placement) int64      { return p.Refused }
func touchedOf(p *Placement) int64      { return p.TouchedOrdinary }
func peakInWindowOf(p *Placement) int64 { return p.PeakInWindow }
func peakInSecondOf(p *Placement) int64 { return p.PeakInSecond }

func placed(end func(*Policy) *Placement, of func(*Placement) int64) func(*Policy) string {
	return func(p *Policy) string {
		if end(p) == nil {
			return ""
		}
		return number(of(end(p)))
	}
}

// renderTuningCSV writes a line for each policy. What it was chosen as comes first, and
// last of how many clients it is, so that shares can be told from a line alone.
func renderTuningCSV(w io.Writer, t *Tuning, _ Options) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	line := []string{"choice"}
	for _, f := range tuningFields {
		line = append(line, f.name)
	}
	if err := out.Write(append(line, "clients_ordinary", "clients_heavy")); err != nil {
		return fmt.Errorf("write csv: %w", err)
	}
	words := t.words()
	for i := range t.Policies {
		p := &t.Policies[i]
		line = append(line[:0], words[p.id()])
		for _, f := range tuningFields {
			line = append(line, f.of(p))
		}
		if err := out.Write(append(line, number(t.ordinary()), number(t.Heavy.Clients))); err != nil {
			return fmt.Errorf("write csv: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}
