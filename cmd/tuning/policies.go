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
		p.Least = &report.Placement{Refused: min(p.Least.Refused, o.Refused), TouchedOrdinary: min(p.Least.TouchedOrdinary, o.TouchedOrdinary), PeakInWindow: min(p.Least.PeakInWindow, o.PeakInWindow)}
		p.Most = &report.Placement{Refused: max(p.Most.Refused, o.Refused), TouchedOrdinary: max(p.Most.TouchedOrdinary, o.TouchedOrdinary), PeakInWindow: max(p.Most.PeakInWindow, o.PeakInWindow)}
	}
}

func placed(p report.Policy) *report.Placement {
	return &report.Placement{Refused: p.Refused, TouchedOrdinary: p.TouchedOrdinary, PeakInWindow: p.PeakInWindow}
}

func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }
