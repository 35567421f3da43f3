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
	at       int64 // true time, microseconds
	cost     int64
	admitted bool
	phase    int32
	// elsewhere says that the limiter itself was not asked.
	elsewhere bool
}

// measure counts outcomes, peaks and wrong decisions, for the whole scenario
// and for each phase. Clients are told apart by key, whatever their pseudonyms;
// the highest peaks of one identity are returned beside.
func measure(c *Case) (j *scenarios.Judgement, perIdentity peaks) {
	limit := c.Plan.Limit
	short := max(limit.Window/shortShare, time.Microsecond).Truncate(time.Microsecond)
	j = &scenarios.Judgement{Verdict: scenarios.Pass, Phases: make([]scenarios.PhaseMeasures, len(c.Plan.Phases))}
	all := []*scenarios.Measures{&j.Measures}
	for i := range j.Phases {
		all = append(all, &j.Phases[i].Measures)
	}
	for i, m := range all {
		m.Limit, m.ShortSpan = limit.Max, short
		if i > 0 {
			m.Limit = c.Plan.Phases[i-1].Limit.Max
		}
	}
	j.Measures.Examined = c.Examined
	certain := limit.Window - vague(c)
	requests, unknown := tally(c, j)
	var history []decided
	for key := range requests {
		history = decisions(c, requests[key], history[:0])
		inOrder(history)
		accuracy(history, c.Plan, j)
		for i, m := range all {
			mine := admissions(history, int32(i-1))
			most := peak(mine, limit.Window)
			m.PeakInWindow = max(m.PeakInWindow, most)
			m.PeakAtMost = max(m.PeakAtMost, most+unknown[keyAndPhase{int32(key), int32(i - 1)}])
			m.PeakInShort = max(m.PeakInShort, peak(mine, short))
		}
		for _, own := range byIdentity(c, history) {
			perIdentity.most = max(perIdentity.most, peak(own, limit.Window))
			perIdentity.sure = max(perIdentity.sure, peak(own, certain))
		}
	}
	j.Measures.StateLost = int64(len(losses(c)))
	j.Measures.Recovery, j.Measures.Overcounted, j.Measures.LostTail = recovery(c), overcounted(c), lostTail(c)
	j.Measures.Capacity = capacityOf(c)
	crowds(c, all, short)
	times(c, all)
	j.Lag = lag(c)
	return j, perIdentity
}

// keyAndPhase is a key in a phase, or in all of them for a negative one.
type keyAndPhase struct{ key, phase int32 }

// tally counts outcomes and returns the places of the decided requests of each key, and the
// units of those of unknown fate.
func tally(c *Case, j *scenarios.Judgement) (byKey [][]int32, unknown map[keyAndPhase]int64) {
	byKey, unknown = make([][]int32, c.Plan.Keys), map[keyAndPhase]int64{}
	for i, result := range c.Results.All() {
		arrival := c.Plan.Arrivals[i]
		phase := &j.Phases[arrival.Phase]
		for _, m := range []*scenarios.Measures{&j.Measures, &phase.Measures} {
			count(m, result, arrival.Cost)
			if (result.Outcome == scenarios.Errored || result.Outcome == scenarios.Unknown) && onPurpose(c, result) {
				m.Excused++
			}
			if c.Plan.Phases[arrival.Phase].RetryOf == "" {
				m.Wanted++
			}
		}
		if result.Outcome == scenarios.Unknown {
			unknown[keyAndPhase{arrival.Key, -1}] += arrival.Cost
			unknown[keyAndPhase{arrival.Key, arrival.Phase}] += arrival.Cost
		}
		if !result.Outcome.Decided() {
			continue
		}
		at := trueTime(c, arrival, result)
		landed(phase, at.Sub(c.Edge))
		admitted := result.Outcome == scenarios.Admitted
		if admitted {
			admittedAt(&j.Measures, at.Sub(c.Edge))
			admittedAt(&phase.Measures, at.Sub(c.Edge))
		}
		byKey[arrival.Key] = append(byKey[arrival.Key], int32(i))
	}
	// What clients wanted, whether or not they came to send it.
	j.Measures.Wanted = 0
	for i, p := range c.Plan.Phases {
		m := &j.Phases[i].Measures
		m.Wanted = max(m.Wanted, p.Wanted)
		j.Measures.Wanted += m.Wanted
	}
	return byKey, unknown
}

// decisions appends what is known of the decided requests in these places.
func decisions(c *Case, places []int32, history []decided) []decided {
	for _, i := range places {
		result, arrival := c.Results.At(int(i)), c.Plan.Arrivals[i]
		history = append(history, decided{
			at: trueTime(c, arrival, result).UnixMicro(), cost: arrival.Cost, admitted: result.Outcome == scenarios.Admitted,
			phase: arrival.Phase, elsewhere: elsewhere(result),
		})
	}
	return history
}

// inOrder sorts by time. Of one instant, admissions come first: whoever was refused then
// is not counted as wrong because of the order within a microsecond.
func inOrder(history []decided) {
	slices.SortStableFunc(history, func(a, b decided) int {
		return cmp.Or(cmp.Compare(a.at, b.at), compareBool(b.admitted, a.admitted))
	})
}

// trueTime is when a decision was made by the one true clock: a caller's stamp
// is off by its clock's skew.
func trueTime(c *Case, a scenarios.Arrival, r scenarios.Result) time.Time {
	if c.Plan.Clock == scenarios.Server {
		return r.Decision.At
	}
	return r.Decision.At.Add(-c.Plan.Phases[a.Phase].Skew)
}

// peaks are the most units in a window of one identity: as far as is known, and
// at the least.
type peaks struct{ most, sure int64 }

// vague is how far two instants can be further apart than they seem: where a
// limiter decides by its own clock and does not tell it, each is only known to be
// between sending and reply.
func vague(c *Case) time.Duration {
	longest := time.Duration(0)
	if c.Tells.At || c.Plan.Clock != scenarios.Server {
		return 0
	}
	for _, r := range c.Results.All() {
		if r.Outcome == scenarios.Admitted {
			longest = max(longest, r.Done-r.Sent)
		}
	}
	return longest
}

// byIdentity splits what the limiter itself admitted to a client by the identity
// that it had.
func byIdentity(c *Case, history []decided) map[int32][]decided {
	split := map[int32][]decided{}
	for _, d := range admissions(history, -1) {
		if !d.elsewhere {
			first := c.pseudonyms()[d.phase]
			split[first] = append(split[first], d)
		}
	}
	return split
}

// landed widens the stretch in which the decisions of a phase fell.
func landed(p *scenarios.PhaseMeasures, at time.Duration) {
	if p.Admitted+p.Denied == 1 {
		p.First, p.Last = at, at
	}
	p.First, p.Last = min(p.First, at), max(p.Last, at)
}

// admittedAt notes an admission that has been counted.
func admittedAt(m *scenarios.Measures, at time.Duration) {
	if m.Admitted == 1 {
		m.FirstAdmitted, m.LastAdmitted = at, at
	}
	m.FirstAdmitted, m.LastAdmitted = min(m.FirstAdmitted, at), max(m.LastAdmitted, at)
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

func count(m *scenarios.Measures, r scenarios.Result, cost int64) {
	m.Planned++
	switch r.Decision.Source {
	case limiter.SourceFailOpen:
		m.ByOpen++
	case limiter.SourceFailClosed:
		m.ByClosed++
	case limiter.SourceLocal:
		m.ByLocal++
	case limiter.SourceEdge:
		m.ByEdge++
	}
	switch r.Outcome {
	case scenarios.Admitted:
		m.Admitted++
	case scenarios.Denied:
		m.Denied++
	case scenarios.Errored:
		m.Errored++
	case scenarios.Unknown:
		m.Unknown++
		m.UnknownUnits += cost
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
	if span <= 0 {
		return 0
	}
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
func accuracy(history []decided, p *scenarios.Plan, j *scenarios.Judgement) {
	var units int64
	var live []decided
	for _, d := range history {
		for len(live) > 0 && live[0].at <= d.at-p.Limit.Window.Microseconds() {
			units -= live[0].cost
			live = live[1:]
		}
		fits := units+d.cost <= p.Phases[d.phase].Limit.Max
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
