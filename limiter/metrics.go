package limiter

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rlbench/rlbench/limiter/openmetrics"
)

const metricPrefix = "rlbench_limiter_"

// WriteOpenMetrics writes the counters as OpenMetrics text, without the "# EOF"
// that ends an exposition, so that others can add theirs. Every name begins with
// rlbench_limiter_. The error is the writer's.
func (c *Counters) WriteOpenMetrics(w io.Writer) error {
	s := c.Snapshot()
	var m openmetrics.Text
	family := m.Counter(metricPrefix+"decisions", "", "Requests that were decided, by who decided them.")
	for _, p := range s.Policies {
		for _, source := range sources {
			family.Count(p.Admitted[source], "policy", p.Policy, "source", string(source), "allowed", "true")
			family.Count(p.Denied[source], "policy", p.Policy, "source", string(source), "allowed", "false")
		}
	}
	family = m.Counter(metricPrefix+"undecided", "", "Requests that ended with an error.")
	for _, p := range s.Policies {
		family.Count(p.Undecided, "policy", p.Policy)
	}
	family = m.Counter(metricPrefix+"forgotten", "", "Identities whose local budget began afresh, pushed out by others.")
	for _, p := range s.Policies {
		family.Count(p.Forgotten, "policy", p.Policy)
	}
	family = m.Counter(metricPrefix+"errors", "", "Requests that Redis did not decide, by what went wrong.")
	for _, kind := range troubles {
		family.Count(s.Errors[kind], "kind", string(kind))
	}
	family = m.Counter(metricPrefix+"answers", "", "Errors that Redis answered with, by their first word.")
	for _, answer := range slices.Sorted(maps.Keys(s.Answers)) {
		family.Count(s.Answers[answer], "answer", answer)
	}
	family = m.Gauge(metricPrefix+"circuits_open", "", "Circuits that are open now.")
	family.Count(int64(s.OpenCircuits))
	family = m.Counter(metricPrefix+"circuit_openings", "", "How often circuits opened.")
	family.Count(s.Opened)
	family = m.Counter(metricPrefix+"circuit_open_seconds", "seconds", "How long circuits were open.")
	family.Value(s.OpenFor.Seconds())
	if _, err := w.Write(m.Bytes()); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}
