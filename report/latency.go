package report

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rlbench/rlbench/scenarios"
)

// The range of the histograms in microseconds, at 3 digits: an error of at most
// one in a thousand.
const (
	lowestUS  = 1
	highestUS = int64(10 * time.Minute / time.Microsecond)
	digits    = 3
)

// samples collects durations of one kind.
type samples struct {
	histogram *hdrhistogram.Histogram
	clamped   int64
}

func newSamples() *samples {
	return &samples{histogram: hdrhistogram.New(lowestUS, highestUS, digits)}
}

// add records a duration. What is out of range is recorded at the end of the
// range and counted, never dropped.
func (s *samples) add(d time.Duration) error {
	us := max(d.Round(time.Microsecond).Microseconds(), 0)
	if us > highestUS {
		us = highestUS
		s.clamped++
	}
	if err := s.histogram.RecordValue(us); err != nil {
		return fmt.Errorf("record %s in a histogram: %w", d, err)
	}
	return nil
}

// latency summarises the samples; nil if there are none.
func (s *samples) latency() *Latency {
	if s == nil {
		return nil
	}
	n := s.histogram.TotalCount()
	longest := s.histogram.Max()
	quantile := func(q float64) *int64 {
		const above = 10 // samples that a tail percentile needs beyond it
		if q > 50 && float64(n)*(100-q) < above*100-1e-6 {
			return nil
		}
		v := min(s.histogram.ValueAtQuantile(q), longest)
		return &v
	}
	return &Latency{
		Count: n, P50: quantile(50), P90: quantile(90), P95: quantile(95),
		P99: quantile(99), P999: quantile(99.9), Max: &longest, Clamped: s.clamped,
	}
}

// The histograms of one kind of duration.
const (
	allOutcomes = iota
	admittedOnly
	deniedOnly
	outcomeKinds
)

// byOutcome collects one kind of duration, split by outcome. A histogram is made
// when there is something to record: empty ones take 200 kB each, too.
type byOutcome [outcomeKinds]*samples

func (b *byOutcome) kind(i int) *samples {
	if b[i] == nil {
		b[i] = newSamples()
	}
	return b[i]
}

// add records a decided request; others have no latency worth pooling.
func (b *byOutcome) add(o scenarios.Outcome, d time.Duration) error {
	one := admittedOnly
	switch o {
	case scenarios.Admitted:
	case scenarios.Denied:
		one = deniedOnly
	default:
		return nil
	}
	if err := b.kind(allOutcomes).add(d); err != nil {
		return err
	}
	return b.kind(one).add(d)
}

func (b *byOutcome) outcomes() Outcomes {
	return Outcomes{All: b[allOutcomes].latency(), Admitted: b[admittedOnly].latency(), Denied: b[deniedOnly].latency()}
}
