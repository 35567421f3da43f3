package report

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// Timings are how long the requests of a run took: a few kilobytes for each phase,
// however many requests there were, so that results need not be kept until the report.
type Timings struct {
	rows []timed // of the whole scenario, and of each phase
}

// timed are the histograms of some requests, encoded; nil where there are none.
type timed struct {
	service, response [outcomeKinds]encoded
}

// encoded is a histogram that nobody records in for now.
type encoded struct {
	histogram []byte
	clamped   int64
}

// Time takes the times of results. results.At(i) belongs to p.Arrivals[i].
func Time(p *scenarios.Plan, results scenarios.Results) (*Timings, error) {
	rows := make([]recording, 1+len(p.Phases))
	for i, r := range results.All() {
		if r.Decision.Source == limiter.SourceEdge {
			continue // who is denied in front does not meet the limiter
		}
		for _, row := range []int{0, 1 + int(p.Arrivals[i].Phase)} {
			if err := rows[row].add(&r, p.Clock != scenarios.Virtual); err != nil {
				return nil, err
			}
		}
	}
	t := &Timings{rows: make([]timed, len(rows))}
	for i := range rows {
		var err error
		if t.rows[i].service, err = rows[i].service.encode(); err != nil {
			return nil, err
		}
		if t.rows[i].response, err = rows[i].response.encode(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// recording is a row that is being recorded.
type recording struct{ service, response byOutcome }

func (r *recording) add(result *scenarios.Result, realTime bool) error {
	if err := r.service.add(result.Outcome, result.Done-result.Sent); err != nil || !realTime {
		return err
	}
	return r.response.add(result.Outcome, result.Done-result.Planned)
}

func (b *byOutcome) encode() (all [outcomeKinds]encoded, err error) {
	for i, s := range b {
		if s == nil {
			continue
		}
		all[i].clamped = s.clamped
		if all[i].histogram, err = s.histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err != nil {
			return all, fmt.Errorf("keep a histogram: %w", err)
		}
	}
	return all, nil
}

// merge adds encoded histograms.
func (b *byOutcome) merge(all [outcomeKinds]encoded) error {
	for i, e := range all {
		if e.histogram == nil {
			continue
		}
		h, err := hdrhistogram.Decode(e.histogram)
		if err != nil {
			return fmt.Errorf("read a histogram again: %w", err)
		}
		if dropped := b.kind(i).histogram.Merge(h); dropped > 0 {
			return fmt.Errorf("merge histograms: %d samples are out of range", dropped)
		}
		b[i].clamped += e.clamped
	}
	return nil
}

// time fills in the latencies of some runs.
func (row *Row) time(cases []*Case, phase int) error {
	var service, response byOutcome
	for _, c := range cases {
		t := c.Timings.rows[1+phase]
		if err := service.merge(t.service); err != nil {
			return err
		}
		if err := response.merge(t.response); err != nil {
			return err
		}
	}
	row.ServiceUS = service.outcomes()
	if cases[0].Plan.Clock != scenarios.Virtual {
		outcomes := response.outcomes()
		row.ResponseUS = &outcomes
	}
	return nil
}
