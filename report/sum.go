package report

import (
	"cmp"
	"errors"
	"slices"
)

// sumRuns adds up the rows of several runs of one limiter under one scenario: the
// whole scenario, then its phases. Counts add, peaks and costs are the highest,
// histograms are merged, the verdict is the worst.
func sumRuns(rows []Row) ([]Row, error) {
	var sums []Row
	for _, row := range rows {
		at := slices.IndexFunc(sums, func(s Row) bool { return s.Phase == row.Phase })
		if at < 0 {
			row.Run, row.Timeline = 0, nil // which cannot be added
			sums = append(sums, row)
			continue
		}
		sums[at].plus(row)
	}
	for i := range sums {
		if err := sums[i].pool(slices.DeleteFunc(slices.Clone(rows), func(row Row) bool {
			return row.Phase == "" || sums[i].Phase != "" && row.Phase != sums[i].Phase
		})); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// plus adds the figures of another run, but for the times.
func (row *Row) plus(o Row) {
	row.Algorithm = cmp.Or(row.Algorithm, o.Algorithm) // who never had a turn has none
	row.Planned += o.Planned
	row.Admitted += o.Admitted
	row.Denied += o.Denied
	row.Errored += o.Errored
	row.Unknown += o.Unknown
	row.Missed += o.Missed
	row.Wanted += o.Wanted
	row.rates()
	row.Crowd = max(row.Crowd, o.Crowd)
	row.FirstAdmittedUS = either(row.FirstAdmittedUS, o.FirstAdmittedUS, lower)
	row.LastAdmittedUS = either(row.LastAdmittedUS, o.LastAdmittedUS, higher)
	if row.PeakAtMost != 0 || o.PeakAtMost != 0 {
		row.PeakAtMost = max(row.PeakInWindow, row.PeakAtMost, o.PeakInWindow, o.PeakAtMost)
	}
	row.PeakInWindow = max(row.PeakInWindow, o.PeakInWindow)
	row.PeakOverLimit = either(row.PeakOverLimit, o.PeakOverLimit, higher)
	row.PeakInShort.Admitted = max(row.PeakInShort.Admitted, o.PeakInShort.Admitted)
	row.Wrong.Admissions += o.Wrong.Admissions
	row.Wrong.Denials += o.Wrong.Denials
	row.DeniedAtEdge += o.DeniedAtEdge
	row.LostTail += o.LostTail
	row.StateLost += o.StateLost
	row.RecoveryUS = either(row.RecoveryUS, o.RecoveryUS, higher)
	row.Overcounted = either(row.Overcounted, o.Overcounted, higher)
	row.Attempts = max(row.Attempts, o.Attempts)
	row.LandedUS = either(row.LandedUS, o.LandedUS, func(a, b Landed) Landed { return Landed{min(a.First, b.First), max(a.Last, b.Last)} })
	row.ByPolicy = either(row.ByPolicy, o.ByPolicy, func(a, b ByPolicy) ByPolicy {
		return ByPolicy{a.Open + b.Open, a.Closed + b.Closed, a.Local + b.Local}
	})
	row.Promise = either(row.Promise, o.Promise, func(a, b Promise) Promise { return Promise{max(a.MaxInWindow, b.MaxInWindow), a.Kept && b.Kept} })
	row.Capacity = either(row.Capacity, o.Capacity, func(a, b Capacity) Capacity { // the lowest
		if b.PerSecond < a.PerSecond {
			return b
		}
		return a
	})
	row.Redis = either(row.Redis, o.Redis, func(a, b Cost) Cost {
		return Cost{
			Keys:                max(a.Keys, b.Keys),
			BytesPerIdentity:    either(a.BytesPerIdentity, b.BytesPerIdentity, higher),
			CommandsPerDecision: either(a.CommandsPerDecision, b.CommandsPerDecision, higher),
			ScriptUSPerDecision: either(a.ScriptUSPerDecision, b.ScriptUSPerDecision, higher),
		}
	})
	row.Envelope = higherEnvelope(row.Envelope, o.Envelope)
	row.Verdict = row.Verdict.Worse(o.Verdict)
}

// either is the one that is there, or what both make. It changes neither.
func either[T any](a, b *T, both func(a, b T) T) *T {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	v := both(*a, *b)
	return &v
}

func lower[T int64 | float64](a, b T) T  { return min(a, b) }
func higher[T int64 | float64](a, b T) T { return max(a, b) }

// pool sets the times of a row from the histograms of others, each of one phase of
// one run. Percentiles cannot be added.
func (row *Row) pool(leaves []Row) error {
	var service, response byOutcome
	var policy, lag *samples
	realTime := false
	for _, leaf := range leaves {
		if err := errors.Join(service.merge(leaf.ServiceUS), mergeSaved(&policy, leaf.PolicyUS), mergeSaved(&lag, leaf.LagUS)); err != nil {
			return err
		}
		if leaf.ResponseUS == nil {
			continue
		}
		realTime = true
		if err := response.merge(*leaf.ResponseUS); err != nil {
			return err
		}
	}
	var err error
	row.ServiceUS, err = service.outcomes()
	row.ResponseUS, row.PolicyUS, row.LagUS = nil, policy.latency(), lag.latency()
	if err == nil && realTime {
		var all Outcomes
		all, err = response.outcomes()
		row.ResponseUS = &all
	}
	return err
}
