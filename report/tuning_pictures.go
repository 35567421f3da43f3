package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/report/chart"
)

// picturesOf are the pictures of a part.
func (t *Tuning) picturesOf(id string) []*chart.Chart {
	switch id {
	case "demand":
		return []*chart.Chart{t.demandPicture()}
	case "policies":
		return []*chart.Chart{t.untouchedPicture(), t.refusedPicture()}
	case "riskiest":
		return []*chart.Chart{t.Riskiest.inWindowPicture(), t.Riskiest.decisionsPicture()}
	case "memory":
		return []*chart.Chart{t.Memory.picture()}
	}
	return nil
}

// styleOf is the look of an algorithm, the same in all pictures.
func styleOf(algorithm string) int { return max(slices.Index(limiter.Names(), algorithm), 0) }

func countOf(n float64) string { return thousands(int64(math.Round(n))) }

// byCount is a logarithmic axis of counts that lines have their points along.
func byCount(label string, lines []chart.Line) chart.Axis {
	lowest, highest := math.Inf(1), 1.0
	for _, l := range lines {
		for _, p := range l.Points {
			lowest, highest = min(lowest, p.X), max(highest, p.X)
		}
	}
	if math.IsInf(lowest, 1) {
		lowest = 1
	}
	return chart.Decades(label, lowest, highest, countOf)
}

// nines is an axis of shares in percent, of which each further nine takes equal room, as
// far as so many clients tell.
func nines(label string, clients int64) chart.Axis {
	a := chart.Percentiles(label, 10*max(clients, 10)) // so that all of them are above all but one
	a.Format = func(v float64) string { return Percent(v / 100) }
	a.Tick = func(v float64) string {
		return fmt.Sprintf("%v%%", math.Round(v*1e4)/1e4)
	}
	return a
}

// demandPicture is how many clients ask for at most so much; nil if nobody asks.
func (t *Tuning) demandPicture() *chart.Chart {
	center, chosen := t.center()
	if len(t.Demands) == 0 {
		return nil
	}
	d := &t.Demands[0]
	for i := range t.Demands {
		if one := &t.Demands[i]; chosen && one.WindowUS == center.WindowUS && one.Key == center.Key {
			d = one
			break
		}
	}
	if len(d.Curve) == 0 {
		return nil
	}
	last := d.Curve[len(d.Curve)-1]
	all, ordinary := chart.Line{Name: "all clients", Style: 1, Step: true}, chart.Line{Name: "ordinary clients", Style: 0, Step: true}
	for _, p := range d.Curve {
		if x := math.Max(float64(p.Peak), 1); last.Clients > 0 {
			all.Points = append(all.Points, chart.Point{X: x, Y: float64(p.Clients) / float64(last.Clients) * 100})
			if last.Ordinary > 0 {
				ordinary.Points = append(ordinary.Points, chart.Point{X: x, Y: float64(p.Ordinary) / float64(last.Ordinary) * 100})
			}
		}
	}
	c := &chart.Chart{
		ID: "demand-curve", Title: "Peaks of clients", Height: 320,
		Doc: fmt.Sprintf("The share of clients whose peak in %s per %s is at most so many requests. Equal steps up leave a tenth of the clients above.", lasting(d.WindowUS), printable(d.Key)),
	}
	for _, l := range []chart.Line{all, ordinary} {
		if len(l.Points) > 0 {
			c.Lines = append(c.Lines, l)
		}
	}
	if len(c.Lines) == 0 {
		return nil
	}
	c.Doc += together(c.Lines)
	c.X, c.Y = byCount("requests at its peak", c.Lines), nines("share of clients", last.Clients)
	c.Lines = append(c.Lines, t.askedLine(c.X))
	if r := t.Recommended; r != nil && r.Policy.WindowUS == d.WindowUS && r.Policy.Key == d.Key {
		c.Marks = markedLimit(c.X, r.Policy.Limit)
	}
	return c
}

// askedLine is the share of ordinary clients that nothing is to be refused.
func (t *Tuning) askedLine(x chart.Axis) chart.Line {
	asked := t.Asked.Untouched * 100
	return chart.Line{Name: t.Asked.Share() + " was asked for", Reference: true, Points: []chart.Point{{X: x.Min, Y: asked}, {X: x.Max, Y: asked}}}
}

// markedLimit marks the recommended limit, if it is in the picture.
func markedLimit(x chart.Axis, limit int64) []chart.Mark {
	if v := float64(limit); v < x.Min || v > x.Max {
		return nil
	}
	return []chart.Mark{{X: float64(limit), Label: "recommended " + thousands(limit)}}
}

// byLimit has a line for each algorithm, over the limits of the recommended window and key.
func (t *Tuning) byLimit(id, title, doc string, of func(*Policy) float64) *chart.Chart {
	p, ok := t.center()
	if !ok {
		return nil
	}
	c := &chart.Chart{ID: id, Title: title, Doc: doc, Height: 300}
	limits, found := t.limitsOf(p.WindowUS, p.Key), t.find(p.WindowUS, p.Key)
	for _, a := range t.algorithms(p.WindowUS, p.Key) {
		line := chart.Line{Name: printable(a), Style: styleOf(a)}
		for _, l := range limits {
			if one := found[policyID{a, p.WindowUS, l, p.Key}]; one != nil && l > 0 {
				if y := of(one); y >= 0 {
					line.Points = append(line.Points, chart.Point{X: float64(l), Y: y})
				}
			}
		}
		if len(line.Points) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	if len(c.Lines) == 0 {
		return nil
	}
	c.Doc += together(c.Lines)
	c.X = byCount(fmt.Sprintf("limit, requests %s per %s", perWindow(p.WindowUS), printable(p.Key)), c.Lines)
	if t.Recommended != nil {
		c.Marks = markedLimit(c.X, p.Limit)
	}
	return c
}

func (t *Tuning) untouchedPicture() *chart.Chart {
	of := t.ordinary()
	c := t.byLimit("untouched", "Ordinary clients left untouched, by limit", "The share of ordinary clients that nothing is refused. Equal steps up leave a tenth of the clients touched.", func(p *Policy) float64 {
		if of == 0 {
			return -1
		}
		return float64(of-p.TouchedOrdinary) / float64(of) * 100
	})
	if c == nil {
		return nil
	}
	c.Y = nines("share of ordinary clients", of)
	c.Lines = append(c.Lines, t.askedLine(c.X))
	return c
}

func (t *Tuning) refusedPicture() *chart.Chart {
	highest := 0.0
	c := t.byLimit("refused", "Requests refused, by limit", "The share of all requests that is refused, those of heavy clients too.", func(p *Policy) float64 {
		if p.Requests == 0 {
			return -1
		}
		share := float64(p.Refused) / float64(p.Requests) * 100
		highest = max(highest, share)
		return share
	})
	if c == nil {
		return nil
	}
	c.Y = chart.Counts("share of requests", highest, func(v float64) string { return Percent(v / 100) })
	c.Y.Tick = func(v float64) string { return fmt.Sprintf("%g%%", v) }
	return c
}

// clock is the axis of the bins of the riskiest window.
func (r *Riskiest) clock() chart.Axis {
	layout := "15:04:05"
	if r.BinUS < time.Second.Microseconds() {
		layout = "15:04:05.000"
	}
	from := float64(r.From.UnixMicro())
	return chart.Times("time "+r.From.Format("2006-01-02, -07:00"), from, from+float64(r.BinUS)*float64(len(r.Wanted)), func(v float64) string {
		return time.UnixMicro(int64(math.Round(v))).In(r.From.Location()).Format(layout)
	})
}

// points are a list of numbers at the bins; the last is held to the end of its bin.
func (r *Riskiest) points(list []int64, hold bool) []chart.Point {
	var all []chart.Point
	bin := float64(r.BinUS)
	for i := range r.Wanted {
		n := int64(0)
		if i < len(list) {
			n = max(list[i], 0)
		}
		all = append(all, chart.Point{X: float64(r.From.UnixMicro()) + bin*float64(i), Y: float64(n)})
	}
	if n := len(all); hold && n > 0 {
		all = append(all, chart.Point{X: all[n-1].X + bin, Y: all[n-1].Y})
	}
	return all
}

// inWindowPicture is what each chosen policy had admitted in the trailing window.
func (r *Riskiest) inWindowPicture() *chart.Chart {
	if len(r.Courses) == 0 {
		return nil
	}
	c := &chart.Chart{
		ID: "riskiest-window", Title: "What is let through", X: r.clock(), Height: 320,
		Doc: fmt.Sprintf("The most admitted to the busiest client in the %s before each instant, against the limits.", lasting(r.WindowUS)),
	}
	highest, limits := 0.0, map[int64]string{}
	var order []int64
	for _, course := range r.Courses {
		line := chart.Line{Name: printable(course.Algorithm), Style: styleOf(course.Algorithm), Step: true, Points: r.points(course.InWindow, true)}
		peak := 0.0
		for _, p := range line.Points {
			peak = max(peak, p.Y)
		}
		line.Label = chart.Clip(line.Name, ", peak "+countOf(peak))
		highest = max(highest, peak, float64(course.Limit))
		c.Lines = append(c.Lines, line)
		if limits[course.Limit] == "" {
			order = append(order, course.Limit)
			limits[course.Limit] = "limit " + thousands(course.Limit)
		}
	}
	c.Doc += together(c.Lines)
	for _, l := range order {
		c.Lines = append(c.Lines, chart.Line{Name: limits[l], Reference: true, Points: []chart.Point{{X: c.X.Min, Y: float64(l)}, {X: c.X.Max, Y: float64(l)}}})
	}
	c.Y = chart.Counts("admitted in the window before", highest, countOf)
	return c
}

// decisionsPicture is what the busiest client asked for in each bin, and what the first
// policy makes of it.
func (r *Riskiest) decisionsPicture() *chart.Chart {
	c := &chart.Chart{ID: "riskiest-decisions", Title: "What the busiest client asks for", X: r.clock(), Height: 200}
	c.Doc = "Its requests in each " + lasting(r.BinUS) + "."
	wanted, highest := r.points(r.Wanted, false), 0.0
	for _, p := range wanted {
		highest = max(highest, p.Y)
	}
	c.Y = chart.Counts("requests", highest, countOf)
	if len(r.Courses) == 0 {
		c.Bars = []chart.Bars{{Name: "wanted", Kind: chart.Admitted, Wide: float64(r.BinUS), Points: wanted}}
		return c
	}
	first := r.Courses[0]
	c.Title = fmt.Sprintf("What %s with a limit of %s decides", printable(first.Algorithm), thousands(first.Limit))
	c.Doc = "Requests of the busiest client in each " + lasting(r.BinUS) + ", by what becomes of them."
	admitted, refused := r.points(first.Admitted, false), wanted
	for i := range refused {
		refused[i].Y = max(refused[i].Y-admitted[i].Y, 0)
	}
	c.Bars = []chart.Bars{
		{Name: "admitted", Kind: chart.Admitted, Wide: float64(r.BinUS), Points: admitted},
		{Name: "refused", Kind: chart.Denied, Wide: float64(r.BinUS), Points: refused},
	}
	return c
}

// picture is what an identity takes by its entries.
func (m *Memory) picture() *chart.Chart {
	c := &chart.Chart{ID: "memory-entries", Title: "Memory of an identity", Doc: "What one identity takes of Redis, by how many requests of it are in the window.", Height: 300}
	lowest, highest := math.Inf(1), 1.0
	for _, name := range m.algorithms() {
		line := chart.Line{Name: printable(name), Style: styleOf(name)}
		for _, k := range m.Measured {
			if k.Algorithm == name && k.Entries > 0 && k.Bytes > 0 {
				line.Points = append(line.Points, chart.Point{X: float64(k.Entries), Y: float64(k.Bytes)})
				lowest, highest = min(lowest, float64(k.Bytes)), max(highest, float64(k.Bytes))
			}
		}
		if len(line.Points) > 0 {
			c.Lines = append(c.Lines, line)
		}
	}
	if len(c.Lines) == 0 {
		return nil
	}
	c.Doc += together(c.Lines)
	c.X = byCount("requests in the window", c.Lines)
	c.Y = chart.Decades("bytes", lowest*0.9, highest*1.1, countOf)
	if v := float64(m.CheapUntil); v > c.X.Min && v < c.X.Max {
		c.Marks = []chart.Mark{{X: v, Label: "skip list beyond " + thousands(m.CheapUntil)}}
	}
	return c
}
