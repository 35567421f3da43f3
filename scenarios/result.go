package scenarios

import (
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// Outcome is what became of a planned request.
type Outcome uint8

// The outcomes. They are disjoint and sum to planned.
const (
	// Missed was never sent.
	Missed Outcome = iota
	// Admitted and Denied were decided.
	Admitted
	Denied
	// Errored was certainly not counted.
	Errored
	// Unknown was sent, and nobody knows whether it was counted.
	Unknown
)

// OutcomeOf is the outcome of a request that was decided.
func OutcomeOf(d limiter.Decision) Outcome {
	if d.Allowed {
		return Admitted
	}
	return Denied
}

// Decided reports whether it is one of a decision, whoever made it.
func (o Outcome) Decided() bool { return o == Admitted || o == Denied }

// Result is what is known about one planned request.
type Result struct {
	// Planned, Sent and Done are offsets from the start of the run by the
	// runner's monotonic clock. Under the virtual clock nothing is planned in
	// real time and Planned is zero.
	Planned, Sent, Done time.Duration
	Outcome             Outcome
	// Decision is set when Admitted or Denied; its At is the instant that
	// decided.
	Decision limiter.Decision
	// Err is set when Errored or Unknown.
	Err error
}
