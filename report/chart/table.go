package chart

import (
	"maps"
	"slices"
	"sort"
)

// Table is what a picture was drawn from.
type Table struct {
	Heads []string
	Rows  []TableRow
}

// TableRow is what all lines and bars have at one x; an empty cell is nothing. At is where
// that is in the picture, as a share of its width in thousandths.
type TableRow struct {
	At    int
	Cells []string
}

// Table has a row for each x that is drawn, in order. Lines that step have their value in
// each; where all bars of an x are empty and no line changes there is no row.
func (c *Chart) Table() Table {
	t := Table{Heads: []string{c.X.Label}}
	rows := map[float64][]string{}
	add := func(column int, p Point) {
		if rows[p.X] == nil {
			rows[p.X] = make([]string, len(c.Bars)+len(c.Lines))
		}
		rows[p.X][column] = c.Y.format(p.Y)
	}
	bars := thinBars(c.Bars, c.X)
	for k, b := range bars {
		t.Heads = append(t.Heads, b.Name)
		for i, p := range b.Points {
			if slices.ContainsFunc(bars, func(o Bars) bool { return o.Points[i].Y != 0 }) {
				add(k, p)
			}
		}
	}
	for k, l := range c.Lines {
		t.Heads = append(t.Heads, l.Name)
		points := thin(l.Points, c.X)
		for i, p := range points {
			if i > 0 && i < len(points)-1 && l.Step && p.Y == points[i-1].Y && !l.Reference {
				continue // it is filled below, if another changes
			}
			if l.Reference && rows[p.X] == nil && i > 0 {
				continue
			}
			add(len(bars)+k, p)
		}
	}
	for _, x := range slices.Sorted(maps.Keys(rows)) {
		cells := rows[x]
		for k, l := range c.Lines {
			if i := len(bars) + k; cells[i] == "" && (l.Step || l.Reference) {
				cells[i] = c.held(l, x)
			}
		}
		at := plotLeft + c.X.share(x)*(plotRight-plotLeft)
		t.Rows = append(t.Rows, TableRow{At: int(at / Width * 1000), Cells: append([]string{c.X.format(x)}, cells...)})
	}
	return t
}

// held is the value that a line has at x: none before it begins, and none after its end
// unless it is a reference.
func (c *Chart) held(l Line, x float64) string {
	after := sort.Search(len(l.Points), func(i int) bool { return l.Points[i].X > x })
	if after == 0 || !l.Reference && x > l.Points[len(l.Points)-1].X {
		return ""
	}
	return c.Y.format(l.Points[after-1].Y)
}
