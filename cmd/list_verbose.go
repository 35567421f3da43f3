package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/faulty"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

func scenarioEntries() ([]entry, error) {
	var entries []entry
	for _, b := range scenarios.Builtins() {
		s, err := b.Read(scenarios.BuiltinDefaults())
		if err != nil {
			return nil, internal(err)
		}
		var phases []string
		for _, p := range s.Phases {
			phases = append(phases, p.Name+" ("+p.Shape+")")
		}
		senders := plural(s.Keys.Count, "key")
		if s.Replays() {
			senders = "clients of a log"
		}
		entries = append(entries, entry{b.Name, s.Description, []string{
			fmt.Sprintf("limit %s, %s clock, %s, %s", s.Limit, s.Clock, senders, plural(len(s.Checks), "check")),
			"phases: " + strings.Join(phases, ", "),
		}})
		if len(s.Faults) > 0 {
			last := &entries[len(entries)-1]
			last.more = append(last.more, "faults: "+faultList(s))
		}
	}
	return entries, nil
}

func algorithmEntry(a limiter.Algorithm) entry {
	l := scenarios.BuiltinDefaults().Limit
	return entry{a.Name, a.Doc, []string{
		fmt.Sprintf("promises at most %d in any trailing window at %s", a.Worst(l), l),
	}}
}

func shapeEntry(s scenarios.Shape) entry {
	needs, may := s.Fields()
	var fields []string
	if len(needs) > 0 {
		fields = append(fields, "needs "+strings.Join(needs, ", "))
	}
	if len(may) > 0 {
		fields = append(fields, "may have "+strings.Join(may, ", "))
	}
	return entry{s.Name, s.Doc, append([]string{strings.Join(fields, "; ")}, strings.Split(s.Picture, "\n")[1:]...)}
}

var shapeNote = `A phase of any shape may have at, cost, limit, skew, jitter, pseudonym, repeat and
retry too: docs/scenario-file.md. Jitter spreads it:
` + scenarios.JitterPicture[1:] + `
rlbench list -v distributions shows how requests are spread over keys, and
rlbench list -v retries how clients come back.`

// distributionEntry tells and shows what scenarios.Distributions only names.
func distributionEntry(name string) entry {
	d := distributions[name]
	return entry{name, d.doc, strings.Split(d.picture, "\n")[1:]}
}

var distributions = map[string]struct{ doc, picture string }{
	"uniform": {"each request is of a random key", `
  █   █ █    █
█─█─█─█─█─█──█─█──  requests of key 1, 2, 3, …`},
	"cycle": {"keys take turns", `
1 2 3 4 1 2 3 4 1 2  key of each request`},
	"zipf": {"the k-th key sends in proportion to 1/k^s: a few send most", `
█
█ █
█─█─█─█─▄─▄─▂─▂─▁─▁  requests of key 1, 2, 3, …`},
}

func retryEntries() []entry {
	var entries []entry
	for _, m := range scenarios.RetryModes {
		entries = append(entries, entry{m.Name, m.Doc, strings.Split(m.Picture, "\n")[1:]})
	}
	return entries
}

const retryNote = `In a phase: retry: {mode: obey, round: 1s, jitter: window/4, within: 3*window};
constant and ignore need a wait and take no round.`

const checkNote = `A metric is for --check "log: admitted@after-edge <= 2" and the checks of a
scenario. Those of real time have no sample under the virtual clock, those of the
whole scenario none in a phase; a check without a sample is inconclusive.`

// checkEntries are the built-in checks and the metrics that others are made of.
func checkEntries() []entry {
	var entries []entry
	for _, row := range oracle.Listed() {
		e := entry{name: row[0], doc: row[1], more: []string{"looks at " + looksAt[row[0]]}}
		if bugs := bugsOf(row[0]); bugs != "" {
			e.more = append(e.more, "finds "+bugs)
		}
		entries = append(entries, e)
	}
	for _, m := range scenarios.Metrics {
		entries = append(entries, entry{m.Name, "metric: " + m.Doc, []string{sampleOf(m)}})
	}
	return entries
}

// looksAt is the evidence of each built-in check.
var looksAt = map[string]string{
	"faults":         "what became of each fault; only of a scenario that makes some",
	"policy":         "decisions that Redis did not make; only where a failure policy is chosen",
	"evidence":       "what was sent and when",
	"capacity":       "when requests were done; real time, and only of a scenario with overload",
	"promise":        "instants of admissions; needs a model, and one clock that decides",
	"conformance":    "every decision; needs a model",
	"fresh":          "the first decisions of every identity",
	"remaining":      "what decisions tell; needs a limiter that tells what remains",
	"retry":          "answers after the run; virtual clock, and a limiter that tells a wait",
	"denies":         "answers after the run; virtual clock",
	"recovers":       "answers after the run; virtual clock",
	"denied-is-free": "keys before and after a denial; virtual clock",
	"costs":          "answers after the run; virtual clock",
	"peek":           "answers after the run; virtual clock, and a limiter that can be peeked at",
	"ttl":            "keys after the run; too early an end needs a model",
	"heal":           "keys after the run; virtual clock",
	"members":        "keys after the run, of what claims to be a log",
	"keys":           "names of keys after the run",
	"identity":       "names and values of keys after the run",
	"max-overshoot":  "the peak of the worst key; only if --max-overshoot is given",
	"checks":         "metrics, of a phase or of the whole scenario",
}

// bugsOf tells how many specimens a check has to catch; "" if none.
func bugsOf(check string) string {
	n, first := 0, ""
	for _, s := range faulty.Specimens {
		if s.Check == check {
			if n == 0 {
				first = s.Name
			}
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "faulty:" + first
	}
	return fmt.Sprintf("%d of the specimens, such as faulty:%s", n, first)
}

// sampleOf tells what a metric is, by asking for it where something is missing:
// latencies of real time, and what was found in Redis before and after a drain.
func sampleOf(m scenarios.Metric) string {
	from := func(all scenarios.Measures) bool {
		_, ok := all.Measure(m.Name)
		return ok
	}
	sampled := func(response []time.Duration, e *scenarios.Examination) bool {
		return from(scenarios.Measures{Planned: 1, Admitted: 1, Limit: 1, Service: manyTimes, Response: response, Examined: e})
	}
	kind, of, clock := "number", "phase or whole scenario", "any clock"
	if m.Duration {
		kind = "duration, such as 5ms"
	}
	undrained := &scenarios.Examination{Keys: make([]scenarios.KeyState, 1)}
	switch {
	case sampled(nil, nil):
	case sampled(manyTimes, nil):
		clock = "real time"
	case sampled(nil, undrained), from(scenarios.Measures{Overcounted: scenarios.Overcount{Used: 1, Sent: 1}}):
		of = "whole scenario"
	case from(scenarios.Measures{Recovery: new(time.Duration)}):
		of, clock = "whole scenario", "any clock, after a fault"
	case from(scenarios.Measures{Capacity: new(scenarios.Capacity)}):
		of, clock = "whole scenario", "real time, with overload"
	default:
		of, clock = "whole scenario", "real time, after a drain"
	}
	return strings.Join([]string{kind, of, clock}, "; ")
}

// manyTimes are enough durations for any percentile.
var manyTimes = make([]time.Duration, 1000)

// specimenEntries are the limiters with a known bug, as targets.
func specimenEntries() []entry {
	return entriesOf(faulty.Specimens, func(s faulty.Specimen) entry {
		run := fmt.Sprintf("rlbench run %s -a faulty:%s", s.Scenario, s.Name)
		if s.Limit != (limiter.Limit{}) {
			run += " --limit " + s.Limit.String()
		}
		e := entry{"faulty:" + s.Name, s.Doc, []string{"caught by " + s.Check + ": " + run}}
		if s.Seen != "" {
			e.more = append(e.more, "seen at "+s.Seen)
		}
		return e
	})
}
