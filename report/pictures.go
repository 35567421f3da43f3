package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report/chart"
)

// pictured is a limiter of a scenario with what pictures of it are drawn from.
type pictured struct {
	name  string
	shown Row // over all runs
	// course is the run with the highest peak, whose timeline is drawn; nil if none has
	// one.
	course *Row
}

// limitersOf are the limiters of a scenario, in the order of its table.
func limitersOf(r *Report, s *Scenario) []pictured {
	var all []pictured
	for _, shown := range shownRows(r, s) {
		sub := pictured{name: limiterCell(shown), shown: shown}
		for i := range r.Rows {
			row := &r.Rows[i]
			if row.Phase == "" && row.Run > 0 && len(row.Timeline) > 0 && row.subject() == shown.subject() && (sub.course == nil || row.PeakInWindow > sub.course.PeakInWindow) {
				sub.course = row
			}
		}
		all = append(all, sub)
	}
	return all
}

// label names a limiter beside its line. Its name gives way to its peak.
func (p pictured) label(peak string) string { return chart.Clip(p.name, ", peak "+peak) }

// bound is the line of what a limiter may have admitted at most.
func bound(points []chart.Point) chart.Line { return chart.Line{Points: points, Bound: true} }

// named are the lines of the limiter at a place, in its look.
func (p pictured) named(place int, lines []chart.Line) []chart.Line {
	for i := range lines {
		lines[i].Name, lines[i].Style = p.name, place
		if lines[i].Bound {
			lines[i].Name += atMostSuffix
		}
	}
	return lines
}

const (
	atMostSuffix = ", at most"
	boundDoc     = " A thin line has all of unknown fate as if it had been admitted when it was planned."
)

func inWords(us float64) string {
	return limiter.FormatDuration(time.Duration(math.Round(us)) * time.Microsecond)
}

func microseconds(us float64) string { return roundMicros(int64(math.Round(us))) }

func whole(n float64) string { return number(int64(math.Round(n))) }

// instant is an offset from the edge, as ticks have it.
func instant(us float64) string {
	switch d := time.Duration(math.Round(us)) * time.Microsecond; {
	case d == 0:
		return "edge"
	case d > 0:
		return "+" + limiter.FormatDuration(d)
	default:
		return "−" + limiter.FormatDuration(-d)
	}
}

// envelopeOf is the picture of the most that was admitted in intervals of each length;
// nil if no limiter has it.
func envelopeOf(s *Scenario, subs []pictured, id string) *chart.Chart {
	window, limit := float64(s.Limit.WindowUS), float64(s.Limit.Max)
	c := &chart.Chart{
		ID: id + "-envelope", Title: "Burst envelope",
		Doc:    fmt.Sprintf("The most admitted to one client in any interval of each length, against the limit of %s. What is longer than a window reaches into two, and so may hold twice the limit.", s.limit()),
		Height: 320,
	}
	least, most, top := math.Inf(1), 2*window, limit
	for i, sub := range subs {
		e := sub.shown.Envelope
		if e == nil || len(e.SpanUS) == 0 || sub.shown.Planned == sub.shown.Missed {
			continue
		}
		lines := []chart.Line{{Label: sub.label(sub.shown.peak()), Points: e.points(e.Admitted)}}
		if e.AtMost != nil {
			lines = append(lines, bound(e.points(e.AtMost)))
		}
		c.Lines = append(c.Lines, sub.named(i, lines)...)
	}
	for _, line := range c.Lines {
		for _, p := range line.Points {
			least, most, top = min(least, p.X), max(most, p.X), max(top, p.Y)
		}
	}
	if len(c.Lines) == 0 {
		return nil
	}
	top = max(top, min(2*limit, 1.25*top))
	c.Lines = append(c.Lines, chart.Line{
		Name: "limit " + number(s.Limit.Max), Label: "2 × limit", Reference: true, Step: true,
		Points: []chart.Point{{X: least, Y: limit}, {X: window, Y: limit}, {X: window * (1 + 1e-6), Y: 2 * limit}, {X: most, Y: 2 * limit}},
	})
	c.Doc += explained(c.Lines)
	c.X = chart.Durations("length of the interval", least, most, inWords)
	c.Y = chart.Counts("admitted", top, whole)
	c.Marks = []chart.Mark{{X: window, Label: "window " + limiter.FormatDuration(s.window())}}
	return c
}

// explained says what is not plain from the lines of a picture.
func explained(lines []chart.Line) string {
	text := together(lines)
	if slices.ContainsFunc(lines, func(l chart.Line) bool { return l.Bound }) {
		text += boundDoc
	}
	return text
}

// together names lines that lie on each other, of which only the last is seen.
func together(lines []chart.Line) string {
	const few = 4
	var groups [][]chart.Line
	for _, l := range lines {
		if l.Bound {
			continue
		}
		i := slices.IndexFunc(groups, func(g []chart.Line) bool { return slices.Equal(g[0].Points, l.Points) })
		if i < 0 {
			groups = append(groups, []chart.Line{l})
		} else {
			groups[i] = append(groups[i], l)
		}
	}
	text := ""
	for _, g := range groups {
		if len(g) == 1 || len(g[0].Points) == 0 {
			continue
		}
		var names []string
		for _, l := range g {
			names = append(names, l.Name)
		}
		if len(names) > few {
			names = append(names[:few-1], fmt.Sprintf("%d others", len(names)-few+1))
		}
		text += " On one line: " + strings.Join(names, "; ") + "."
	}
	return text
}
