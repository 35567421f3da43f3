package report

import (
	"cmp"
	"slices"
	"strconv"
)

// metric is a figure of a row. Formats for programs have all of them, under one name.
type metric struct {
	name string
	unit string // "us", or "" for a count or a ratio
	help string
	of   func(*Row) value
}

// ofThePlan are the figures that a row has of which nothing was sent: nothing admitted is
// not what was measured then.
var ofThePlan = []string{"planned", "wanted", "missed"}

// figure is the metric of a row, if it was measured.
func (m metric) figure(row *Row) value {
	if row.idle() && !slices.Contains(ofThePlan, m.name) {
		return value{}
	}
	return m.of(row)
}

// value is a figure, or none.
type value struct {
	number float64
	known  bool
}

func count(n int64) value { return value{float64(n), true} }

func maybe[T int64 | float64](n *T) value {
	if n == nil {
		return value{}
	}
	return value{float64(*n), true}
}

func yes(b bool) value {
	if b {
		return count(1)
	}
	return count(0)
}

// String is the shortest text of the figure; empty is none.
func (v value) String() string {
	if !v.known {
		return ""
	}
	return strconv.FormatFloat(v.number, 'f', -1, 64)
}

// of reads a figure from a part of a row that may be absent.
func within[T any](part func(*Row) *T, of func(*T) value) func(*Row) value {
	return func(r *Row) value {
		if p := part(r); p != nil {
			return of(p)
		}
		return value{}
	}
}

// metrics are all figures of a row, in the order of the document.
var metrics = slices.Concat(
	counts,
	times("service", "from sending to the reply", func(r *Row) *Outcomes { return &r.ServiceUS }),
	times("response", "from the planned instant to the reply", func(r *Row) *Outcomes { return r.ResponseUS }),
	percentiles("policy_us_", "requests that the failure policy decided", "of how long the failure policy took", func(r *Row) *Latency { return r.PolicyUS }),
	percentiles("lag_us_", "requests that were sent", "of how late requests were sent", func(r *Row) *Latency { return r.LagUS }),
	costs,
)

var counts = []metric{
	{"planned", "", "requests that the plan has", func(r *Row) value { return count(r.Planned) }},
	{"wanted", "", "planned requests that are no retries", func(r *Row) value { return count(cmp.Or(r.Wanted, r.Planned)) }},
	{"admitted", "", "requests that were admitted", func(r *Row) value { return count(r.Admitted) }},
	{"denied", "", "requests that were denied", func(r *Row) value { return count(r.Denied) }},
	{"errored", "", "requests that ended with an error, and certainly were not counted", func(r *Row) value { return count(r.Errored) }},
	{"unknown", "", "requests of which nobody knows whether they were counted", func(r *Row) value { return count(r.Unknown) }},
	{"missed", "", "requests that were not sent", func(r *Row) value { return count(r.Missed) }},
	{"error_rate", "", "errored and unknown, of what was sent", func(r *Row) value { return maybe(r.ErrorRate) }},
	{"first_admitted_us", "us", "the first admission, from the edge", func(r *Row) value { return maybe(r.FirstAdmittedUS) }},
	{"last_admitted_us", "us", "the last admission, from the edge", func(r *Row) value { return maybe(r.LastAdmittedUS) }},
	{"peak_in_window", "", "the most admitted in any trailing window, of the worst key", func(r *Row) value { return count(r.PeakInWindow) }},
	{"peak_at_most", "", "the same if all of unknown fate had been admitted", func(r *Row) value { return count(max(r.PeakInWindow, r.PeakAtMost)) }},
	{"peak_over_limit", "", "peak_in_window as a multiple of the limit", func(r *Row) value { return maybe(r.PeakOverLimit) }},
	{"peak_in_short", "", "the most admitted in a thirtieth of the window", func(r *Row) value { return count(r.PeakInShort.Admitted) }},
	{"crowd", "", "the most requests of all keys in a thirtieth of the window", func(r *Row) value { return count(r.Crowd) }},
	{
		"promise_max_in_window", "", "what the algorithm promises of peak_in_window",
		within(func(r *Row) *Promise { return r.Promise }, func(p *Promise) value { return count(p.MaxInWindow) }),
	},
	{
		"promise_kept", "", "whether that was kept, 0 or 1",
		within(func(r *Row) *Promise { return r.Promise }, func(p *Promise) value { return yes(p.Kept) }),
	},
	{"wrong_admissions", "", "admissions that an exact trailing window would have denied", func(r *Row) value { return count(r.Wrong.Admissions) }},
	{"wrong_denials", "", "denials that an exact trailing window would have admitted", func(r *Row) value { return count(r.Wrong.Denials) }},
	{"denied_at_edge", "", "requests that a tier in front denied", func(r *Row) value { return count(r.DeniedAtEdge) }},
	{"failed_open", "", "requests that the failure policy admitted", within(policy, func(p *ByPolicy) value { return count(p.Open) })},
	{"failed_closed", "", "requests that the failure policy denied", within(policy, func(p *ByPolicy) value { return count(p.Closed) })},
	{"decided_locally", "", "requests that a limiter in the process decided", within(policy, func(p *ByPolicy) value { return count(p.Local) })},
	{"recovery_us", "us", "the longest time from the end of a fault to the next decision by Redis", func(r *Row) value { return maybe(r.RecoveryUS) }},
	{"state_lost", "", "how often faults took state away", func(r *Row) value { return count(r.StateLost) }},
	{"lost_tail", "", "admissions that a failover forgot", func(r *Row) value { return count(r.LostTail) }},
	{"overcounted", "", "units counted for each that can have been", func(r *Row) value { return maybe(r.Overcounted) }},
	{"attempts", "", "how often the edge was tried", func(r *Row) value { return count(int64(max(r.Attempts, 1))) }},
	{
		"capacity_per_second", "", "the fastest rate that was kept up with",
		within(func(r *Row) *Capacity { return r.Capacity }, func(c *Capacity) value { return count(c.PerSecond) }),
	},
}

func policy(r *Row) *ByPolicy { return r.ByPolicy }

// costs are what decisions cost the server.
var costs = []metric{
	{"redis_keys", "", "keys that were left", within(redisOf, func(c *Cost) value { return count(int64(c.Keys)) })},
	{"redis_bytes_per_identity", "", "memory of an identity, in bytes", within(redisOf, func(c *Cost) value { return maybe(c.BytesPerIdentity) })},
	{"redis_commands_per_decision", "", "commands of a decision", within(redisOf, func(c *Cost) value { return maybe(c.CommandsPerDecision) })},
	{"redis_script_us_per_decision", "us", "time of the script for a decision", within(redisOf, func(c *Cost) value { return maybe(c.ScriptUSPerDecision) })},
}

func redisOf(r *Row) *Cost { return r.Redis }

// times are the figures of one kind of duration, by outcome.
func times(kind, help string, part func(*Row) *Outcomes) []metric {
	var all []metric
	for _, o := range []struct {
		name string
		of   func(*Outcomes) *Latency
	}{
		{"all", func(o *Outcomes) *Latency { return o.All }},
		{"admitted", func(o *Outcomes) *Latency { return o.Admitted }},
		{"denied", func(o *Outcomes) *Latency { return o.Denied }},
	} {
		latency := func(r *Row) *Latency {
			if p := part(r); p != nil {
				return o.of(p)
			}
			return nil
		}
		all = append(all, percentiles(kind+"_us_"+o.name+"_", "requests with a "+kind+" time, "+o.name, "of the time "+help+", "+o.name, latency)...)
	}
	return all
}

// percentiles are the figures of a distribution.
func percentiles(prefix, counted, help string, of func(*Row) *Latency) []metric {
	all := []metric{{prefix + "count", "", counted, within(of, func(l *Latency) value { return count(l.Count) })}}
	for _, q := range quantiles {
		all = append(all, metric{prefix + q.name, "us", q.name + " " + help, within(of, func(l *Latency) value { return maybe(q.of(l)) })})
	}
	return all
}

// quantiles are those of a Latency; the quantile of the maximum is 1.
var quantiles = []struct {
	name, quantile string
	of             func(*Latency) *int64
}{
	{"p50", "0.5", func(l *Latency) *int64 { return l.P50 }},
	{"p90", "0.9", func(l *Latency) *int64 { return l.P90 }},
	{"p95", "0.95", func(l *Latency) *int64 { return l.P95 }},
	{"p99", "0.99", func(l *Latency) *int64 { return l.P99 }},
	{"p999", "0.999", func(l *Latency) *int64 { return l.P999 }},
	{"max", "1", func(l *Latency) *int64 { return l.Max }},
}
