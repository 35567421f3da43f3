package report

import (
	"fmt"
	"slices"

	"github.com/rlbench/rlbench/report/chart"
	"github.com/rlbench/rlbench/scenarios"
)

// Envelope is the most that was admitted to one client in any interval of a length:
// Admitted[i] in SpanUS[i] microseconds. The spans grow, from a millisecond to two
// windows. Of several runs it is the highest. AtMost is the same as if all of unknown fate
// had been admitted when it was planned; absent if that changes nothing.
type Envelope struct {
	SpanUS   []int64 `json:"span_us"`
	Admitted []int64 `json:"admitted"`
	AtMost   []int64 `json:"at_most,omitempty"`
}

// Stretch is a part of a run in bins of BinUS, the first of which begins FromUS from the
// edge. What was admitted, denied and has failed (errored or unknown) is a count in
// each; PeakInWindow is the most admitted to one client in the trailing window of any
// instant of a bin, PeakAtMost the same as if all of unknown fate had been admitted, and
// LagUS the latest that a request was sent which was planned for it. A list that is absent
// is of nothing but zeros; PeakAtMost, if it is PeakInWindow.
type Stretch struct {
	FromUS       int64   `json:"from_us"`
	BinUS        int64   `json:"bin_us"`
	Bins         int     `json:"bins"`
	Admitted     []int64 `json:"admitted,omitempty"`
	Denied       []int64 `json:"denied,omitempty"`
	Failed       []int64 `json:"failed,omitempty"`
	PeakInWindow []int64 `json:"peak_in_window,omitempty"`
	PeakAtMost   []int64 `json:"peak_at_most,omitempty"`
	LagUS        []int64 `json:"lag_us,omitempty"`
}

// profiled sets how a run went over time.
func (row *Row) profiled(p *scenarios.Profile) {
	if p == nil {
		return
	}
	e := &Envelope{SpanUS: make([]int64, len(p.Envelope)), Admitted: make([]int64, len(p.Envelope)), AtMost: make([]int64, len(p.Envelope))}
	for i, b := range p.Envelope {
		e.SpanUS[i], e.Admitted[i], e.AtMost[i] = b.Span.Microseconds(), b.Admitted, b.AtMost
	}
	e.AtMost = unlike(e.AtMost, e.Admitted)
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
	peak := column(func(b scenarios.Bin) int64 { return b.Peak })
	return Stretch{
		FromUS: s.From.Microseconds(), BinUS: s.Width.Microseconds(), Bins: len(s.Bins),
		Admitted:     column(func(b scenarios.Bin) int64 { return b.Admitted }),
		Denied:       column(func(b scenarios.Bin) int64 { return b.Denied }),
		Failed:       column(func(b scenarios.Bin) int64 { return b.Failed }),
		PeakInWindow: peak,
		PeakAtMost:   unlike(column(func(b scenarios.Bin) int64 { return b.PeakAtMost }), peak),
		LagUS:        column(func(b scenarios.Bin) int64 { return b.Lag.Microseconds() }),
	}
}

// higherEnvelope is the higher of two at each span; nil if their spans differ.
func higherEnvelope(a, b *Envelope) *Envelope {
	if a == nil || b == nil || !slices.Equal(a.SpanUS, b.SpanUS) {
		return nil
	}
	e := &Envelope{SpanUS: a.SpanUS, Admitted: highest(a.Admitted, b.Admitted)}
	e.AtMost = unlike(highest(a.atMost(), b.atMost()), e.Admitted)
	return e
}

// points are a list of numbers over the spans.
func (e *Envelope) points(list []int64) []chart.Point {
	all := make([]chart.Point, len(list))
	for i, n := range list {
		all[i] = chart.Point{X: float64(e.SpanUS[i]), Y: float64(n)}
	}
	return all
}

// atMost is what may have been admitted in each span.
func (e *Envelope) atMost() []int64 {
	if e.AtMost == nil {
		return e.Admitted
	}
	return e.AtMost
}

// highest is the higher of two numbers at each place.
func highest(a, b []int64) []int64 {
	all := slices.Clone(a)
	for i := range all {
		all[i] = max(all[i], b[i])
	}
	return all
}

// unlike is a list, or nil if it equals another.
func unlike(list, other []int64) []int64 {
	if slices.Equal(list, other) {
		return nil
	}
	return list
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
		if len(e.SpanUS) != len(e.Admitted) || e.AtMost != nil && len(e.AtMost) != len(e.SpanUS) || !countable(e.AtMost) || len(e.SpanUS) > mostSpans || !slices.IsSorted(e.SpanUS) || len(e.SpanUS) > 0 && (e.SpanUS[0] <= 0 || e.SpanUS[len(e.SpanUS)-1] > mostMicros) || !countable(e.Admitted) {
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
		for _, list := range [][]int64{s.Admitted, s.Denied, s.Failed, s.PeakInWindow, s.PeakAtMost, s.LagUS} {
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
