package scenarios

import (
	"math/big"
	"strings"
	"time"
)

// Measures are the counts of one limiter in one phase, or in the whole scenario.
// Requests are counted, except where units are named: a request of cost 3 is
// one request and three units.
type Measures struct {
	Planned, Admitted, Denied, Errored, Unknown, Missed int64
	// UnknownUnits is what those of Unknown may have taken.
	UnknownUnits int64
	// Excused are those of Errored and Unknown that a fault of the scenario explains.
	Excused int64
	// Wanted are the planned requests that are no retries.
	Wanted int64

	Limit int64 // units of one window
	// PeakInWindow is the most units admitted in any trailing window, of the
	// worst key; PeakInShort the same in ShortSpan, a thirtieth of the window.
	PeakInWindow, PeakInShort int64
	ShortSpan                 time.Duration
	// PeakAtMost is what PeakInWindow would be if all of unknown fate of a key had been
	// admitted in the window of its peak.
	PeakAtMost int64
	// Crowd is the most requests of all keys in ShortSpan, whatever became of
	// them.
	Crowd int64
	// FirstAdmitted and LastAdmitted are instants as offsets from the edge; they
	// mean something if Admitted is above 0.
	FirstAdmitted, LastAdmitted time.Duration
	// WrongAdmissions and WrongDenials are decisions that differ from an exact
	// trailing window over this limiter's own admissions.
	WrongAdmissions, WrongDenials int64
	// Service and Response are the sorted durations of decided requests; nil
	// where no check asks for them, and under the virtual clock there is no
	// Response.
	Service, Response []time.Duration
	// ByOpen, ByClosed and ByLocal are decisions of the failure policy, and ByEdge
	// denials of a tier in front. They are part of Admitted and Denied.
	ByOpen, ByClosed, ByLocal, ByEdge int64
	// Recovery is the longest time from the end of a fault to the next decision by
	// Redis; absent if there was no fault, or no such decision.
	Recovery *time.Duration
	// StateLost is how often the faults of the scenario took state away.
	StateLost int64
	// LostTail is how many admissions a failover forgot.
	LostTail int64
	// Overcounted is where the limiter said that most was used of a budget, measured
	// by all that can have been counted of it until then; zero if it does not tell.
	Overcounted Overcount
	// Capacity is the rate that was kept up with; nil where nobody looks for it.
	Capacity *Capacity
	// Examined is what was found in Redis afterwards; nil for a phase.
	Examined *Examination
}

// Overcount is how many units a limiter said were used, and how many at most were
// sent that it can have counted.
type Overcount struct{ Used, Sent int64 }

// Capacity is the fastest step of a rising rate that a limiter kept up with, and how
// long requests took in it, planned to done. PerSecond is 0 if it kept up with none,
// Overload is the step that it did not keep up with, 0 if there was none.
type Capacity struct {
	PerSecond, Overload int64
	P50, P99            time.Duration
}

// Elsewhere is how many decisions were not the limiter's own.
func (m Measures) Elsewhere() int64 { return m.ByOpen + m.ByClosed + m.ByLocal + m.ByEdge }

// Metric is a number that checks can be about.
type Metric struct {
	Name, Doc string
	// Account says that the metric is about the traffic itself: it is a fact even
	// where other traffic was sent than planned.
	Account bool
	// value is false when nothing was measured: then a check is inconclusive.
	value func(Measures) (Quantity, bool)
	// Duration says that values are durations, and not numbers.
	Duration bool
}

func (m Metric) dimension() int {
	if m.Duration {
		return 1
	}
	return 0
}

// Metrics is the closed list of what checks can be about.
var Metrics = []Metric{
	{"planned", "requests that were to be sent, retries included", true, counted(func(m Measures) int64 { return m.Planned }), false},
	{"wanted", "requests that are no retries", true, counted(func(m Measures) int64 { return m.Wanted }), false},
	{"sent", "requests that were sent", true, counted(func(m Measures) int64 { return m.Planned - m.Missed }), false},
	{"admitted", "requests that were admitted", false, counted(func(m Measures) int64 { return m.Admitted }), false},
	{"denied", "requests that were denied", false, counted(func(m Measures) int64 { return m.Denied }), false},
	{"errored", "requests that failed and were certainly not counted", true, counted(func(m Measures) int64 { return m.Errored }), false},
	{"unknown", "requests that may or may not have been counted", true, counted(func(m Measures) int64 { return m.Unknown }), false},
	{"missed", "requests that were never sent", true, counted(func(m Measures) int64 { return m.Missed }), false},
	{"error_rate", "errored and unknown requests per sent request, 0 to 1", true, func(m Measures) (Quantity, bool) {
		return ratio(m.Errored+m.Unknown, m.Planned-m.Missed)
	}, false},
	{"failed_open", "requests that the failure policy admitted", true, counted(func(m Measures) int64 { return m.ByOpen }), false},
	{"failed_closed", "requests that the failure policy denied", true, counted(func(m Measures) int64 { return m.ByClosed }), false},
	{"decided_locally", "requests that the cap of the process decided while Redis was away", true, counted(func(m Measures) int64 { return m.ByLocal }), false},
	{"denied_at_edge", "requests that the tier in front denied", false, counted(func(m Measures) int64 { return m.ByEdge }), false},
	{"recovery", "longest time from the end of a fault to the next decision by Redis", false, func(m Measures) (Quantity, bool) {
		if m.Recovery == nil {
			return Quantity{}, false
		}
		return duration(m.Recovery.Truncate(time.Microsecond)), true
	}, true},
	{"capacity", "requests a second that the limiter keeps up with, in a scenario with overload", false, func(m Measures) (Quantity, bool) {
		if m.Capacity == nil {
			return Quantity{}, false
		}
		return ratio(m.Capacity.PerSecond, 1)
	}, false},
	{"lost_tail", "admissions that a failover forgot", false, counted(func(m Measures) int64 { return m.LostTail }), false},
	{"overcounted", "units that the limiter counted per unit that can have been counted, at the most; above 1 a request was counted twice", false, func(m Measures) (Quantity, bool) {
		return ratio(m.Overcounted.Used, m.Overcounted.Sent)
	}, false},
	{"admitted_share", "admitted requests per decided request, 0 to 1", false, func(m Measures) (Quantity, bool) {
		return ratio(m.Admitted, m.Admitted+m.Denied)
	}, false},
	{"first_admitted", "instant of the first admission, as a duration from the edge", false, admission(func(m Measures) time.Duration { return m.FirstAdmitted }), true},
	{"last_admitted", "instant of the last admission, as a duration from the edge", false, admission(func(m Measures) time.Duration { return m.LastAdmitted }), true},
	{"peak_in_window", "most units admitted in any trailing window, of the worst key", false, decided(func(m Measures) int64 { return m.PeakInWindow }), false},
	{"peak_in_short", "the same in a thirtieth of the window", false, decided(func(m Measures) int64 { return m.PeakInShort }), false},
	{"peak_over_limit", "peak_in_window divided by the limit", false, func(m Measures) (Quantity, bool) {
		peak, sampled := ratio(m.PeakInWindow, m.Limit)
		return peak, sampled && m.Admitted+m.Denied > 0
	}, false},
	{"crowd", "most requests of all keys in a thirtieth of the window, whatever became of them", false, counted(func(m Measures) int64 { return m.Crowd }), false},
	{"wrong_admissions", "admitted although an exact trailing window was full", false, decided(func(m Measures) int64 { return m.WrongAdmissions }), false},
	{"wrong_denials", "denied although an exact trailing window had room", false, decided(func(m Measures) int64 { return m.WrongDenials }), false},
	{"wrong_share", "wrong admissions and denials per decided request, 0 to 1", false, func(m Measures) (Quantity, bool) {
		return ratio(m.WrongAdmissions+m.WrongDenials, m.Admitted+m.Denied)
	}, false},
	{"keys", "keys in Redis after the last request", false, examined(func(e *Examination) (int64, bool) { return int64(e.Total), true }), false},
	{"members", "most members of a key after the last request; a string counts as one", false, examined(mostMembers), false},
	{"keys_left", "keys in Redis after the drain", false, examined(keysLeft), false},
	{"bytes_left", "memory of the keys in Redis after the drain", false, examined(bytesLeft), false},
	{"service_p50", "median time from sending a request to its reply", false, percentile(served, 50), true},
	{"service_p95", "95th percentile of the time from sending a request to its reply", false, percentile(served, 95), true},
	{"service_p99", "99th percentile of the time from sending a request to its reply", false, percentile(served, 99), true},
	{"service_max", "longest time from sending a request to its reply", false, percentile(served, 100), true},
	{"response_p50", "median time from when a request was planned to its reply; real time only", false, percentile(responded, 50), true},
	{"response_p95", "95th percentile of the time from when a request was planned to its reply", false, percentile(responded, 95), true},
	{"response_p99", "99th percentile of the time from when a request was planned to its reply", false, percentile(responded, 99), true},
	{"response_max", "longest time from when a request was planned to its reply", false, percentile(responded, 100), true},
}

// admission metrics need at least one admission.
func admission(f func(Measures) time.Duration) func(Measures) (Quantity, bool) {
	return func(m Measures) (Quantity, bool) { return duration(f(m)), m.Admitted > 0 }
}

// examined metrics need a look at Redis that saw everything.
func examined(f func(*Examination) (int64, bool)) func(Measures) (Quantity, bool) {
	return func(m Measures) (Quantity, bool) {
		if m.Examined == nil || m.Examined.Incomplete != "" {
			return Quantity{}, false
		}
		n, ok := f(m.Examined)
		return Count(n), ok
	}
}

func mostMembers(e *Examination) (most int64, ok bool) {
	for _, k := range e.Keys {
		most = max(most, k.Elements)
	}
	return most, len(e.Keys) > 0
}

func keysLeft(e *Examination) (int64, bool) {
	if e.Left == nil {
		return 0, false
	}
	return int64(e.Left.Keys), true
}

func bytesLeft(e *Examination) (int64, bool) {
	if e.Left == nil || e.Left.Bytes == nil {
		return 0, false
	}
	return *e.Left.Bytes, true
}

func served(m Measures) []time.Duration    { return m.Service }
func responded(m Measures) []time.Duration { return m.Response }

// percentile metrics of the tail need ten samples beyond it, as in the report.
func percentile(of func(Measures) []time.Duration, q int) func(Measures) (Quantity, bool) {
	return func(m Measures) (Quantity, bool) {
		sorted := of(m)
		n := len(sorted)
		if n == 0 || q > 50 && q < 100 && n*(100-q) < 10*100 {
			return Quantity{}, false
		}
		at := max((n*q+99)/100, 1) - 1
		return duration(sorted[at].Truncate(time.Microsecond)), true
	}
}

// Timed reports whether the check is about a latency.
func (c Check) Timed() bool {
	return strings.HasPrefix(c.Metric, "service_") || strings.HasPrefix(c.Metric, "response_")
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
