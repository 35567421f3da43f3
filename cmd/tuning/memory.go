package tuning

import (
	"slices"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
)

// bytesOf is what one key of an algorithm takes with so many entries: measured, or between
// two that were, or above all in proportion to the last.
func bytesOf(measured []report.MeasuredKey, algorithm string, entries int64) float64 {
	m := pointsOf(measured, algorithm)
	if len(m) == 0 {
		return 0
	}
	i, exact := slices.BinarySearchFunc(m, entries, func(p report.MeasuredKey, n int64) int { return int(p.Entries - n) })
	switch {
	case exact || i == 0:
		return float64(m[i].Bytes)
	case i == len(m):
		last := m[i-1]
		if last.Entries <= 1 { // it does not grow
			return float64(last.Bytes)
		}
		return float64(last.Bytes) / float64(last.Entries) * float64(entries)
	}
	low, high := m[i-1], m[i]
	share := float64(entries-low.Entries) / float64(high.Entries-low.Entries)
	return float64(low.Bytes) + share*float64(high.Bytes-low.Bytes)
}

// scriptOf is how many microseconds a decision takes with up to so many entries: the
// slowest of those that were measured below, or the fastest.
func scriptOf(measured []report.MeasuredKey, algorithm string, entries int64) float64 {
	us := 0.0
	for i, p := range pointsOf(measured, algorithm) {
		if i == 0 || p.Entries <= entries {
			us = max(us, p.ScriptUS)
		}
	}
	return us
}

func pointsOf(measured []report.MeasuredKey, algorithm string) []report.MeasuredKey {
	var m []report.MeasuredKey
	for _, p := range measured {
		if p.Algorithm == algorithm {
			m = append(m, p)
		}
	}
	return m
}

// grows reports whether the state of a key grows with what it has admitted.
func grows(algorithm string) bool {
	a, _ := limiter.Named(algorithm)
	return a.Family() == limiter.Log.Name
}

// bytesTaken is what a Redis would hold of keys at the most, each with as many entries as it
// had at its own peak: rather more than at any one time.
func bytesTaken(measured []report.MeasuredKey, p *simulator.Policies, limit int64) int64 {
	if !grows(p.Algorithm) {
		return int64(float64(p.Keys) * bytesOf(measured, p.Algorithm, 1))
	}
	keys, sum := int64(0), 0.0
	for power, n := range p.Holdings.Most {
		if n > 0 {
			keys += n
			sum += float64(n) * bytesOf(measured, p.Algorithm, min(limit, int64(1)<<power))
		}
	}
	if keys == 0 {
		return 0
	}
	return int64(sum / float64(keys) * float64(p.Keys))
}

// smallEncoding is the limit up to which Redis keeps a log in the small encoding of a sorted
// set, if it is configured as it comes.
const smallEncoding = 128

// crossover compares a log with a counter below the edge of the small encoding and above.
func crossover(measured []report.MeasuredKey) (below, above float64) {
	counter := bytesOf(measured, limiter.Counter.Name, 1)
	if counter == 0 {
		return 0, 0
	}
	return bytesOf(measured, limiter.Log.Name, smallEncoding) / counter, bytesOf(measured, limiter.Log.Name, smallEncoding+1) / counter
}
