// Package report turns judged histories into one document, and the document
// into formats. All arithmetic is in the builder; a renderer only writes.
package report

import (
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

// Schema names the version of the document.
const Schema = "rlbench.report/v1"

// Report is the document that every format shows and JSON stores. Durations are
// integers with their unit in the name; what was not measured is absent.
type Report struct {
	Schema      string             `json:"schema" jsonschema:"enum=rlbench.report/v1"`
	Verdict     scenarios.Verdict  `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"`
	Interrupted bool               `json:"interrupted"`
	Reasons     []scenarios.Reason `json:"reasons"`
	Command     []string           `json:"command"`
	Started     time.Time          `json:"started"`
	ElapsedUS   int64              `json:"elapsed_us"`
	Env         Env                `json:"env"`
	// Merged is of how many results this is the sum, MergedFrom are when they began and how
	// they differ from others of that instant, and Machines are where they were made, if
	// there were several.
	Merged     int        `json:"merged,omitempty"`
	MergedFrom []string   `json:"merged_from,omitempty"`
	Machines   []Env      `json:"machines,omitempty"`
	Scenarios  []Scenario `json:"scenarios"`
	Rows       []Row      `json:"rows"`
	Findings   []Finding  `json:"findings"`
}

// Env is where the report was made.
type Env struct {
	Rlbench string `json:"rlbench"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPU     string `json:"cpu,omitempty"`
	Cores   int    `json:"cores"`
	Redis   Redis  `json:"redis"`
}

// Redis is the server that held the state.
type Redis struct {
	Flavour         string `json:"flavour,omitempty" jsonschema:"enum=managed,enum=live,enum=embedded"` // absent if none was opened
	Server          string `json:"server,omitempty"`
	Version         string `json:"version,omitempty"`
	Mode            string `json:"mode,omitempty"`
	MaxmemoryPolicy string `json:"maxmemory_policy,omitempty"`
}

// Scenario is the traffic and how well it was sent.
type Scenario struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	SHA256      string         `json:"sha256"`
	Faults      []PlannedFault `json:"faults,omitempty"`
	// Names is how many identities a client has whose uses do not count together;
	// absent if one. Skewed says that the senders' clocks differ.
	Names     int             `json:"names,omitempty"`
	Skewed    bool            `json:"skewed,omitempty"`
	OnFailure string          `json:"on_failure,omitempty" jsonschema:"enum=error,enum=open,enum=closed,enum=local"`
	Seed      uint64          `json:"seed"`
	Clock     scenarios.Clock `json:"clock" jsonschema:"enum=virtual,enum=server,enum=client"`
	Runs      int             `json:"runs"`
	// PlannedRuns is how many were wanted, if that is more than were begun.
	PlannedRuns int               `json:"planned_runs,omitempty"`
	Limit       Limit             `json:"limit"`
	Verdict     scenarios.Verdict `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"`
	Schedule    Schedule          `json:"schedule"`
}

// PlannedFault is trouble that the scenario makes, as offsets from the edge; equal
// ones are an instant.
type PlannedFault struct {
	Kind  string `json:"kind"`
	AtUS  int64  `json:"at_us"`
	EndUS int64  `json:"end_us"`
}

// Limit is the budget under test.
type Limit struct {
	Max      int64 `json:"max"`
	WindowUS int64 `json:"window_us"`
}

// Schedule sums over all limiters and runs of a scenario; the lag is the worst
// of them, and absent under the virtual clock.
type Schedule struct {
	Planned int64 `json:"planned"`
	Sent    int64 `json:"sent"`
	Missed  int64 `json:"missed"`
	LagUS   *Lag  `json:"lag_us,omitempty"`
}

// Lag is how late requests were sent.
type Lag struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// Row is one limiter under one scenario in one phase of one run. Phase "" is the
// whole scenario. Run 0 sums all runs, where there are several: counts and
// histograms add up, peaks are the highest.
type Row struct {
	Scenario  string `json:"scenario"`
	Limiter   string `json:"limiter"`
	Algorithm string `json:"algorithm,omitempty"`
	Phase     string `json:"phase"`
	Run       int    `json:"run"`
	// Control is the same traffic without the scenario's faults.
	Control bool `json:"control,omitempty"`

	Planned   int64    `json:"planned"`
	Admitted  int64    `json:"admitted"`
	Denied    int64    `json:"denied"`
	Errored   int64    `json:"errored"`
	Unknown   int64    `json:"unknown"`
	Missed    int64    `json:"missed"`
	ErrorRate *float64 `json:"error_rate,omitempty"`
	// Wanted are the planned requests that are no retries; absent means all.
	Wanted int64 `json:"wanted,omitempty"`
	// Crowd is the most requests of all keys in a thirtieth of the window.
	Crowd int64 `json:"crowd,omitempty"`
	// FirstAdmittedUS and LastAdmittedUS are offsets from the edge; absent if
	// nothing was admitted.
	FirstAdmittedUS *int64 `json:"first_admitted_us,omitempty"`
	LastAdmittedUS  *int64 `json:"last_admitted_us,omitempty"`

	PeakInWindow int64 `json:"peak_in_window"`
	// PeakAtMost is what PeakInWindow would be if all of unknown fate of a key had been
	// admitted in the window of its peak; absent if there is none.
	PeakAtMost    int64    `json:"peak_at_most,omitempty"`
	PeakOverLimit *float64 `json:"peak_over_limit,omitempty"`
	PeakInShort   Short    `json:"peak_in_short"`
	Promise       *Promise `json:"promise,omitempty"`
	Wrong         Wrong    `json:"wrong"`
	LandedUS      *Landed  `json:"landed_us,omitempty"`
	// ByPolicy are the decisions of the failure policy, part of admitted and denied;
	// absent if there were none. DeniedAtEdge are those of a tier in front.
	ByPolicy     *ByPolicy `json:"by_policy,omitempty"`
	DeniedAtEdge int64     `json:"denied_at_edge,omitempty"`
	// RecoveryUS is the longest time from the end of a fault to the next decision by
	// Redis.
	RecoveryUS *int64 `json:"recovery_us,omitempty"`
	// StateLost is how often the faults of the scenario took state away.
	StateLost int64 `json:"state_lost,omitempty"`
	// Capacity is the fastest rate that was kept up with; absent where the scenario
	// does not look for it.
	Capacity *Capacity `json:"capacity,omitempty"`
	// LostTail is how many admissions a failover forgot.
	LostTail int64 `json:"lost_tail,omitempty"`
	// Overcounted is how many units the limiter counted for each that it can have
	// counted, at the most; absent if none twice.
	Overcounted *float64 `json:"overcounted,omitempty"`
	// Attempts is how often the edge had to be tried; absent if once.
	Attempts int `json:"attempts,omitempty"`

	ServiceUS  Outcomes  `json:"service_us"`
	ResponseUS *Outcomes `json:"response_us,omitempty"`
	// PolicyUS is how long the failure policy took, which is part of the response and no
	// service; absent if it decided nothing.
	PolicyUS *Latency `json:"policy_us,omitempty"`
	// LagUS is how late what was sent was sent; absent under the virtual clock.
	LagUS *Latency `json:"lag_us,omitempty"`
	Redis *Cost    `json:"redis,omitempty"`

	// Envelope is of the whole scenario, and Timeline of one run of it: first all, then
	// around edges, if that is not seen there.
	Envelope *Envelope `json:"envelope,omitempty"`
	Timeline []Stretch `json:"timeline,omitempty"`

	Verdict scenarios.Verdict `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"`
}

// ByPolicy counts decisions of the failure policy.
type ByPolicy struct {
	Open   int64 `json:"open"`
	Closed int64 `json:"closed"`
	Local  int64 `json:"local"`
}

// Short is the peak in a thirtieth of the window.
type Short struct {
	SpanUS   int64 `json:"span_us"`
	Admitted int64 `json:"admitted"`
}

// Promise is the algorithm's own bound.
type Promise struct {
	MaxInWindow int64 `json:"max_in_window"`
	Kept        bool  `json:"kept"`
}

// Wrong counts decisions that differ from an exact trailing window.
type Wrong struct {
	Admissions int64 `json:"admissions"`
	Denials    int64 `json:"denials"`
}

// Landed is where the decisions of a phase fell, as offsets from the edge by the
// clock that decided. It is absent under the virtual clock.
type Landed struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Outcomes are latencies of all decided requests, and of each outcome.
type Outcomes struct {
	All      *Latency `json:"all,omitempty"`
	Admitted *Latency `json:"admitted,omitempty"`
	Denied   *Latency `json:"denied,omitempty"`
}

// Latency summarises durations. A percentile with fewer than ten samples above
// it is absent, except the median.
type Latency struct {
	Count   int64  `json:"count"`
	P50     *int64 `json:"p50,omitempty"`
	P90     *int64 `json:"p90,omitempty"`
	P95     *int64 `json:"p95,omitempty"`
	P99     *int64 `json:"p99,omitempty"`
	P999    *int64 `json:"p999,omitempty"`
	Max     *int64 `json:"max,omitempty"`
	Clamped int64  `json:"clamped,omitempty"` // samples above the histogram's range, counted at its end
	// HDR is the HdrHistogram of the samples in microseconds, as base64 of its V2
	// compressed encoding. Only what was admitted, what was denied, the policy and the
	// lag in one phase of one run have one: all else is their sum.
	HDR string `json:"hdr,omitempty"`
}

// Cost is what decisions cost the Redis server.
type Cost struct {
	Keys                int      `json:"keys"`
	BytesPerIdentity    *float64 `json:"bytes_per_identity,omitempty"`
	CommandsPerDecision *float64 `json:"commands_per_decision,omitempty"`
	ScriptUSPerDecision *float64 `json:"script_us_per_decision,omitempty"`
}

// Finding is one check of one row. Run 0 is about all runs of a limiter.
type Finding struct {
	Scenario string            `json:"scenario"`
	Check    string            `json:"check"`
	Limiter  string            `json:"limiter"`
	Phase    string            `json:"phase"`
	Run      int               `json:"run"`
	Control  bool              `json:"control,omitempty"`
	Verdict  scenarios.Verdict `json:"verdict" jsonschema:"enum=pass,enum=inconclusive,enum=fail"`
	Warn     bool              `json:"warn,omitempty"`
	Message  string            `json:"message"`
	Evidence []string          `json:"evidence"`
}

// Capacity is a rate, with the response times at it; OverloadPerSecond is the next
// step, which was not kept up with, and absent if there was none.
type Capacity struct {
	PerSecond         int64 `json:"per_second"`
	P50US             int64 `json:"p50_us"`
	P99US             int64 `json:"p99_us"`
	OverloadPerSecond int64 `json:"overload_per_second,omitempty"`
}
