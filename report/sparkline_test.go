package report

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sparklinesOf are sparklines of timelines at a limit of 100 in a second.
func sparklinesOf(width int, window int64, courses ...Stretch) string {
	r := &Report{Scenarios: []Scenario{{Name: "s", Runs: 1, Limit: Limit{Max: 100, WindowUS: window}}}}
	for i, c := range courses {
		r.Rows = append(r.Rows, Row{Scenario: "s", Limiter: string(rune('a' + i)), Run: 1, Timeline: []Stretch{c}})
	}
	var b strings.Builder
	writeSparkline(&b, r, &r.Scenarios[0], width)
	return b.String()
}

func TestSparkline(t *testing.T) {
	burst := Stretch{FromUS: -400_000, BinUS: 100_000, Bins: 8, Admitted: []int64{0, 0, 0, 80, 80, 0, 0, 1}}
	less := Stretch{FromUS: -400_000, BinUS: 100_000, Bins: 8, Admitted: []int64{0, 0, 0, 80, 20, 0, 0, 0}}
	nothing := Stretch{FromUS: -400_000, BinUS: 100_000, Bins: 8}
	short := Stretch{FromUS: 0, BinUS: 100_000, Bins: 3, Admitted: []int64{1, 2, 3}}
	windows := Stretch{FromUS: 0, BinUS: 500_000, Bins: 400, Admitted: make([]int64, 400)}
	windows.Admitted[0], windows.Admitted[1], windows.Admitted[399] = 60, 60, 30
	for _, row := range []struct {
		name    string
		width   int
		courses []Stretch
		want    string
	}{
		{"a burst at an edge", 80, []Stretch{burst, less, nothing}, "admitted in each 100ms: █ is 80, · none, | an edge of the window\na  ···█|█··▁\nb  ···█|▂···\nc  ····|····\n\n"},
		{"longer marks where there is no room", 11, []Stretch{burst}, "admitted in\neach 200ms:\n█ is 80, ·\nnone, | an\nedge of the\nwindow\na  ·█|█▁\n\n"},
		{"no room at all", 5, []Stretch{burst}, ""},
		{"too short to show anything", 80, []Stretch{short}, ""},
		{"nothing was admitted", 80, []Stretch{nothing}, ""},
		{"more windows than marks", 80, []Stretch{windows}, "admitted in each 4s: █ is 120, · none, | an edge of the window\na  █" + strings.Repeat("·", 48) + "▂\n\n"},
		{"nobody", 80, nil, ""},
		{"bins that do not fit into each other", 80, []Stretch{burst, {FromUS: -400_000, BinUS: 40_000, Bins: 20, Admitted: slices.Repeat([]int64{4}, 20)}}, "admitted in each 200ms: █ is 80, · none, | an edge of the window\na  ·█|█▁\nb  ▂▂|▂▂\n\n"},
	} {
		if got := sparklinesOf(row.width, 1_000_000, row.courses...); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

// TestSparklineAtAnyWidth: no line is wider than asked, no admission is lost, and there
// is an edge wherever a window has one.
func TestSparklineAtAnyWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.Int64Range(1, 1<<40).Draw(t, "window")
		c := Stretch{
			FromUS: rapid.Int64Range(-1<<40, 1<<40).Draw(t, "from"),
			BinUS:  rapid.Int64Range(1, 1<<30).Draw(t, "bin"),
			Bins:   rapid.IntRange(1, 600).Draw(t, "bins"),
		}
		c.Admitted = rapid.SliceOfN(rapid.Int64Range(0, 1000), c.Bins, c.Bins).Draw(t, "admitted")
		width := rapid.IntRange(1, 100).Draw(t, "width")
		m, ok := marksOf([]pictured{{course: &Row{Timeline: []Stretch{c}}}}, window, width)
		if !ok {
			return
		}
		want, got := int64(0), int64(0)
		for _, n := range c.Admitted {
			want += n
		}
		counts := m.admitted(&c)
		for _, n := range counts {
			got += n
		}
		line := m.draw(counts, max(1, slices.Max(counts)))
		if got != want || len(counts) > enoughMarks || len([]rune(line)) > width || m.from > c.FromUS {
			t.Fatalf("%+v: %d of %d admissions, %q in %d", m, got, want, line, width)
		}
		if m.step%c.BinUS != 0 {
			t.Fatalf("a bin falls into two marks: %+v", m)
		}
		if m.step < window && window%m.step != 0 || m.step > window && m.step%window != 0 {
			t.Fatalf("an edge falls into a mark: %+v", m)
		}
	})
}
