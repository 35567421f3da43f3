package scenarios_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

func TestMetrics(t *testing.T) {
	m := scenarios.Measures{
		Planned: 100, Admitted: 40, Denied: 30, Errored: 5, Unknown: 10, Missed: 15,
		Limit: 20, PeakInWindow: 25, PeakInShort: 9, WrongAdmissions: 2, WrongDenials: 3,
	}
	undecided := scenarios.Measures{Planned: 10, Errored: 10, Limit: 20}
	unsent := scenarios.Measures{Planned: 10, Missed: 10, Limit: 20}
	boundless := scenarios.Measures{Planned: 1, Denied: 1}
	for _, row := range []struct {
		m      scenarios.Measures
		metric string
		want   string // "" for no sample
		why    string
	}{
		{m, "planned", "100", "everything"},
		{m, "sent", "85", "all but the missed"},
		{m, "admitted", "40", "counted"},
		{m, "denied", "30", "counted"},
		{m, "errored", "5", "counted"},
		{m, "unknown", "10", "counted"},
		{m, "missed", "15", "counted"},
		{m, "error_rate", "0.176471", "errored and unknown, of those that were sent: 15/85"},
		{m, "peak_in_window", "25", "units"},
		{m, "peak_in_short", "9", "units"},
		{m, "peak_over_limit", "1.25", "25/20"},
		{m, "wrong_admissions", "2", "counted"},
		{m, "wrong_denials", "3", "counted"},
		{undecided, "admitted", "0", "counted as soon as something was planned"},
		{undecided, "error_rate", "1", "all failed"},
		{undecided, "peak_in_window", "", "without a decision there is no peak"},
		{undecided, "peak_in_short", "", "nor a short one"},
		{undecided, "wrong_admissions", "", "nor a wrong one"},
		{undecided, "wrong_denials", "", "in either direction"},
		{undecided, "peak_over_limit", "", "nor a share of the limit, which would look like a perfect limiter"},
		{unsent, "error_rate", "", "a rate of nothing"},
		{unsent, "sent", "0", "a count of nothing"},
		{boundless, "peak_over_limit", "", "a share of no limit"},
		{scenarios.Measures{}, "planned", "", "an empty phase has no sample"},
		{scenarios.Measures{}, "admitted", "", "of anything"},
		{m, "p99", "", "no such metric"},
	} {
		q, ok := row.m.Measure(row.metric)
		if got := map[bool]string{true: "sampled", false: "no sample"}[ok]; ok != (row.want != "") {
			t.Errorf("%s of %+v: %s (%s)", row.metric, row.m, got, row.why)
		} else if ok && q.String() != row.want {
			t.Errorf("%s: got %s, want %s (%s)", row.metric, q, row.want, row.why)
		}
	}
}

// upTo are the durations of 1 to n milliseconds.
func upTo(n int) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration(i+1) * time.Millisecond
	}
	return all
}

func TestMetricsOfClientsAndOfRedis(t *testing.T) {
	bytes, none := int64(4096), int64(0)
	m := scenarios.Measures{
		Planned: 100, Wanted: 60, Admitted: 40, Denied: 24, Errored: 36, Crowd: 17,
		FirstAdmitted: -2 * time.Second, LastAdmitted: 90 * time.Second, WrongAdmissions: 1, WrongDenials: 3,
		Examined: &scenarios.Examination{
			Total: 5, Left: &scenarios.Left{Keys: 2, Bytes: &bytes},
			Keys: []scenarios.KeyState{{Elements: 1}, {Elements: 100, Collection: true}, {Elements: 7, Collection: true}},
		},
	}
	refused := scenarios.Measures{Planned: 10, Denied: 10}
	with := func(e *scenarios.Examination) scenarios.Measures {
		return scenarios.Measures{Planned: 10, Denied: 10, Examined: e}
	}
	for _, row := range []struct {
		m      scenarios.Measures
		metric string
		want   string // "" for no sample
		why    string
	}{
		{m, "wanted", "60", "what is no retry"},
		{m, "crowd", "17", "counted"},
		{m, "admitted_share", "0.625", "40 of the 64 that were decided"},
		{m, "wrong_share", "0.0625", "4 of 64"},
		{m, "first_admitted", "-2s", "before the edge"},
		{m, "last_admitted", "1m30s", "a duration"},
		{refused, "wanted", "0", "retries only"},
		{refused, "first_admitted", "", "nothing was admitted: not at the edge, but never"},
		{refused, "last_admitted", "", "nor last"},
		{refused, "admitted_share", "0", "all denied"},
		{scenarios.Measures{Planned: 5, Errored: 5}, "admitted_share", "", "a share of nothing"},
		{scenarios.Measures{Planned: 5, Errored: 5}, "wrong_share", "", "likewise"},
		{scenarios.Measures{}, "wanted", "", "an empty phase"},
		{scenarios.Measures{}, "crowd", "", "has no crowd"},

		{m, "keys", "5", "all, not only those that were looked into"},
		{m, "members", "100", "the largest"},
		{m, "keys_left", "2", "after the drain"},
		{m, "bytes_left", "4096", "after the drain"},
		{refused, "keys", "", "nobody looked"},
		{refused, "members", "", "into nothing"},
		{refused, "keys_left", "", "nor later"},
		{refused, "bytes_left", "", "nor at how much"},
		{with(&scenarios.Examination{}), "keys", "0", "there is no key, and somebody looked"},
		{with(&scenarios.Examination{}), "members", "", "so there is none that could have members"},
		{with(&scenarios.Examination{}), "keys_left", "", "there was no drain"},
		{with(&scenarios.Examination{}), "bytes_left", "", "so nothing is left, or everything"},
		{with(&scenarios.Examination{Keys: []scenarios.KeyState{{Elements: 1}}, Total: 1}), "members", "1", "a string"},
		{with(&scenarios.Examination{Left: &scenarios.Left{}}), "keys_left", "0", "everything has expired"},
		{with(&scenarios.Examination{Left: &scenarios.Left{Keys: 2}}), "bytes_left", "", "the server does not tell"},
		{with(&scenarios.Examination{Left: &scenarios.Left{Bytes: &none}}), "bytes_left", "0", "it does"},
		{with(&scenarios.Examination{Total: 5, Incomplete: "SCAN is not allowed"}), "keys", "", "5 or more"},
		{with(&scenarios.Examination{Keys: []scenarios.KeyState{{Elements: 9}}, Incomplete: "timeout"}), "members", "", "9 or more"},
	} {
		checkMeasure(t, row.m, row.metric, row.want, row.why)
	}
}

func checkMeasure(t *testing.T, m scenarios.Measures, metric, want, why string) {
	t.Helper()
	got := ""
	if q, ok := m.Measure(metric); ok {
		got = q.String()
	}
	if got != want {
		t.Errorf("%s: got %q, want %q (%s)", metric, got, want, why)
	}
}

// A percentile is the n-th of the sorted; one of the tail needs ten samples
// beyond it.
func TestPercentiles(t *testing.T) {
	for _, row := range []struct {
		sorted []time.Duration
		metric string
		want   string
		why    string
	}{
		{nil, "p50", "", "no sample"},
		{nil, "max", "", "no longest of none"},
		{upTo(1), "p50", "1ms", "the only one is in the middle"},
		{upTo(2), "p50", "1ms", "the first of two"},
		{upTo(3), "p50", "2ms", "the second of three"},
		{upTo(101), "p50", "51ms", "the 51st"},
		{upTo(1), "max", "1ms", "the only one"},
		{upTo(7), "max", "7ms", "the last"},
		{upTo(199), "p95", "", "nine of 199 are beyond"},
		{upTo(200), "p95", "190ms", "ten of 200"},
		{upTo(201), "p95", "191ms", "0.95×201 is 190.95, so the 191st"},
		{upTo(999), "p99", "", "nine of 999"},
		{upTo(1000), "p99", "990ms", "ten of 1000"},
		{upTo(1001), "p99", "991ms", "0.99×1001 is 990.99"},
		{[]time.Duration{1999}, "p50", "1µs", "whole microseconds, cut"},
	} {
		checkMeasure(t, scenarios.Measures{Planned: 2000, Service: row.sorted}, "service_"+row.metric, row.want, row.why)
		checkMeasure(t, scenarios.Measures{Planned: 2000, Response: row.sorted}, "response_"+row.metric, row.want, row.why)
		checkMeasure(t, scenarios.Measures{Planned: 2000, Response: row.sorted}, "service_"+row.metric, "", "of the other one")
	}
}

// Every metric has words, a value when everything was measured, and the
// dimension that its checks have to have.
func TestEveryMetric(t *testing.T) {
	bytes, second := int64(1), time.Second
	full := scenarios.Measures{
		Planned: 4, Wanted: 4, Admitted: 1, Denied: 1, Limit: 1, Service: upTo(1000), Response: upTo(1000),
		Recovery: &second, Capacity: &scenarios.Capacity{PerSecond: 1000}, Overcounted: scenarios.Overcount{Used: 1, Sent: 2},
		Examined: &scenarios.Examination{Keys: make([]scenarios.KeyState, 1), Left: &scenarios.Left{Bytes: &bytes}},
	}
	for _, metric := range scenarios.Metrics {
		if _, ok := full.Measure(metric.Name); !ok || metric.Doc == "" {
			t.Errorf("metric %s: measured %t, doc %q", metric.Name, ok, metric.Doc)
		}
		if _, ok := (scenarios.Measures{}).Measure(metric.Name); ok {
			t.Errorf("metric %s has a value though nothing was planned", metric.Name)
		}
		fit, unfit := "5", "5s"
		if metric.Duration {
			fit, unfit = unfit, fit
		}
		c, err := scenarios.ParseCheck(metric.Name + " < " + fit)
		if err == nil {
			err = c.Validate(limiter.Limit{Max: 1, Window: time.Second})
		}
		if err != nil {
			t.Errorf("metric %s: %v", metric.Name, err)
		}
		if _, err := scenarios.ParseCheck(metric.Name + " < " + unfit); err == nil {
			t.Errorf("metric %s can be %s", metric.Name, unfit)
		}
		timed := strings.Contains(metric.Name, "_p") && metric.Duration || strings.HasSuffix(metric.Name, "_max")
		if c.Timed() != timed || c.Accounts() != metric.Account {
			t.Errorf("metric %s: timed %t, accounts %t", metric.Name, c.Timed(), c.Accounts())
		}
	}
}
