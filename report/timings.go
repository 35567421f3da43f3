package report

import (
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// Timings are how long the requests of a run took: a few kilobytes for each phase,
// however many requests there were, so that results need not be kept until the report.
type Timings struct{ phases []timed }

// timed are the times of a phase, with their histograms; response and lag are nil under
// the virtual clock.
type timed struct {
	service  Outcomes
	response *Outcomes
	policy   *Latency
	lag      *Latency
}

// Time takes the times of results. results.At(i) belongs to p.Arrivals[i].
func Time(p *scenarios.Plan, results scenarios.Results) (*Timings, error) {
	phases := make([]recording, len(p.Phases))
	realTime := p.Clock != scenarios.Virtual
	for i, r := range results.All() {
		phase := &phases[p.Arrivals[i].Phase]
		if realTime && r.Outcome != scenarios.Missed {
			if err := phase.late(r.Sent - r.Planned); err != nil {
				return nil, err
			}
		}
		if r.Decision.Source == limiter.SourceEdge {
			continue // who is denied in front does not meet the limiter
		}
		if err := phase.add(&r, realTime); err != nil {
			return nil, err
		}
	}
	t := &Timings{phases: make([]timed, len(phases))}
	for i := range phases {
		var err error
		if t.phases[i].service, err = phases[i].service.saved(); err != nil {
			return nil, err
		}
		t.phases[i].policy = phases[i].policy.latency()
		if err = save(t.phases[i].policy, phases[i].policy); err != nil {
			return nil, err
		}
		if !realTime {
			continue
		}
		response, err := phases[i].response.saved()
		if err != nil {
			return nil, err
		}
		t.phases[i].response, t.phases[i].lag = &response, phases[i].lag.latency()
		if err := save(t.phases[i].lag, phases[i].lag); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// recording is a phase that is being recorded.
type recording struct {
	service, response byOutcome
	policy, lag       *samples // made when there is something to record
}

func (r *recording) late(d time.Duration) error { return addTo(&r.lag, d) }

// add records a request. What the failure policy decides, often without asking Redis,
// would hide how fast the limiter is.
func (r *recording) add(result *scenarios.Result, realTime bool) error {
	var err error
	if result.Outcome.Decided() && byPolicy(result.Decision.Source) {
		err = addTo(&r.policy, result.Done-result.Sent)
	} else {
		err = r.service.add(result.Outcome, result.Done-result.Sent)
	}
	if err != nil || !realTime {
		return err
	}
	return r.response.add(result.Outcome, result.Done-result.Planned)
}

func byPolicy(s limiter.Source) bool {
	return s == limiter.SourceFailOpen || s == limiter.SourceFailClosed || s == limiter.SourceLocal
}
