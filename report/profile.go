package report

import (
	"fmt"
	"slices"

	"github.com/rlbench/rlbench/scenarios"
)

// Envelope is the most that was admitted to one client in any interval of a length:
// Admitted[i] in SpanUS[i] microseconds. The spans grow, from a millisecond to two
// windows. Of several runs it is the highest.
type Envelope struct {
	SpanUS   []int64 `json:"span_us"`
	Admitted []int64 `json:"admitted"`
}

// Stretch is a part of a run in bins of BinUS, the first of which begins FromUS from the
// edge. What was admitted, denied and has failed (errored or unknown) is a count in
// each; PeakInWindow is the most admitted to one client in the trailing window of any
// instant of a bin, and LagUS the latest that a request was sent which was planned for
// it. A list that is absent is of nothing but zeros.
type Stretch struct {
	FromUS       int64   `json:"from_us"`
	BinUS        int64   `json:"bin_us"`
	Bins         int     `json:"bins"`
	Admitted     []int64 `json:"admitted,omitempty"`
	Denied       []int64 `json:"denied,omitempty"`
	Failed       []int64 `json:"failed,omitempty"`
	PeakInWindow []int64 `json:"peak_in_window,omitempty"`
	LagUS        []int64 `json:"lag_us,omitempty"`
}

// profiled sets how a run went over time.
func (row *Row) profiled(p *scenarios.Profile) {
	if p == nil {
		return
	}
	e := &Envelope{SpanUS: make([]int64, len(p.Envelope)), Admitted: make([]int64, len(p.Envelope))}
	for i, b := range p.Envelope {
		e.SpanUS[i], e.Admitted[i] = b.Span.Microseconds(), b.Admitted
	}
	row.Envelope = e
	for _, s := range p.Timeline {
		row.Timeline = append(row.Timeline, stretchOf(s))
	}
}

func stretchOf(s scenarios.Stretch) Stretch {
	column := func(of func(scenarios.Bin) int64) []int64 {
		all := make([]int64, len(s.Bins))
		for i, b := range s.Bins {
			all[i] = of(b)
		}
		if !slices.ContainsFunc(all, func(n int64) bool { return n != 0 }) {
			return nil
		}
		return all
	}
	return Stretch{
		FromUS: s.From.Microseconds(), BinUS: s.Width.Microseconds(), Bins: len(s.Bins),
		Admitted:     column(func(b scenarios.Bin) int64 { return b.Admitted }),
		Denied:       column(func(b scenarios.Bin) int64 { return b.Denied }),
		Failed:       column(func(b scenarios.Bin) int64 { return b.Failed }),
		PeakInWindow: column(func(b scenarios.Bin) int64 { return b.Peak }),
		LagUS:        column(func(b scenarios.Bin) int64 { return b.Lag.Microseconds() }),
	}
}

// higherEnvelope is the higher of two at each span; nil if their spans differ.
func higherEnvelope(a, b *Envelope) *Envelope {
	if a == nil || b == nil || !slices.Equal(a.SpanUS, b.SpanUS) {
		return nil
	}
	e := &Envelope{SpanUS: a.SpanUS, Admitted: slices.Clone(a.Admitted)}
	for i := range e.Admitted {
		e.Admitted[i] = max(e.Admitted[i], b.Admitted[i])
	}
	return e
}

// at is a number of a list that may be absent.
func at(list []int64, i int) int64 {
	if list == nil {
		return 0
	}
	return list[i]
}

// Far more than a profile is written with: results come from files, and a picture of a
// few bytes of them has to end.
const (
	mostBins      = 1000
	mostStretches = 16
	mostSpans     = 1000
	mostMicros    = 1 << 49 // from the edge, seventeen years
	mostCount     = 1 << 40
)

// sound refuses a profile whose lists do not belong together, or hold what nobody counts.
func (row *Row) sound() error {
	if e := row.Envelope; e != nil {
		if len(e.SpanUS) != len(e.Admitted) || len(e.SpanUS) > mostSpans || !slices.IsSorted(e.SpanUS) || len(e.SpanUS) > 0 && (e.SpanUS[0] <= 0 || e.SpanUS[len(e.SpanUS)-1] > mostMicros) || !countable(e.Admitted) {
			return fmt.Errorf("the envelope of %s under %s has %d spans and %d counts, its spans do not grow, or it is of no counts", row.Limiter, row.Scenario, len(e.SpanUS), len(e.Admitted))
		}
	}
	if len(row.Timeline) > mostStretches {
		return fmt.Errorf("the timeline of %s under %s has %d stretches, want at most %d", row.Limiter, row.Scenario, len(row.Timeline), mostStretches)
	}
	for _, s := range row.Timeline {
		if s.BinUS <= 0 || s.BinUS > mostMicros/mostBins || s.Bins < 1 || s.Bins > mostBins || s.FromUS < -mostMicros || s.FromUS > mostMicros {
			return fmt.Errorf("the timeline of %s under %s has %d bins of %d µs from %d µs on", row.Limiter, row.Scenario, s.Bins, s.BinUS, s.FromUS)
		}
		for _, list := range [][]int64{s.Admitted, s.Denied, s.Failed, s.PeakInWindow, s.LagUS} {
			if list != nil && len(list) != s.Bins || !countable(list) {
				return fmt.Errorf("the timeline of %s under %s has %d bins, and a list of %d or of no counts", row.Limiter, row.Scenario, s.Bins, len(list))
			}
		}
	}
	return nil
}

// countable reports whether numbers can be counts, or times of a run.
func countable(list []int64) bool {
	return !slices.ContainsFunc(list, func(n int64) bool { return n < 0 || n > mostCount })
}
