package scenarios

import "time"

// Judgement is everything that is said about one run of one limiter under one
// scenario.
type Judgement struct {
	Measures Measures
	Phases   []PhaseMeasures // one for each phase of the plan
	Lag      Lag
	Promise  *Promise // nil if the limiter claims to be no algorithm
	Findings []Finding
	Reasons  []Reason
	Verdict  Verdict
}

// PhaseMeasures are the measures of a phase, and where its decisions really fell.
type PhaseMeasures struct {
	Measures
	// First and Last are the instants of its first and last decision as offsets
	// from the edge; both zero if there was none.
	First, Last time.Duration
}

// Promise is an algorithm's own bound on what any trailing window of an identity
// holds, what it held at most, and whether that is within the bound.
type Promise struct {
	MaxInWindow, Admitted int64
	Kept                  bool
}

// Lag is how late requests were sent, in real time: planned to sent. It is zero
// under the virtual clock.
type Lag struct{ P50, P99, Max time.Duration }

// Verdict is what is said about a limiter.
type Verdict string

// The verdicts, from best to worst.
const (
	Pass         Verdict = "pass"
	Inconclusive Verdict = "inconclusive"
	Fail         Verdict = "fail"
)

// Worse is the worse of two verdicts; the zero Verdict counts as Pass.
func (v Verdict) Worse(other Verdict) Verdict {
	rank := map[Verdict]int{Inconclusive: 1, Fail: 2}
	if rank[other] > rank[v] {
		return other
	}
	if v == "" {
		return Pass
	}
	return v
}

// Finding is one thing that was noticed, with its evidence.
type Finding struct {
	Check    string // name of a built-in check, or the text of a written one
	Phase    string
	Verdict  Verdict
	Warn     bool // does not change the verdict of the row
	Message  string
	Evidence []string
}

// Reason says in a stable code why something is inconclusive or was cut short,
// and what to do.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// NothingSent is the message of a check that holds only because nothing was sent: it is
// undecided, and the reason for that is told elsewhere.
const NothingSent = "nothing was sent"
