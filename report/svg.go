package report

import (
	"fmt"
	"io"

	"github.com/rlbench/rlbench/report/chart"
)

// renderSVG writes what was admitted when, as one picture: the timeline and the envelope
// of each scenario. There are no latencies in it, so that in virtual time the same run
// makes the same picture.
func renderSVG(w io.Writer, r *Report, _ Options) error {
	var charts []*chart.Chart
	for i := range r.Scenarios {
		s, id := &r.Scenarios[i], sectionID(i)
		subs := limitersOf(r, s)
		for _, c := range []*chart.Chart{timelineOf(s, subs, id+"-run", wholeRun), envelopeOf(s, subs, id)} {
			if c == nil {
				continue
			}
			if len(r.Scenarios) > 1 {
				c.Title = printable(s.Name) + ": " + c.Title
			}
			charts = append(charts, c)
		}
	}
	heading := "rlbench: " + counted(int64(len(r.Scenarios)), "scenario")
	if len(r.Scenarios) == 1 {
		s := &r.Scenarios[0]
		heading = printable(fmt.Sprintf("%s, limit %s, %s clock", s.Name, s.limit(), s.Clock))
	}
	if len(charts) == 0 {
		heading += ": nothing to draw"
	}
	return chart.WriteFile(w, heading, charts)
}
