package scenarios

import (
	"math/big"
	"time"
)

// Measures are the counts of one limiter in one phase, or in the whole scenario.
// Requests are counted, except where units are named: a request of cost 3 is
// one request and three units.
type Measures struct {
	Planned, Admitted, Denied, Errored, Unknown, Missed int64

	Limit int64 // units of one window
	// PeakInWindow is the most units admitted in any trailing window, of the
	// worst key; PeakInShort the same in ShortSpan, a thirtieth of the window.
	PeakInWindow, PeakInShort int64
	ShortSpan                 time.Duration
	// WrongAdmissions and WrongDenials are decisions that differ from an exact
	// trailing window over this limiter's own admissions.
	WrongAdmissions, WrongDenials int64
}

// Metric is a number that checks can be about.
type Metric struct {
	Name, Doc string
	// Account says that the metric is about the traffic itself: it is a fact even
	// where other traffic was sent than planned.
	Account bool
	// value is false when nothing was measured: then a check is inconclusive.
	value func(Measures) (Quantity, bool)
}

// Metrics is the closed list of what checks can be about.
var Metrics = []Metric{
	{"planned", "requests of the plan", true, counted(func(m Measures) int64 { return m.Planned })},
	{"sent", "requests that were sent", true, counted(func(m Measures) int64 { return m.Planned - m.Missed })},
	{"admitted", "requests that were admitted", false, counted(func(m Measures) int64 { return m.Admitted })},
	{"denied", "requests that were denied", false, counted(func(m Measures) int64 { return m.Denied })},
	{"errored", "requests that failed and were certainly not counted", true, counted(func(m Measures) int64 { return m.Errored })},
	{"unknown", "requests that may or may not have been counted", true, counted(func(m Measures) int64 { return m.Unknown })},
	{"missed", "requests that were never sent", true, counted(func(m Measures) int64 { return m.Missed })},
	{"error_rate", "errored and unknown requests per sent request, 0 to 1", true, func(m Measures) (Quantity, bool) {
		return ratio(m.Errored+m.Unknown, m.Planned-m.Missed)
	}},
	{"peak_in_window", "most units admitted in any trailing window, of the worst key", false, decided(func(m Measures) int64 { return m.PeakInWindow })},
	{"peak_in_short", "the same in a thirtieth of the window", false, decided(func(m Measures) int64 { return m.PeakInShort })},
	{"peak_over_limit", "peak_in_window divided by the limit", false, func(m Measures) (Quantity, bool) {
		peak, sampled := ratio(m.PeakInWindow, m.Limit)
		return peak, sampled && m.Admitted+m.Denied > 0
	}},
	{"wrong_admissions", "admitted although an exact trailing window was full", false, decided(func(m Measures) int64 { return m.WrongAdmissions })},
	{"wrong_denials", "denied although an exact trailing window had room", false, decided(func(m Measures) int64 { return m.WrongDenials })},
}

// counted metrics have a value as soon as something was planned.
func counted(f func(Measures) int64) func(Measures) (Quantity, bool) {
	return func(m Measures) (Quantity, bool) { return Count(f(m)), m.Planned > 0 }
}

// decided metrics need at least one decision.
func decided(f func(Measures) int64) func(Measures) (Quantity, bool) {
	return func(m Measures) (Quantity, bool) { return Count(f(m)), m.Admitted+m.Denied > 0 }
}

func ratio(a, b int64) (Quantity, bool) {
	if b == 0 {
		return Quantity{}, false
	}
	return count(big.NewRat(a, b)), true
}

// Accounts reports whether the check is about the traffic and not the limiter.
func (c Check) Accounts() bool {
	m, err := metricNamed(c.Metric)
	return err == nil && m.Account
}

func metricNamed(name string) (Metric, error) {
	for _, m := range Metrics {
		if m.Name == name {
			return m, nil
		}
	}
	return Metric{}, UnknownName("metric", name, metricNames())
}

// Measure looks a metric up. It is false when there is no sample.
func (m Measures) Measure(metric string) (Quantity, bool) {
	row, err := metricNamed(metric)
	if err != nil {
		return Quantity{}, false
	}
	return row.value(m)
}
