package cmd

import (
	"testing"

	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// What list tells in words of its own covers every row of the tables, and nothing
// that is gone.
func TestListCoversTables(t *testing.T) {
	for _, row := range oracle.Listed() {
		if looksAt[row[0]] == "" {
			t.Errorf("list does not tell what check %s looks at", row[0])
		}
	}
	if len(looksAt) != len(oracle.Listed()) {
		t.Errorf("list tells of %d checks, there are %d", len(looksAt), len(oracle.Listed()))
	}
	for _, name := range scenarios.Distributions {
		if distributions[name].doc == "" {
			t.Errorf("list does not tell what distribution %s is", name)
		}
	}
	if len(distributions) != len(scenarios.Distributions) {
		t.Errorf("list tells of %d distributions, there are %d", len(distributions), len(scenarios.Distributions))
	}
}

// What a metric can be asked of follows from what it is measured on: decisions
// everywhere, latencies from planned instants in real time only, keys once a run.
func TestSampleOf(t *testing.T) {
	want := map[string]string{
		"admitted":      "number; phase or whole scenario; any clock",
		"last_admitted": "duration, such as 5ms; phase or whole scenario; any clock",
		"service_p99":   "duration, such as 5ms; phase or whole scenario; any clock",
		"response_p99":  "duration, such as 5ms; phase or whole scenario; real time",
		"members":       "number; whole scenario; any clock",
		"bytes_left":    "number; whole scenario; real time, after a drain",
		"recovery":      "duration, such as 5ms; whole scenario; any clock, after a fault",
		"overcounted":   "number; whole scenario; any clock",
		"capacity":      "number; whole scenario; real time, with overload",
	}
	for _, m := range scenarios.Metrics {
		if w, ok := want[m.Name]; ok && sampleOf(m) != w {
			t.Errorf("%s: %s, want %s", m.Name, sampleOf(m), w)
		}
		delete(want, m.Name)
	}
	if len(want) > 0 {
		t.Errorf("no metrics are called %v", want)
	}
}
