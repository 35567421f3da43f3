package scenarios_test

import (
	"testing"

	"github.com/rlbench/rlbench/scenarios"
)

func TestParseCheck(t *testing.T) {
	for _, row := range []struct {
		text string
		want scenarios.Check
		back string
		why  string
	}{
		{"admitted == 100", scenarios.Check{Metric: "admitted", Op: "=="}, "admitted == 100", "the shortest form"},
		{"admitted==100", scenarios.Check{Metric: "admitted", Op: "=="}, "admitted == 100", "blanks are not needed"},
		{"  denied  <  1  ", scenarios.Check{Metric: "denied", Op: "<"}, "denied < 1", "nor do they count"},
		{"log: peak_in_window <= limit", scenarios.Check{Algorithm: "log", Metric: "peak_in_window", Op: "<="}, "log: peak_in_window <= limit", "for one limiter"},
		{"lua:./x.lua: errored > 0", scenarios.Check{Algorithm: "lua:./x.lua", Metric: "errored", Op: ">"}, "lua:./x.lua: errored > 0", "a limiter whose name has a colon"},
		{"admitted@after-edge <= 2", scenarios.Check{Phase: "after-edge", Metric: "admitted", Op: "<="}, "admitted@after-edge <= 2", "for one phase, whose name has a dash"},
		{"fixed: denied@a != 3*limit/4", scenarios.Check{Algorithm: "fixed", Phase: "a", Metric: "denied", Op: "!="}, "fixed: denied@a != 3*limit/4", "everything at once"},
		{"error_rate >= 0.1", scenarios.Check{Metric: "error_rate", Op: ">="}, "error_rate >= 0.1", "a metric that is a ratio"},
		{"admitted <= -1", scenarios.Check{Metric: "admitted", Op: "<="}, "admitted <= -1", "the sign belongs to the value"},
		{"first_admitted@late == edge + window", scenarios.Check{Phase: "late", Metric: "first_admitted", Op: "=="}, "first_admitted@late == edge + window", "a metric that is a duration"},
		{"sent@storm.retry <= 0", scenarios.Check{Phase: "storm.retry", Metric: "sent", Op: "<="}, "sent@storm.retry <= 0", "the retries of a phase"},
		{"admitted <= 100/(limit-100)", scenarios.Check{Metric: "admitted", Op: "<="}, "admitted <= 100/(limit-100)", "only the limit of the run shows whether it can be computed"},
	} {
		got, err := scenarios.ParseCheck(row.text)
		if err != nil {
			t.Errorf("%s: %v (%s)", row.text, err, row.why)
			continue
		}
		if got.String() != row.back {
			t.Errorf("%s: prints as %s, want %s (%s)", row.text, got, row.back, row.why)
		}
		if got.Algorithm != row.want.Algorithm || got.Phase != row.want.Phase || got.Metric != row.want.Metric || got.Op != row.want.Op || got.Warn {
			t.Errorf("%s: got %+v, want %+v (%s)", row.text, got, row.want, row.why)
		}
	}
}

func TestChecksThatCannotBeRead(t *testing.T) {
	const form = `: want [algorithm: ]metric[@phase] op value, such as "log: peak_in_window <= limit"`
	const metrics = "planned, wanted, sent, admitted, denied, errored, unknown, missed, error_rate, failed_open, failed_closed, decided_locally, denied_at_edge, recovery, capacity, lost_tail, overcounted, admitted_share, first_admitted, last_admitted, " +
		"peak_in_window, peak_in_short, peak_over_limit, crowd, wrong_admissions, wrong_denials, wrong_share, keys, members, keys_left, bytes_left, " +
		"service_p50, service_p95, service_p99, service_max, response_p50, response_p95, response_p99, response_max"
	for _, row := range []struct{ text, want, why string }{
		{"", `check ""` + form, "nothing"},
		{"admitted", `check "admitted"` + form, "a metric is no check"},
		{"admitted <=", `check "admitted <="` + form, "the value is missing"},
		{"admitted = 5", `check "admitted = 5"` + form, "a single = is no operator"},
		{"<= 5", `check "<= 5"` + form, "the metric is missing"},
		{"admitted@ <= 5", `check "admitted@ <= 5"` + form, "the phase is missing"},
		{"admited <= 5", `check "admited <= 5": unknown metric "admited" (did you mean "admitted"?); known: ` + metrics, "a typo in the metric"},
		{"p99 <= 5ms", `check "p99 <= 5ms": unknown metric "p99"; known: ` + metrics, "a metric of other tools"},
		{"admitted <= 5s", `check "admitted <= 5s": want a number, 5s is a duration`, "a count is a number"},
		{"first_admitted == 5", `check "first_admitted == 5": want a duration, 5 is a number`, "an instant is a duration"},
		{"service_p99 < limit", `check "service_p99 < limit": want a duration, limit is a number`, "and so is a latency"},
		{"admitted <= limit/window", `check "admitted <= limit/window": want a number, limit/window is a rate`, "a rate is no count"},
		{"admitted <= 2*", `check "admitted <= 2*": expression "2*": ends too early`, "the value is broken"},
		{"admitted <= = 2", `check "admitted <= = 2": expression "= 2": "=" is neither a number, a duration nor one of limit, window, edge`, "two operators"},
		{"admitted <= 1\ndenied == 0", `check "admitted <= 1\ndenied == 0"` + form, "two checks in one"},
	} {
		if got, err := scenarios.ParseCheck(row.text); err == nil || err.Error() != row.want {
			t.Errorf("%q: got %s and %v\nwant %s (%s)", row.text, got, err, row.want, row.why)
		}
	}
}

func TestOperators(t *testing.T) {
	for _, row := range []struct {
		op                  string
		below, equal, above bool
		why                 string
	}{
		{"==", false, true, false, "equal"},
		{"!=", true, false, true, "different"},
		{"<", true, false, false, "below, the bound excluded"},
		{"<=", true, true, false, "below, the bound included"},
		{">", false, false, true, "above, the bound excluded"},
		{">=", false, true, true, "above, the bound included"},
	} {
		c := scenarios.Check{Op: row.op}
		for measured, want := range map[int64]bool{4: row.below, 5: row.equal, 6: row.above} {
			if got := c.Holds(scenarios.Count(measured), scenarios.Count(5)); got != want {
				t.Errorf("%d %s 5 is %t, want %t (%s)", measured, row.op, got, want, row.why)
			}
		}
	}
}

func TestTheWorstVerdictWins(t *testing.T) {
	const pass, inconclusive, fail = scenarios.Pass, scenarios.Inconclusive, scenarios.Fail
	for _, row := range []struct {
		a, b, want scenarios.Verdict
		why        string
	}{
		{pass, pass, pass, "nothing wrong"},
		{pass, inconclusive, inconclusive, "a doubt spoils a pass"},
		{inconclusive, pass, inconclusive, "and is not healed by one"},
		{inconclusive, fail, fail, "a failure is worse than a doubt"},
		{fail, inconclusive, fail, "and stays"},
		{fail, pass, fail, "whatever else"},
		{"", "", pass, "the zero verdict is a pass"},
		{"", fail, fail, "and takes the other"},
		{inconclusive, "", inconclusive, "nor does it heal"},
	} {
		if got := row.a.Worse(row.b); got != row.want {
			t.Errorf("%q and %q: got %q, want %q (%s)", row.a, row.b, got, row.want, row.why)
		}
	}
}
