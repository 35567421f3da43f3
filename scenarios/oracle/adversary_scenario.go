package oracle

import (
	"fmt"
	"strings"
	"time"
)

// Scenario is the attack as a scenario file that expects Found of the algorithm.
// The name has to be fit for a scenario. Files hold limits of at least
// limiter.MinWindow, so an attack on a shorter window cannot be read back.
func (a Attack) Scenario(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nname: %s\n", name)
	fmt.Fprintf(&b, "description: %d units within one window at a limit of %d; %d are claimed.\n", a.Found, a.Limit.Max, a.Claimed)
	fmt.Fprintf(&b, "limit: %s\nclock: virtual\nphases:\n", a.Limit)
	for i, run := range runs(merged(a.Steps)) {
		fmt.Fprintf(&b, "  - {name: step-%d, at: %s, %s", i+1, instant(run.first.At), run.shape())
		if cost := run.first.request(); cost > 1 {
			fmt.Fprintf(&b, ", cost: %d", cost)
		}
		b.WriteString("}\n")
	}
	b.WriteString("checks:\n  - {")
	if a.Algorithm != "" {
		fmt.Fprintf(&b, "algorithm: %s, ", a.Algorithm)
	}
	fmt.Fprintf(&b, "metric: peak_in_window, op: \"==\", value: %d}\n", a.Found)
	return b.String()
}

// merged joins neighbours of one instant and cost. A denial changes nothing, so
// the model admits as many of them together.
func merged(steps []Step) []Step {
	var all []Step
	for _, s := range steps {
		if n := len(all) - 1; n >= 0 && all[n].At == s.At && all[n].request() == s.request() {
			all[n].Offered += s.Offered
			all[n].Admitted += s.Admitted
			continue
		}
		all = append(all, s)
	}
	return all
}

// run is a number of alike steps in equal distances; the distance of a single one
// is 0.
type run struct {
	first Step
	times int64
	every time.Duration
}

// runs cuts steps into as few runs as a glance can find. Only single requests
// form longer ones: spread evenly they are one phase.
func runs(steps []Step) []run {
	var all []run
	for len(steps) > 0 {
		r := run{first: steps[0], times: 1}
		for int(r.times) < len(steps) && r.takes(steps[r.times-1], steps[r.times]) {
			r.every = steps[r.times].At - steps[r.times-1].At
			r.times++
		}
		if r.times < 3 {
			r = run{first: steps[0], times: 1} // two could as well begin the next run
		}
		all, steps = append(all, r), steps[r.times:]
	}
	return all
}

func (r run) takes(last, next Step) bool {
	return last.Offered == 1 && next.Offered == 1 && next.request() == last.request() && next.At > last.At &&
		(r.times == 1 || next.At-last.At == r.every)
}

// shape is the part of a phase that says how its requests are spread. A constant
// phase whose length is a multiple of its count spreads exactly.
func (r run) shape() string {
	if r.times == 1 {
		return fmt.Sprintf("shape: burst, count: %d", r.first.Offered)
	}
	return fmt.Sprintf("for: %dus, shape: constant, count: %d", r.every.Microseconds()*r.times, r.times)
}

// instant is an offset in the words of a scenario.
func instant(at time.Duration) string {
	us := at.Microseconds()
	switch {
	case us < 0:
		return fmt.Sprintf("edge - %dus", -us)
	case us > 0:
		return fmt.Sprintf("edge + %dus", us)
	}
	return "edge"
}
