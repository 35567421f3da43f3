package trace

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// ordered is what comes out of an order, by line.
func ordered(o *order, ats []int64) (lines []int64) {
	take := func(end bool) {
		for r, ok := o.next(end); ok; r, ok = o.next(end) {
			lines = append(lines, r.Line)
		}
	}
	for i, at := range ats {
		if o.takes(at) {
			o.add(Request{At: at, Line: int64(i)})
		}
		take(false)
	}
	take(true)
	return lines
}

// What is displaced by no more than the span is sorted, and those of one instant stay as
// they came. No more is held than has to be.
func TestOrderSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const span = 100
		arrivals := rapid.SliceOfN(rapid.Int64Range(0, 40), 0, 300).Draw(t, "gaps")
		for i := 1; i < len(arrivals); i++ {
			arrivals[i] += arrivals[i-1]
		}
		written := make([][2]int64, len(arrivals)) // when, and the arrival
		for i, at := range arrivals {
			written[i] = [2]int64{at + rapid.Int64Range(0, span).Draw(t, "took"), at}
		}
		slices.SortStableFunc(written, func(a, b [2]int64) int { return int(a[0] - b[0]) })
		ats := make([]int64, len(written))
		want := make([]int64, len(written))
		for i := range written {
			ats[i], want[i] = written[i][1], int64(i)
		}
		slices.SortStableFunc(want, func(a, b int64) int { return int(ats[a] - ats[b]) })
		o := &order{span: span, most: 1000}
		if diff := cmp.Diff(want, ordered(o, ats), cmpopts.EquateEmpty()); diff != "" || o.late != 0 {
			t.Fatalf("%d late; lines (-want +got):\n%s", o.late, diff)
		}
	})
}

func TestOrderWhereClocksJump(t *testing.T) {
	const day = int64(86400) * second
	for _, row := range []struct {
		name string
		ats  []int64
		most int
		want []int64
		late int64
	}{
		{"years apart", []int64{0, 1, 9000 * day, 9000*day + 1, 9000*day + 2}, 10, []int64{0, 1, 2, 3, 4}, 0},
		{"one line years ahead", []int64{0, 9000 * day, 1, 2 * second, 3 * second, 4 * second}, 10, []int64{0, 2, 3, 4, 5, 1}, 0},
		{"the first line years ahead", []int64{9000 * day, 0, 2, 1, 3 * second}, 10, []int64{1, 3, 2, 4, 0}, 0},
		{"two lines years ahead, not together", []int64{0, 1, 9000 * day, 5000 * day, 2, second, 3 * second}, 10, []int64{0, 1, 4, 5, 6, 3, 2}, 0},
		{"years back for good", []int64{9000 * day, 9000*day + 1, 9000*day + second + 1, 9000*day + second + 2, 0, second}, 10, []int64{0, 1, 2, 3}, 2},
		{"a clock that was set back", []int64{0, 5 * second, 9 * second, 10 * second, second, 2 * second, 11 * second}, 10, []int64{0, 1, 2, 3, 6}, 2},
		{"back by little", []int64{5 * second, 4 * second, 6 * second}, 10, []int64{1, 0, 2}, 0},
		{"before the first line", []int64{5 * second, 4 * second, second}, 10, []int64{1, 0}, 1},
		{"no room", []int64{5, 4, 3, 2, 1}, 2, []int64{2, 1, 0}, 2},
		{"nothing", nil, 10, nil, 0},
	} {
		o := &order{span: second, most: row.most}
		if diff := cmp.Diff(row.want, ordered(o, row.ats)); diff != "" || o.late != row.late {
			t.Errorf("%s: %d late, want %d; lines (-want +got):\n%s", row.name, o.late, row.late, diff)
		}
	}
}
