package report

import (
	"cmp"
	"math"

	"github.com/rlbench/rlbench/report/chart"
)

// distribution is a kind of duration and where samples of it are.
type distribution struct {
	name string
	of   func(*Row) *Latency
}

var (
	serviceAdmitted  = distribution{"service, admitted", func(r *Row) *Latency { return r.ServiceUS.Admitted }}
	serviceDenied    = distribution{"service, denied", func(r *Row) *Latency { return r.ServiceUS.Denied }}
	responseAdmitted = distribution{"response, admitted", func(r *Row) *Latency { return cmp.Or(r.ResponseUS, &Outcomes{}).Admitted }}
	responseDenied   = distribution{"response, denied", func(r *Row) *Latency { return cmp.Or(r.ResponseUS, &Outcomes{}).Denied }}
	lagOfAll         = distribution{"lag", func(r *Row) *Latency { return r.LagUS }}
)

// pooled are the samples of several distributions of a limiter over all its phases and
// runs; nil if there are none, or they were not saved.
func pooled(r *Report, sub pictured, of ...distribution) *samples {
	var all *samples
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Phase == "" || row.Run == 0 || row.subject() != sub.shown.subject() {
			continue
		}
		for _, d := range of {
			if err := mergeSaved(&all, d.of(row)); err != nil {
				return nil
			}
		}
	}
	return all
}

// percentilesOf is the picture of distributions: how long the fastest half took, the
// slowest in a hundred, in a thousand, and so on.
func percentilesOf(id, title, doc string, names []string, all []*samples) *chart.Chart {
	c := &chart.Chart{ID: id, Title: title, Doc: doc}
	least, most, count := math.Inf(1), 0.0, int64(0)
	for i, s := range all {
		if s == nil || s.histogram.TotalCount() == 0 {
			continue
		}
		n := s.histogram.TotalCount()
		line := chart.Line{Name: names[i], Style: i}
		for _, q := range ladder(n) {
			p := chart.Point{X: q, Y: math.Max(float64(min(s.histogram.ValueAtQuantile(q), s.histogram.Max())), 1)}
			line.Points = append(line.Points, p)
			least, most = min(least, p.Y), max(most, p.Y)
		}
		line.Label = chart.Clip(names[i], ", max "+roundMicros(s.histogram.Max()))
		count = max(count, n)
		c.Lines = append(c.Lines, line)
	}
	if len(c.Lines) == 0 {
		return nil
	}
	c.X = chart.Percentiles("percentile, as far as ten samples are above it", max(count/above, 2))
	c.Y = chart.Durations("time", least*0.9, most*1.1, microseconds)
	c.Y.Tick = inWords
	return c
}

// ladder are the percentiles of n samples that are drawn: twelve for each nine, up to the
// last that has samples enough above it, or the median.
func ladder(n int64) []float64 {
	const perNine = 12
	nines := math.Min(math.Log10(math.Max(float64(n)/above, 2)), 6)
	var all []float64
	for k := range int(nines * perNine) {
		all = append(all, 100*(1-math.Pow(10, -float64(k)/perNine)))
	}
	return append(all, 100*(1-math.Pow(10, -nines)))
}
