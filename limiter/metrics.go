package limiter

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WriteOpenMetrics writes the counters as OpenMetrics text, without the "# EOF"
// that ends an exposition, so that others can add theirs. Every name begins with
// rlbench_limiter_. The error is the writer's.
func (c *Counters) WriteOpenMetrics(w io.Writer) error {
	s := c.Snapshot()
	var m exposition
	m.family("decisions", "counter", "", "Requests that were decided, by who decided them.")
	for _, p := range s.Policies {
		for _, source := range sources {
			m.sample("decisions_total", p.Admitted[source], "policy", p.Policy, "source", string(source), "allowed", "true")
			m.sample("decisions_total", p.Denied[source], "policy", p.Policy, "source", string(source), "allowed", "false")
		}
	}
	m.family("undecided", "counter", "", "Requests that ended with an error.")
	for _, p := range s.Policies {
		m.sample("undecided_total", p.Undecided, "policy", p.Policy)
	}
	m.family("forgotten", "counter", "", "Identities whose local budget began afresh, pushed out by others.")
	for _, p := range s.Policies {
		m.sample("forgotten_total", p.Forgotten, "policy", p.Policy)
	}
	m.family("errors", "counter", "", "Requests that Redis did not decide, by what went wrong.")
	for _, kind := range troubles {
		m.sample("errors_total", s.Errors[kind], "kind", string(kind))
	}
	m.family("answers", "counter", "", "Errors that Redis answered with, by their first word.")
	for _, answer := range slices.Sorted(maps.Keys(s.Answers)) {
		m.sample("answers_total", s.Answers[answer], "answer", answer)
	}
	m.family("circuits_open", "gauge", "", "Circuits that are open now.")
	m.sample("circuits_open", int64(s.OpenCircuits))
	m.family("circuit_openings", "counter", "", "How often circuits opened.")
	m.sample("circuit_openings_total", s.Opened)
	m.family("circuit_open_seconds", "counter", "seconds", "How long circuits were open.")
	m.line("circuit_open_seconds_total", strconv.FormatFloat(s.OpenFor.Seconds(), 'f', -1, 64))
	if _, err := w.Write(m.Bytes()); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// exposition is OpenMetrics text in the making.
type exposition struct{ bytes.Buffer }

const metricPrefix = "rlbench_limiter_"

func (m *exposition) family(name, kind, unit, help string) {
	name = metricPrefix + name
	fmt.Fprintf(m, "# TYPE %s %s\n", name, kind)
	if unit != "" {
		fmt.Fprintf(m, "# UNIT %s %s\n", name, unit)
	}
	fmt.Fprintf(m, "# HELP %s %s\n", name, help)
}

// sample writes one line; labels are names and values in turn.
func (m *exposition) sample(name string, value int64, labels ...string) {
	m.line(name, strconv.FormatInt(value, 10), labels...)
}

func (m *exposition) line(name, value string, labels ...string) {
	m.WriteString(metricPrefix + name)
	for i := 0; i+1 < len(labels); i += 2 {
		m.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		m.WriteString(labels[i] + `="` + labelEscape.Replace(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		m.WriteByte('}')
	}
	m.WriteString(" " + value + "\n")
}

var labelEscape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
