package tuning

import (
	"time"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios/simulator"
)

// Groups of clients.
const (
	ordinary = iota
	heavy
)

// policiesOf are the results of one placement, with what the state takes.
func policiesOf(r *simulator.Result, measured []report.MeasuredKey, busiest int64) []report.Policy {
	var all []report.Policy
	for i := range r.Policies {
		group := &r.Policies[i]
		for _, p := range group.Limits {
			total, byGroup := p.Total(), make([]simulator.Counts, 2)
			for cell, counts := range p.Cells {
				byGroup[cell%r.Groups] = byGroup[cell%r.Groups].Plus(counts)
			}
			touched := append(p.RefusedClients[:len(p.RefusedClients):len(p.RefusedClients)], 0) // no client may be heavy
			all = append(all, report.Policy{
				Algorithm: group.Algorithm, WindowUS: group.Window.Microseconds(), Limit: p.Limit, Key: string(group.Key),
				Requests: total.Requests, Refused: total.Denied(), RefusedOrdinary: byGroup[ordinary].Denied(),
				TouchedOrdinary: touched[ordinary], TouchedHeavy: touched[heavy],
				PeakInWindow: p.Peak.Admitted, PeakInSecond: p.Exposure.Admitted, PeakAt: instant(p.Peak.By.At),
				Wrong:  report.Wrong{Admissions: total.WrongAdmissions, Denials: total.WrongDenials},
				Differ: total.Differ, Repeated: total.Repeated,
				Keys: group.Keys, Bytes: bytesTaken(measured, group, p.Limit),
				ServerShare: float64(busiest) * scriptOf(measured, group.Algorithm, p.Limit) / 1e6,
			})
		}
	}
	return all
}

// widen makes the figures of other placements the least and the most of those of the first,
// which has the same policies in the same order.
func widen(all, other []report.Policy) {
	for i := range all {
		p := &all[i]
		if p.Least == nil {
			p.Least, p.Most = placed(*p), placed(*p)
		}
		o := placed(other[i])
		p.Least, p.Most = extreme(p.Least, o, least), extreme(p.Most, o, most)
	}
}

func least(a, b int64) int64 { return min(a, b) }
func most(a, b int64) int64  { return max(a, b) }

func extreme(a, b *report.Placement, of func(int64, int64) int64) *report.Placement {
	return &report.Placement{
		Refused: of(a.Refused, b.Refused), TouchedOrdinary: of(a.TouchedOrdinary, b.TouchedOrdinary),
		PeakInWindow: of(a.PeakInWindow, b.PeakInWindow), PeakInSecond: of(a.PeakInSecond, b.PeakInSecond),
	}
}

func placed(p report.Policy) *report.Placement {
	return &report.Placement{Refused: p.Refused, TouchedOrdinary: p.TouchedOrdinary, PeakInWindow: p.PeakInWindow, PeakInSecond: p.PeakInSecond}
}

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }
