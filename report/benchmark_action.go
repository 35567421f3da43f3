package report

import (
	"cmp"
	"fmt"
	"io"
)

// benchmark is an entry of github-action-benchmark's customSmallerIsBetter.
type benchmark struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Range string  `json:"range,omitempty"`
	Extra string  `json:"extra,omitempty"`
}

// tracked are the figures of a limiter that are worth a chart over time: less is
// better of all of them.
var tracked = []struct {
	name, unit string
	of         func(*Row) value
}{
	{"peak in a window", "admitted", func(r *Row) value { return count(r.PeakInWindow) }},
	{"wrong admissions", "requests", func(r *Row) value { return count(r.Wrong.Admissions) }},
	{"wrong denials", "requests", func(r *Row) value { return count(r.Wrong.Denials) }},
	{"errors", "requests", func(r *Row) value { return count(r.Errored + r.Unknown) }},
	{"service p50", "µs", within(func(r *Row) *Latency { return r.ServiceUS.All }, func(l *Latency) value { return maybe(l.P50) })},
	{"service p99", "µs", within(func(r *Row) *Latency { return r.ServiceUS.All }, func(l *Latency) value { return maybe(l.P99) })},
	{"memory of an identity", "bytes", within(redisOf, func(c *Cost) value { return maybe(c.BytesPerIdentity) })},
	{"script time of a decision", "µs", within(redisOf, func(c *Cost) value { return maybe(c.ScriptUSPerDecision) })},
}

// renderBenchmarkAction writes what github-action-benchmark reads as
// customSmallerIsBetter: a chart for each figure of each limiter and scenario. Latencies
// of an emulator are left out.
func renderBenchmarkAction(w io.Writer, r *Report, _ Options) error {
	all := []benchmark{}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, row := range shownRows(r, s) {
			if row.Control || row.idle() {
				continue
			}
			for _, f := range tracked {
				v := f.of(&row)
				if !v.known || f.unit == "µs" && r.Env.Redis.Flavour == "embedded" {
					continue
				}
				all = append(all, benchmark{
					Name: printable(row.Scenario + " / " + row.Limiter + " / " + f.name), Unit: f.unit, Value: v.number,
					Range: spread(r, &row, f.of),
					Extra: fmt.Sprintf("limit %s, %s clock, seed %d, %s, verdict %s", s.limit(), s.Clock, s.Seed, counted(int64(r.made(row.subject())), "run"), row.Verdict),
				})
			}
		}
	}
	return encode(w, "benchmark-action", all)
}

// spread is the least and the most of several runs.
func spread(r *Report, sum *Row, of func(*Row) value) string {
	var least, most *float64
	for i := range r.Rows {
		row := &r.Rows[i]
		if sum.Run != 0 || row.Run == 0 || row.idle() || row.Phase != sum.Phase || row.subject() != sum.subject() {
			continue
		}
		if v := of(row); v.known {
			least, most = either(least, &v.number, lower), either(most, &v.number, higher)
		}
	}
	if least == nil || cmp.Compare(*least, *most) == 0 {
		return ""
	}
	return fmt.Sprintf("%s to %s", value{*least, true}, value{*most, true})
}
