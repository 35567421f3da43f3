package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The edges of the plot in a picture; its right one leaves room for labels of lines.
const (
	plotLeft   = 64.0
	labelWidth = 220.0
	plotRight  = Width - labelWidth - 8
	plotTop    = 34.0
	footer     = 44.0 // under the plot
	lineHeight = 14.0
	between    = 6.0 // labels, at the least
)

// drawing is a chart in coordinates of its picture.
type drawing struct {
	*Chart
	Standalone               bool
	W, H                     string
	Left, Top, Right, Bottom string
	XTicks, YTicks           []tick
	Bands                    []rectangle
	Marks                    []mark
	Paths                    []path
	Labels                   []text
	Legend                   []swatch
	PlotHeight               string
	Middle, Foot             string // of the label of the x axis
}

type (
	tick      struct{ At, Text string }
	mark      struct{ At, TextX, Text string }
	rectangle struct{ X, W, Text string }
	path      struct{ Class, D string }
	text      struct{ X, Y, Class, Text string }
	swatch    struct{ X, TextX, Class, Text string }
)

// layout places everything.
func (c *Chart) layout() *drawing {
	height := c.height()
	bottom := height - footer
	d := &drawing{
		Chart: c, W: num(Width), H: num(height), Left: num(plotLeft), Top: num(plotTop), Right: num(plotRight), Bottom: num(bottom),
		PlotHeight: num(bottom - plotTop),
		Middle:     num((plotLeft + plotRight) / 2), Foot: num(height - 8),
	}
	x := func(v float64) float64 { return plotLeft + c.X.share(v)*(plotRight-plotLeft) }
	y := func(v float64) float64 { return bottom - c.Y.share(v)*(bottom-plotTop) }
	d.XTicks = apart(c.X.Ticks, c.X.tick, x)
	for _, v := range c.Y.Ticks {
		d.YTicks = append(d.YTicks, tick{num(y(v)), c.Y.tick(v)})
	}
	for _, b := range c.Bands {
		from := x(b.From)
		d.Bands = append(d.Bands, rectangle{num(from), num(max(x(b.Until)-from, 1.5)), b.Label})
	}
	d.marks(x)
	d.bars(x, y)
	for _, l := range c.Lines {
		d.Paths = append(d.Paths, path{l.class(), trace(thin(l.Points, c.X), l.Step, x, y)})
	}
	d.label(y, bottom)
	for _, l := range c.Lines {
		if l.Reference && len(l.Points) > 0 {
			above := y(l.Points[0].Y) - 5
			if above < plotTop+lineHeight/2 { // where marks have their labels
				above += lineHeight + 5
				if d.banded(x, plotLeft+2*between+widthOf(l.Name)) {
					above += lineHeight
				}
			}
			d.Labels = append(d.Labels, text{num(plotLeft + 6), num(above), "tref", l.Name})
		}
	}
	return d
}

// banded reports whether the label of a band begins left of an x.
func (d *drawing) banded(x func(float64) float64, end float64) bool {
	return slices.ContainsFunc(d.Chart.Bands, func(b Band) bool { return b.Label != "" && x(b.From) < end })
}

// num is a coordinate with a tenth of a unit.
func num(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// apart are the ticks whose labels do not touch each other.
func apart(values []float64, format func(float64) string, x func(float64) float64) []tick {
	var all []tick
	end := -1e9
	for _, v := range values {
		label := format(v)
		half := widthOf(label) / 2
		if x(v)-half < end {
			continue
		}
		end = x(v) + half + between
		all = append(all, tick{num(x(v)), label})
	}
	return all
}

// marks are those that can be told apart.
func (d *drawing) marks(x func(float64) float64) {
	const least = 10
	last := -1e9
	for _, m := range d.Chart.Marks {
		if at := x(m.X); at-last >= least {
			label := m.Label
			if at-last < widthOf(label)+between {
				label = ""
			}
			d.Marks = append(d.Marks, mark{num(at), num(min(max(at, plotLeft+widthOf(label)/2), plotRight-widthOf(label)/2)), label})
			last = at
		}
	}
}

// trace is a line as a path.
func trace(points []Point, step bool, x, y func(float64) float64) string {
	var b strings.Builder
	lastY := ""
	for i, p := range points {
		px, py := num(x(p.X)), num(y(p.Y))
		switch {
		case i == 0:
			b.WriteString("M" + px + " " + py)
		case step && py == lastY && i < len(points)-1:
			continue
		case step:
			b.WriteString("H" + px)
			if py != lastY {
				b.WriteString("V" + py)
			}
		default:
			b.WriteString("L" + px + " " + py)
		}
		lastY = py
	}
	return b.String()
}

// bars stacks them, and says what they are.
func (d *drawing) bars(x, y func(float64) float64) {
	all := thinBars(d.Chart.Bars, d.X)
	if len(all) == 0 {
		return
	}
	base := make([]float64, len(all[0].Points))
	legend := plotLeft
	for _, b := range all {
		var p strings.Builder
		for i, point := range b.Points {
			if point.Y == 0 {
				continue
			}
			left, right := x(point.X), x(point.X+b.Wide)
			right = max(right-0.6, left+0.8) // a gap, where there is room
			fmt.Fprintf(&p, "M%s %sV%sH%sV%sZ", num(left), num(y(base[i])), num(y(base[i]+point.Y)), num(right), num(y(base[i])))
			base[i] += point.Y
		}
		class := "bar " + string(b.Kind)
		d.Paths = append(d.Paths, path{class, p.String()})
		d.Legend = append(d.Legend, swatch{num(legend), num(legend + 14), class, b.Name})
		legend += 14 + widthOf(b.Name) + 3*between
	}
}

// label puts names at the ends of lines, none over another.
func (d *drawing) label(y func(float64) float64, bottom float64) {
	type end struct {
		y     float64
		class string
		text  string
	}
	var ends []end
	for _, l := range d.Lines {
		if len(l.Points) == 0 || l.Bound || l.Reference && l.Label == "" {
			continue
		}
		e := end{y(l.Points[len(l.Points)-1].Y), fmt.Sprintf("t%d", l.Style%styles), cmp.Or(l.Label, l.Name)}
		if l.Reference {
			e.class = "tref"
		}
		ends = append(ends, e)
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.y, b.y) })
	for i := range ends { // down, then up from the foot
		if i > 0 {
			ends[i].y = max(ends[i].y, ends[i-1].y+lineHeight)
		}
	}
	limit := bottom
	for i := len(ends) - 1; i >= 0; i-- {
		ends[i].y = min(ends[i].y, limit)
		limit = ends[i].y - lineHeight
	}
	for _, e := range ends {
		d.Labels = append(d.Labels, text{num(plotRight + 8), num(e.y + 4), e.class, Clip(e.text, "")})
	}
}

func formatPercentile(v float64) string {
	if v == 0 {
		return "least"
	}
	digits := max(0, int(math.Ceil(1-math.Log10(max(100-v, 1e-9)))))
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return "p" + text
}
