package report

import (
	"io"
	"strconv"
	"strings"

	"github.com/rlbench/rlbench/limiter/openmetrics"
	"github.com/rlbench/rlbench/scenarios"
)

// renderPrometheus writes OpenMetrics text: a gauge for each figure that was measured,
// in seconds where it is a duration, and the verdicts. The node exporter's textfile
// collector and a push gateway take it as it is.
func renderPrometheus(w io.Writer, r *Report, _ Options) error {
	var text openmetrics.Text
	text.Gauge("rlbench_started_seconds", "seconds", "When the run began, since the Unix epoch.").
		Value(float64(r.Started.UnixMilli())/1000, "version", r.Env.Rlbench, "redis", server(r.Env.Redis))
	text.Gauge("rlbench_elapsed_seconds", "seconds", "How long the run took.").Value(float64(r.ElapsedUS) / 1e6)
	verdicts := text.Gauge("rlbench_verdict", "", "1 for the verdict of a row, 0 for the others.")
	judged := judgedPhases(r)
	for i := range r.Rows {
		if r.Rows[i].told(judged) == "" {
			continue
		}
		for _, v := range []scenarios.Verdict{scenarios.Pass, scenarios.Inconclusive, scenarios.Fail} {
			verdicts.Count(int64(yes(r.Rows[i].Verdict == v).number), append(labels(&r.Rows[i]), "verdict", string(v))...)
		}
	}
	for _, m := range metrics {
		m.gauge(&text, r)
	}
	text.WriteString(openmetrics.EOF)
	_, err := w.Write(text.Bytes())
	return err
}

// gauge writes a figure of all rows that have it.
func (m metric) gauge(text *openmetrics.Text, r *Report) {
	name, unit, scale := "rlbench_"+strings.Replace(m.name, "_us", "", 1), "", 1.0
	if m.unit == "us" {
		name, unit, scale = name+"_seconds", "seconds", 1e6
	}
	if base, ok := strings.CutSuffix(name, "_count"); ok { // which ends names of histograms and summaries
		name = base + "_samples"
	}
	var family openmetrics.Family
	begun := false
	for i := range r.Rows {
		v := m.figure(&r.Rows[i])
		if !v.known {
			continue
		}
		if !begun {
			family, begun = text.Gauge(name, unit, capital(m.help)+"."), true
		}
		family.Value(v.number/scale, labels(&r.Rows[i])...)
	}
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// labels name a row.
func labels(row *Row) []string {
	return []string{
		"scenario", printable(row.Scenario), "limiter", printable(row.Limiter), "phase", printable(row.Phase), "run", strconv.Itoa(row.Run), "control", strconv.FormatBool(row.Control),
	}
}
