package cmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// fact is what theory says of limiters under a scenario.
type fact struct {
	// row is its place in the tables of theory; one that ends in -large sends
	// thousands of requests.
	row      string
	scenario string // a built-in, or a file in testdata/scenarios
	set      []string
	// want has a line for each limiter, "fixed: admitted=200 peak=100..200
	// first@phase=60s": exact values, ranges with both ends, instants as offsets
	// from the edge.
	want []string
	from string // how the values are derived
}

// factMetrics are the names that lines of want may use. All but failed read the
// row of the report that is about a phase, or about the whole scenario.
var factMetrics = map[string]func(report.Row) (int64, bool){
	"sent":     func(r report.Row) (int64, bool) { return r.Planned - r.Missed, true },
	"wanted":   func(r report.Row) (int64, bool) { return r.Wanted, true },
	"admitted": func(r report.Row) (int64, bool) { return r.Admitted, true },
	"denied":   func(r report.Row) (int64, bool) { return r.Denied, true },
	"crowd":    func(r report.Row) (int64, bool) { return r.Crowd, true },
	"peak":     func(r report.Row) (int64, bool) { return r.PeakInWindow, true },
	"short":    func(r report.Row) (int64, bool) { return r.PeakInShort.Admitted, true }, // in a thirtieth of the window
	"first":    func(r report.Row) (int64, bool) { return present(r.FirstAdmittedUS) },
	"last":     func(r report.Row) (int64, bool) { return present(r.LastAdmittedUS) },
	"permille": func(r report.Row) (int64, bool) { // of decided requests that were admitted, rounded down
		decided := r.Admitted + r.Denied
		return r.Admitted * 1000 / max(decided, 1), decided > 0
	},
	"errored": func(r report.Row) (int64, bool) { return r.Errored, true },
	"unknown": func(r report.Row) (int64, bool) { return r.Unknown, true },
	"open":    func(r report.Row) (int64, bool) { return policyOf(r).Open, true },
	"closed":  func(r report.Row) (int64, bool) { return policyOf(r).Closed, true },
	"local":   func(r report.Row) (int64, bool) { return policyOf(r).Local, true },
	"keys": func(r report.Row) (int64, bool) {
		if r.Redis == nil {
			return 0, false
		}
		return int64(r.Redis.Keys), true
	},
}

// policyOf are the decisions of the failure policy; none if there were none.
func policyOf(r report.Row) report.ByPolicy {
	if r.ByPolicy == nil {
		return report.ByPolicy{}
	}
	return *r.ByPolicy
}

func present(us *int64) (int64, bool) {
	if us == nil {
		return 0, false
	}
	return *us, true
}

// articles are scripts as people write them: a count or a log by the caller's
// clock, which never looks ahead.
const articles = "lua:../testdata/lua/"

// target is the name of a limiter for -a.
func (f fact) target(name string) string {
	if strings.HasPrefix(name, "article-") {
		return articles + name + ".lua"
	}
	return name
}

// run carries a fact out through the whole program.
func (f fact) run(t *testing.T, redis string, more ...string) *report.Report {
	t.Helper()
	source := f.scenario
	if _, err := scenarios.BuiltinNamed(f.scenario); err != nil {
		source = "../testdata/scenarios/" + f.scenario + ".yaml"
	}
	args := append([]string{"run", source, "--redis", redis, "--timeout", "1m"}, more...)
	for _, line := range f.want {
		name, _, _ := strings.Cut(line, ": ")
		args = append(args, "-a", f.target(name))
	}
	for _, assignment := range f.set {
		args = append(args, "--set", assignment)
	}
	return reportedPlain(t, args...)
}

// hold compares a report with what is wanted.
func (f fact) hold(t *testing.T, r *report.Report) {
	t.Helper()
	for _, line := range f.want {
		name, wants, _ := strings.Cut(line, ": ")
		f.undisturbed(t, r, f.target(name))
		for want := range strings.FieldsSeq(wants) {
			metric, value, _ := strings.Cut(want, "=")
			got, ok := measured(t, r, f.target(name), metric)
			low, high := bounds(t, value)
			if !ok || got < low || got > high {
				t.Errorf("%s: %s is %d (measured: %t), want %s: %s", name, metric, got, ok, value, f.from)
			}
		}
	}
}

// undisturbed fails if not everything was decided although nothing was broken, or if
// a bundled limiter is accused by a check that holds under every traffic.
func (f fact) undisturbed(t *testing.T, r *report.Report, target string) {
	t.Helper()
	row := rowOf(t, r, target, "")
	if row.Missed > 0 || row.Errored+row.Unknown > 0 && len(r.Scenarios[0].Faults) == 0 {
		t.Errorf("%s: %d errored, %d unknown, %d missed", target, row.Errored, row.Unknown, row.Missed)
	}
	if !slices.Contains(limiter.Names(), target) {
		return
	}
	for _, finding := range r.Findings {
		listed := slices.ContainsFunc(oracle.Listed(), func(c [2]string) bool { return c[0] == finding.Check })
		if listed && finding.Limiter == target && finding.Verdict == scenarios.Fail {
			t.Errorf("%s: [%s] %s %v", target, finding.Check, finding.Message, finding.Evidence)
		}
	}
}

// measured is a metric of a limiter: "admitted", "admitted@phase", or
// "failed@check", the number of failures of a check.
func measured(t *testing.T, r *report.Report, target, metric string) (int64, bool) {
	t.Helper()
	name, place, _ := strings.Cut(metric, "@")
	if name == "failed" {
		n := int64(0)
		for _, finding := range r.Findings {
			if finding.Limiter == target && finding.Check == place && finding.Verdict == scenarios.Fail {
				n++
			}
		}
		return n, true
	}
	measure, ok := factMetrics[name]
	if !ok {
		t.Fatalf("unknown metric %q", name)
	}
	return measure(rowOf(t, r, target, place))
}

func rowOf(t *testing.T, r *report.Report, target, phase string) report.Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Limiter == target && row.Phase == phase && !row.Control {
			return row
		}
	}
	t.Fatalf("the report has no row about %s in phase %q", target, phase)
	return report.Row{}
}

// bounds reads "200", "100..200" or "60.5s", the last in microseconds.
func bounds(t *testing.T, text string) (low, high int64) {
	t.Helper()
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	return number(t, from), number(t, to)
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%q is no number and no duration", text)
	}
	return d.Microseconds()
}

// What theory says of every limiter is what the program measures on a real Redis.
// It is started once and then reached by its address; for each that is broken there
// is one of its own.
func TestFacts(t *testing.T) {
	t.Parallel() // by the virtual clock, so that nothing waits for it
	live := specOf(t, "live")
	for i, f := range facts {
		t.Run(fmt.Sprintf("%s-%s-%d", f.row, f.scenario, i), func(t *testing.T) {
			t.Parallel()
			redis := live
			if f.breaks(t) {
				redis = "managed"
			}
			f.hold(t, f.run(t, redis))
		})
	}
}

// breaks reports whether the scenario of a fact breaks Redis.
func (f fact) breaks(t *testing.T) bool {
	t.Helper()
	b, err := scenarios.BuiltinNamed(f.scenario)
	if err != nil {
		return false // a file in testdata
	}
	s, err := b.Read(scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	return len(s.Faults) > 0
}

// With the server's clock nobody's skew matters. By its own clock the server that
// is ahead is in the next window, and a fixed window would admit it.
func TestFactsServerClock(t *testing.T) {
	f := fact{
		row: "11b", scenario: "clock-ahead",
		set: []string{
			"limit=10/1s", "late=window/20",
			"phases.on-time.at=edge - window/2",
			"phases.ahead.at=edge - window/4", "phases.ahead.skew=window/2",
			"phases.ahead-again.at=edge + window/4", "phases.ahead-again.skew=window/2",
		},
		want: []string{
			"fixed: admitted@on-time=10 admitted@ahead=0 admitted@ahead-again=10",
			"log: admitted@on-time=10 admitted@ahead=0 admitted@ahead-again=0",
			// 10 - floor(10 × 0.75) = 3, a twentieth of a window later too.
			"counter: admitted@on-time=10 admitted@ahead=0 admitted@ahead-again=3",
			// A quarter of a window gives back 2.5, three quarters 7.5.
			"gcra: admitted@on-time=10 admitted@ahead=2 admitted@ahead-again=5",
		},
		from: "as with clocks that agree",
	}
	const tries = 20
	redis := specOf(t, "live")
	for range tries {
		if r := f.run(t, redis, "--clock", "server"); r.Verdict != scenarios.Inconclusive {
			f.hold(t, r)
			return
		}
	}
	t.Fatalf("requests were late in each of %d tries: this machine is too busy to keep time to a twentieth of a second", tries)
}
