package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/rlbench/rlbench/report/chart"
)

// timelineOf is the picture of what each limiter had admitted in the trailing window, at
// each instant that its timelines have in one stretch.
func timelineOf(s *Scenario, subs []pictured, id string, of func(*Row) *Stretch) *chart.Chart {
	c := &chart.Chart{ID: id, Title: "Admission timeline", Doc: "The most admitted to one client in the window that ends at each instant, against the limit."}
	limit := float64(s.Limit.Max)
	x, top, ok := overTime(c, s, subs, func(sub pictured) []chart.Line {
		stretch := of(sub.course)
		if stretch == nil {
			return nil
		}
		lines := []chart.Line{{Label: sub.label(stretch.peak()), Points: stretch.held(stretch.PeakInWindow)}}
		if stretch.PeakAtMost != nil {
			lines = append(lines, bound(stretch.held(stretch.PeakAtMost)))
		}
		return lines
	})
	if !ok {
		return nil
	}
	c.Lines = append(c.Lines, chart.Line{
		Name: "limit " + number(s.Limit.Max), Reference: true,
		Points: []chart.Point{{X: x.Min, Y: limit}, {X: x.Max, Y: limit}},
	})
	c.Y = chart.Counts("admitted in the window before", max(top, limit), whole)
	return c
}

// lateness is the picture of how late requests were sent; nil in virtual time.
func lateness(s *Scenario, subs []pictured, id string) *chart.Chart {
	c := &chart.Chart{ID: id + "-late", Title: "Lag of the generator over time", Doc: "The latest that a request was sent, by when it was planned.", Height: 200}
	_, top, ok := overTime(c, s, subs, func(sub pictured) []chart.Line {
		run := wholeRun(sub.course)
		if run.LagUS == nil {
			return nil
		}
		return []chart.Line{{Points: run.held(run.LagUS)}}
	})
	if !ok {
		return nil
	}
	c.Y = chart.Counts("late by", top, microseconds)
	return c
}

// overTime draws the lines of each limiter, over the time that all of them
// take, and returns that and the highest point; not ok if there are none.
func overTime(c *chart.Chart, s *Scenario, subs []pictured, of func(pictured) []chart.Line) (x chart.Axis, top float64, ok bool) {
	least, most := math.Inf(1), math.Inf(-1)
	for i, sub := range subs {
		if sub.course == nil {
			continue
		}
		for _, line := range sub.named(i, of(sub)) {
			line.Step = true
			for _, p := range line.Points {
				least, most, top = min(least, p.X), max(most, p.X), max(top, p.Y)
			}
			c.Lines = append(c.Lines, line)
		}
	}
	if len(c.Lines) == 0 {
		return c.X, 0, false
	}
	c.Doc += explained(c.Lines)
	if s.Runs > 1 {
		c.Doc += " Of several runs, the one with the highest peak of each limiter."
	}
	setTime(c, s, least, most)
	return c.X, top, true
}

// setTime gives a picture its axis of time, with edges and faults.
func setTime(c *chart.Chart, s *Scenario, least, most float64) {
	c.X = chart.Times("time, from the edge", least, most, instant)
	c.Marks, c.Bands = edgesBetween(s, c.X), bandsOf(s, c.X)
}

// peak is the most in a window that ends in a stretch, and what it may have been.
func (s *Stretch) peak() string {
	sure := highestOf(s.PeakInWindow)
	return upTo(sure, max(0, highestOf(s.PeakAtMost)-sure))
}

func highestOf(list []int64) int64 {
	if list == nil {
		return 0
	}
	return slices.Max(list)
}

// points are a list of numbers at the instants of a stretch.
func (s *Stretch) points(list []int64) []chart.Point {
	all := make([]chart.Point, s.Bins, s.Bins+1)
	for i := range all {
		all[i] = chart.Point{X: float64(s.FromUS + int64(i)*s.BinUS), Y: float64(at(list, i))}
	}
	return all
}

// held are the same, with the last number held to the end of the stretch.
func (s *Stretch) held(list []int64) []chart.Point {
	all := s.points(list)
	if n := len(all); n > 0 {
		all = append(all, chart.Point{X: all[n-1].X + float64(s.BinUS), Y: all[n-1].Y})
	}
	return all
}

// edgesBetween marks the edges of windows.
func edgesBetween(s *Scenario, x chart.Axis) []chart.Mark {
	const most = 60
	window := float64(s.Limit.WindowUS)
	first, last := math.Ceil(x.Min/window), math.Floor(x.Max/window)
	var marks []chart.Mark
	for k := first; k <= last && last-first < most; k++ {
		marks = append(marks, chart.Mark{X: k * window, Label: "edge"})
	}
	return marks
}

// bandsOf marks the faults of a scenario.
func bandsOf(s *Scenario, x chart.Axis) []chart.Band {
	var bands []chart.Band
	for _, f := range s.Faults {
		from, until := float64(f.AtUS), float64(f.EndUS)
		if until >= x.Min && from <= x.Max {
			bands = append(bands, chart.Band{From: max(from, x.Min), Until: min(until, x.Max), Label: printable(f.Kind)})
		}
	}
	return bands
}

// decisionsOf is the picture of what a limiter decided in each bin of a stretch.
func decisionsOf(s *Scenario, sub pictured, id string, stretch *Stretch) *chart.Chart {
	c := &chart.Chart{
		ID: id, Title: sub.name + ": decisions", Height: 190,
		Doc: "Requests in each " + inWords(float64(stretch.BinUS)) + ", by what became of them.",
	}
	if s.Runs > 1 {
		c.Doc += fmt.Sprintf(" Of run %d, which has its highest peak.", sub.course.Run)
	}
	setTime(c, s, float64(stretch.FromUS), float64(stretch.FromUS+int64(stretch.Bins)*stretch.BinUS))
	most := 0.0
	for i := range stretch.Bins {
		most = max(most, float64(at(stretch.Admitted, i)+at(stretch.Denied, i)+at(stretch.Failed, i)))
	}
	c.Y = chart.Counts("requests", most, whole)
	for _, kind := range []struct {
		kind chart.Kind
		list []int64
	}{{chart.Admitted, stretch.Admitted}, {chart.Denied, stretch.Denied}, {chart.Failed, stretch.Failed}} {
		c.Bars = append(c.Bars, chart.Bars{Name: string(kind.kind), Kind: kind.kind, Wide: float64(stretch.BinUS), Points: stretch.points(kind.list)})
	}
	return c
}

// edgeStretches are where the timelines of a scenario look closely, in order.
func edgeStretches(subs []pictured) []int64 {
	var froms []int64
	for _, sub := range subs {
		if sub.course == nil {
			continue
		}
		for _, stretch := range sub.course.Timeline[1:] {
			froms = append(froms, stretch.FromUS)
		}
	}
	slices.Sort(froms)
	return slices.Compact(froms)
}

// stretchFrom is the close look that begins at an instant; nil if a row has none.
func stretchFrom(from int64) func(*Row) *Stretch {
	return func(row *Row) *Stretch {
		for i := range row.Timeline {
			if i > 0 && row.Timeline[i].FromUS == from {
				return &row.Timeline[i]
			}
		}
		return nil
	}
}

func wholeRun(row *Row) *Stretch { return &row.Timeline[0] }
