package chart

import (
	"math"
	"time"
)

// Axis is one of the two axes.
type Axis struct {
	Label string
	Scale Scale
	// Min and Max are its ends; of a logarithmic one both are positive.
	Min, Max float64
	// Ticks are the values that are written beside it.
	Ticks []float64
	// Format writes a value; nil writes nothing. Tick does so beside the axis, where it
	// has to be short; nil is Format.
	Format, Tick func(float64) string
}

// Scale is how values are spread over an axis.
type Scale int

// The scales. Nines is for percentiles: 90, 99, 99.9 are equally far apart.
const (
	Linear Scale = iota
	Log
	Nines
)

// mostNines is where the Nines scale ends, as six nines.
const mostNines = 6

// at is where a value is on the scale, in its own units.
func (s Scale) at(v float64) float64 {
	switch s {
	case Log:
		return math.Log10(max(v, 1e-300))
	case Nines:
		return min(-math.Log10(max(1-v/100, 1e-300)), mostNines)
	}
	return v
}

// share is how far along the axis a value is, from 0 to 1. Beyond its ends it stays at
// them.
func (a Axis) share(v float64) float64 {
	low, high := a.Scale.at(a.Min), a.Scale.at(a.Max)
	if !(high > low) {
		return 0
	}
	return min(max((a.Scale.at(v)-low)/(high-low), 0), 1)
}

func (a Axis) tick(v float64) string {
	if a.Tick == nil {
		return a.format(v)
	}
	return a.Tick(v)
}

func (a Axis) format(v float64) string {
	if a.Format == nil {
		return ""
	}
	return a.Format(v)
}

// Counts is an axis of whole numbers from zero to at least the largest.
func Counts(label string, largest float64, format func(float64) string) Axis {
	step := math.Max(nice(largest/4), 1)
	top := math.Max(math.Ceil(largest/step), 1) * step
	a := Axis{Label: label, Max: top, Format: format}
	for v := 0.0; v <= top+step/2; v += step {
		a.Ticks = append(a.Ticks, v)
	}
	return a
}

// Decades is a logarithmic axis of positive numbers, such as counts that differ by far.
func Decades(label string, least, most float64, format func(float64) string) Axis {
	least = math.Max(least, 1)
	if !(most > least) {
		least, most = math.Max(least/2, 1), least*2
	}
	a := Axis{Label: label, Scale: Log, Min: least, Max: most, Format: format}
	for _, steps := range [][]float64{{1}, {1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 6, 8}} { // as few as tell enough
		a.Ticks = nil
		for decade := math.Pow(10, math.Floor(math.Log10(least))); decade <= most; decade *= 10 {
			for _, n := range steps {
				if v := decade * n; v >= least*(1-1e-9) && v <= most*(1+1e-9) {
					a.Ticks = append(a.Ticks, v)
				}
			}
		}
		if len(a.Ticks) > 2 {
			break
		}
	}
	return a
}

// nice is the least of 1, 2 and 5 times a power of ten that is no less than v.
func nice(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	scale := math.Pow(10, math.Floor(math.Log10(v)))
	for _, n := range []float64{1, 2, 5} {
		if n*scale >= v*(1-1e-9) {
			return n * scale
		}
	}
	return 10 * scale
}

// round are durations that people count in, from a microsecond to a quarter of a year.
var round = func() []time.Duration {
	var all []time.Duration
	for unit := time.Microsecond; unit <= time.Second; unit *= 10 {
		all = append(all, unit, 2*unit, 5*unit)
	}
	for _, unit := range []time.Duration{time.Second, time.Minute} {
		all = append(all, 10*unit, 15*unit, 30*unit)
		if unit == time.Second {
			all = append(all, time.Minute, 2*time.Minute, 5*time.Minute)
		}
	}
	const day = 24 * time.Hour
	return append(all, time.Hour, 2*time.Hour, 6*time.Hour, 12*time.Hour, day, 2*day, 7*day, 14*day, 30*day, 90*day)
}()

// whole are those of them that stand alone on a logarithmic axis.
var whole = map[time.Duration]bool{
	time.Microsecond: true, 10 * time.Microsecond: true, 100 * time.Microsecond: true,
	time.Millisecond: true, 10 * time.Millisecond: true, 100 * time.Millisecond: true,
	time.Second: true, 10 * time.Second: true, time.Minute: true, 10 * time.Minute: true,
	time.Hour: true, 24 * time.Hour: true, 7 * 24 * time.Hour: true,
}

// Times is a linear axis of instants in microseconds.
func Times(label string, least, most float64, format func(float64) string) Axis {
	if !(most > least) {
		least, most = least-1, least+1
	}
	a := Axis{Label: label, Min: least, Max: most, Format: format}
	step := (most - least) / 7
	for _, d := range round {
		if us := float64(d.Microseconds()); us >= step {
			step = us
			break
		}
	}
	if biggest := float64(round[len(round)-1].Microseconds()); step > biggest {
		step = nice(step)
	}
	first := math.Ceil(least / step)
	for k := range max(0, int(math.Floor(most/step)-first)+1) { // a small step may not change a large number
		a.Ticks = append(a.Ticks, (first+float64(k))*step)
	}
	return a
}

// Durations is a logarithmic axis of lengths of time in microseconds.
func Durations(label string, least, most float64, format func(float64) string) Axis {
	least = math.Max(least, 1)
	if !(most > least) {
		least, most = least/2, least*2
	}
	a := Axis{Label: label, Scale: Log, Min: least, Max: most, Format: format}
	for _, few := range []bool{true, false} {
		a.Ticks = nil
		for _, d := range round {
			us := float64(d.Microseconds())
			if us >= least*(1-1e-9) && us <= most*(1+1e-9) && (whole[d] || !few) {
				a.Ticks = append(a.Ticks, us)
			}
		}
		if len(a.Ticks) > 2 {
			break
		}
	}
	return a
}

// Percentiles is an axis from the least to the largest sample of n, of which each further
// nine takes equal room.
func Percentiles(label string, n int64) Axis {
	top := min(math.Log10(math.Max(float64(n), 10)), mostNines)
	a := Axis{Label: label, Scale: Nines, Max: 100 * (1 - math.Pow(10, -top)), Format: formatPercentile}
	for _, q := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999} {
		if q <= a.Max*(1+1e-12) {
			a.Ticks = append(a.Ticks, q)
		}
	}
	return a
}
