package oracle

import (
	"cmp"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
)

// shortShare is the part of a window in which bursts are looked for.
const shortShare = 30

// decided is one decision, in the order of time.
type decided struct {
	at       int64 // microseconds
	cost     int64
	admitted bool
	phase    int32
}

// measure counts outcomes, peaks and wrong decisions, for the whole scenario
// and for each phase.
func measure(c *Case) *scenarios.Judgement {
	limit := c.Plan.Limit
	short := max(limit.Window/shortShare, time.Microsecond).Truncate(time.Microsecond)
	j := &scenarios.Judgement{Verdict: scenarios.Pass, Phases: make([]scenarios.PhaseMeasures, len(c.Plan.Phases))}
	all := []*scenarios.Measures{&j.Measures}
	for i := range j.Phases {
		all = append(all, &j.Phases[i].Measures)
	}
	for _, m := range all {
		m.Limit, m.ShortSpan = limit.Max, short
	}

	byKey := make([][]decided, c.Plan.Keys)
	for i, result := range c.Results {
		arrival := c.Plan.Arrivals[i]
		count(&j.Measures, result.Outcome)
		count(&j.Phases[arrival.Phase].Measures, result.Outcome)
		if result.Outcome == scenarios.Admitted || result.Outcome == scenarios.Denied {
			landed(&j.Phases[arrival.Phase], result.Decision.At.Sub(c.Edge))
			byKey[arrival.Key] = append(byKey[arrival.Key], decided{
				at: result.Decision.At.UnixMicro(), cost: arrival.Cost,
				admitted: result.Outcome == scenarios.Admitted, phase: arrival.Phase,
			})
		}
	}
	for _, history := range byKey {
		// Of one instant, admissions come first: whoever was refused then is
		// not counted as wrong because of the order within a microsecond.
		slices.SortStableFunc(history, func(a, b decided) int {
			return cmp.Or(cmp.Compare(a.at, b.at), compareBool(b.admitted, a.admitted))
		})
		accuracy(history, limit, j)
		for i, m := range all {
			mine := admissions(history, int32(i-1))
			m.PeakInWindow = max(m.PeakInWindow, peak(mine, limit.Window))
			m.PeakInShort = max(m.PeakInShort, peak(mine, short))
		}
	}
	j.Lag = lag(c)
	return j
}

// landed widens the stretch in which the decisions of a phase fell.
func landed(p *scenarios.PhaseMeasures, at time.Duration) {
	if p.Admitted+p.Denied == 1 {
		p.First, p.Last = at, at
	}
	p.First, p.Last = min(p.First, at), max(p.Last, at)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func count(m *scenarios.Measures, o scenarios.Outcome) {
	m.Planned++
	switch o {
	case scenarios.Admitted:
		m.Admitted++
	case scenarios.Denied:
		m.Denied++
	case scenarios.Errored:
		m.Errored++
	case scenarios.Unknown:
		m.Unknown++
	case scenarios.Missed:
		m.Missed++
	}
}

// admissions of one phase, or of all for a negative phase.
func admissions(history []decided, phase int32) []decided {
	var admitted []decided
	for _, d := range history {
		if d.admitted && (phase < 0 || d.phase == phase) {
			admitted = append(admitted, d)
		}
	}
	return admitted
}

// peak is the most units in any trailing window (t-span, t] of admissions that
// are sorted by time. It is enough to look at windows that end at an admission.
func peak(admitted []decided, span time.Duration) int64 {
	var units, most int64
	oldest := 0
	for _, d := range admitted {
		units += d.cost
		for admitted[oldest].at <= d.at-span.Microseconds() {
			units -= admitted[oldest].cost
			oldest++
		}
		most = max(most, units)
	}
	return most
}

// accuracy replays a key's history against an exact trailing window over its
// own admissions and counts the decisions that an exact limiter would not have
// made in that place.
func accuracy(history []decided, limit limiter.Limit, j *scenarios.Judgement) {
	var units int64
	var live []decided
	for _, d := range history {
		for len(live) > 0 && live[0].at <= d.at-limit.Window.Microseconds() {
			units -= live[0].cost
			live = live[1:]
		}
		fits := units+d.cost <= limit.Max
		switch {
		case d.admitted && !fits:
			j.Measures.WrongAdmissions++
			j.Phases[d.phase].WrongAdmissions++
		case !d.admitted && fits:
			j.Measures.WrongDenials++
			j.Phases[d.phase].WrongDenials++
		}
		if d.admitted {
			units += d.cost
			live = append(live, d)
		}
	}
}

// lag sorts how late requests were. Under the virtual clock nothing is late.
func lag(c *Case) scenarios.Lag {
	if c.Plan.Clock == scenarios.Virtual {
		return scenarios.Lag{}
	}
	var late []time.Duration
	for _, r := range c.Results {
		if r.Outcome != scenarios.Missed {
			late = append(late, max(r.Sent-r.Planned, 0))
		}
	}
	if len(late) == 0 {
		return scenarios.Lag{}
	}
	slices.Sort(late)
	at := func(q int) time.Duration { return late[(len(late)-1)*q/100] }
	return scenarios.Lag{P50: at(50), P99: at(99), Max: late[len(late)-1]}
}
