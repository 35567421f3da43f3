package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A spike of one sample in a hundred thousand is drawn, and is in the table.
func TestSpikesAreNotLost(t *testing.T) {
	for _, at := range []int{0, 1, 49_999, 77_777, 99_998, 99_999} {
		c := &Chart{
			X: Axis{Max: 100_000, Format: plain}, Y: Counts("n", 9, plain),
			Lines: []Line{{Name: "line", Points: make([]Point, 100_000)}}, Bars: []Bars{{Name: "bars", Wide: 1, Points: make([]Point, 100_000)}},
		}
		for i := range c.Lines[0].Points {
			c.Lines[0].Points[i] = Point{float64(i), 1}
			c.Bars[0].Points[i] = Point{float64(i), 2}
		}
		c.Lines[0].Points[at].Y, c.Bars[0].Points[at].Y = 9, 8
		picture, err := c.SVG()
		if err != nil {
			t.Fatal(err)
		}
		top := "54.2" // where 9 is
		if n := strings.Count(string(picture), " "+top+"L") + strings.Count(string(picture), " "+top+`"`); n == 0 {
			t.Errorf("a spike at %d is not drawn", at)
		}
		line, bars := 0, 0
		table := c.Table()
		for _, row := range table.Rows {
			if row.Cells[0] == fmt.Sprint(at) && row.Cells[2] == "9" {
				line++
			}
			if row.Cells[1] == "8" {
				bars++
			}
		}
		if line != 1 || bars != 1 || len(table.Rows) > 6*columns {
			t.Errorf("a spike at %d is in %d and %d of %d rows", at, line, bars, len(table.Rows))
		}
	}
}

func plain(v float64) string { return fmt.Sprint(v) }

func TestAxes(t *testing.T) {
	words := func(us float64) string { return fmt.Sprintf("%gus", us) }
	for _, c := range []struct {
		name string
		axis Axis
		want string
	}{
		{"counts end above the largest", Counts("", 103, plain), "[0 50 100 150]"},
		{"nothing has an axis too", Counts("", 0, plain), "[0 1]"},
		{"instants are round", Times("", -1e6, 1e6, words), "[-1e+06 -500000 0 500000 1e+06]"},
		{"a single instant", Times("", 5, 5, words), "[4 5 6]"},
		{"lengths are decades", Durations("", 1000, 120e6, words), "[1000 10000 100000 1e+06 1e+07 6e+07]"},
		{"or finer", Durations("", 100, 600, words), "[100 200 500]"},
		{"counts of all sizes are decades", Decades("", 0, 144_460, plain), "[1 10 100 1000 10000 100000]"},
		{"or finer", Decades("", 10, 500, plain), "[10 20 50 100 200 500]"},
		{"or finer still", Decades("", 120, 310, plain), "[150 200 300]"},
		{"a single count", Decades("", 1, 1, plain), "[1 1.5 2]"},
		{"nines as far as samples go", Percentiles("", 1000), "[0 50 90 99 99.9]"},
		{"of one sample", Percentiles("", 1), "[0 50 90]"},
	} {
		if got := fmt.Sprint(c.axis.Ticks); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for v, want := range map[float64]string{0: "least", 50: "p50", 99.9: "p99.9", 61.688131504427126: "p62", 99.99: "p99.99"} {
		if got := formatPercentile(v); got != want {
			t.Errorf("%g is written %s, want %s", v, got, want)
		}
	}
}

// Names beside lines stand apart, in the order of their lines.
func TestLabelsStandApart(t *testing.T) {
	c := &Chart{X: Axis{Max: 1}, Y: Counts("", 10, plain)}
	for i := range 8 {
		c.Lines = append(c.Lines, Line{Name: fmt.Sprint("line", i), Style: i, Points: []Point{{0, 5}, {1, float64(i) / 100}}})
	}
	d := c.layout()
	last := -1.0
	for _, l := range d.Labels {
		var y float64
		if _, err := fmt.Sscan(l.Y, &y); err != nil {
			t.Fatal(err)
		}
		if last >= 0 && y-last < lineHeight-0.1 {
			t.Errorf("%s is %g below the one before", l.Text, y-last)
		}
		last = y
	}
	if len(d.Labels) != 8 || d.Labels[0].Text != "line7" {
		t.Errorf("%d labels, the first is %s", len(d.Labels), d.Labels[0].Text)
	}
}

// A line has no value after its end, unless it is there to compare with; and an axis that
// is far from zero ends.
func TestLinesEnd(t *testing.T) {
	c := Chart{X: Times("t", 0, 10, plain), Y: Counts("n", 5, plain), Lines: []Line{
		{Name: "short", Step: true, Points: []Point{{0, 1}, {2, 3}}},
		{Name: "long", Step: true, Points: []Point{{0, 2}, {9, 4}}},
		{Name: "limit", Reference: true, Points: []Point{{0, 5}, {9, 5}}},
	}}
	rows := c.Table().Rows
	if got := rows[len(rows)-1].Cells; !slices.Equal(got, []string{"9", "", "4", "5"}) {
		t.Errorf("at the end: %q", got)
	}
	if n := len(Times("t", 1e17, 1e17+64, plain).Ticks); n > 20 {
		t.Errorf("%d ticks", n)
	}
}
