package report

import (
	"errors"
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

// above is how many samples a tail percentile needs beyond it.
const above = 10

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

// byOutcome collects one kind of duration, split by outcome. A histogram is made
// when there is something to record: empty ones take 200 kB each, too.
type byOutcome struct{ admitted, denied *samples }

// of is where an outcome is recorded; nil for one that has no latency worth pooling.
func (b *byOutcome) of(o scenarios.Outcome) **samples {
	switch o {
	case scenarios.Admitted:
		return &b.admitted
	case scenarios.Denied:
		return &b.denied
	}
	return nil
}

// add records a request.
func (b *byOutcome) add(o scenarios.Outcome, d time.Duration) error {
	s := b.of(o)
	if s == nil {
		return nil
	}
	return addTo(s, d)
}

// addTo records a duration in samples that are made with the first.
func addTo(s **samples, d time.Duration) error {
	if *s == nil {
		*s = newSamples()
	}
	return (*s).add(d)
}

// merge adds what other samples were saved as.
func (b *byOutcome) merge(saved Outcomes) error {
	return errors.Join(mergeSaved(&b.admitted, saved.Admitted), mergeSaved(&b.denied, saved.Denied))
}

// outcomes summarises what was recorded.
func (b *byOutcome) outcomes() (Outcomes, error) {
	all := newSamples()
	for _, s := range []*samples{b.admitted, b.denied} {
		if s == nil {
			continue
		}
		if err := all.merge(s.histogram, s.clamped); err != nil {
			return Outcomes{}, err
		}
	}
	o := Outcomes{Admitted: b.admitted.latency(), Denied: b.denied.latency()}
	if o.Admitted != nil || o.Denied != nil {
		o.All = all.latency()
	}
	return o, nil
}

// saved is a summary with the samples themselves, which others can be merged with.
func (b *byOutcome) saved() (Outcomes, error) {
	o, err := b.outcomes()
	return o, errors.Join(err, save(o.Admitted, b.admitted), save(o.Denied, b.denied))
}

func save(l *Latency, s *samples) error {
	if l == nil {
		return nil
	}
	text, err := s.histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return fmt.Errorf("save a histogram: %w", err)
	}
	l.HDR = string(text)
	return nil
}

func mergeSaved(into **samples, l *Latency) error {
	if l == nil || l.Count == 0 {
		return nil
	}
	if l.HDR == "" {
		return errNoHistogram
	}
	h, err := hdrhistogram.Decode([]byte(l.HDR))
	if err != nil {
		return fmt.Errorf("read a histogram: %w", err)
	}
	if *into == nil {
		*into = newSamples()
	}
	return (*into).merge(h, l.Clamped)
}

// errNoHistogram is about a summary whose samples were not saved.
var errNoHistogram = errors.New("percentiles cannot be merged without their histograms")

func (s *samples) merge(h *hdrhistogram.Histogram, clamped int64) error {
	if dropped := s.histogram.Merge(h); dropped > 0 {
		return fmt.Errorf("merge histograms: %d samples are out of range", dropped)
	}
	s.clamped += clamped
	return nil
}
