package report

import "testing"

// Results come from files: what no run has is refused, before it makes a picture that
// does not end.
func TestProfilesOfFilesAreSound(t *testing.T) {
	good := func() Row {
		return Row{
			Envelope: &Envelope{SpanUS: []int64{1000, 2000}, Admitted: []int64{1, 2}},
			Timeline: []Stretch{{FromUS: -1000, BinUS: 1000, Bins: 2, Admitted: []int64{1, 0}}},
		}
	}
	for name, spoil := range map[string]func(*Row){
		"far":         func(r *Row) { r.Timeline[0].FromUS = 9e18 },
		"far before":  func(r *Row) { r.Timeline[0].FromUS = -9e18 },
		"empty":       func(r *Row) { r.Timeline[0] = Stretch{BinUS: 1, PeakInWindow: []int64{}} },
		"negative":    func(r *Row) { r.Timeline[0].Admitted[0] = -9 },
		"absurd":      func(r *Row) { r.Timeline[0].Admitted[0] = 1 << 60 },
		"long bins":   func(r *Row) { r.Timeline[0].BinUS = 1 << 62 },
		"many bins":   func(r *Row) { r.Timeline[0] = Stretch{BinUS: 1, Bins: 100_000} },
		"a list":      func(r *Row) { r.Timeline[0].Denied = []int64{1} },
		"stretches":   func(r *Row) { r.Timeline = make([]Stretch, 500) },
		"spans":       func(r *Row) { r.Envelope.SpanUS[1] = 1 << 60 },
		"many spans":  func(r *Row) { r.Envelope = &Envelope{SpanUS: make([]int64, 5000), Admitted: make([]int64, 5000)} },
		"counts":      func(r *Row) { r.Envelope.Admitted[0] = -1 },
		"other spans": func(r *Row) { r.Envelope.SpanUS = r.Envelope.SpanUS[:1] },
	} {
		row := good()
		if err := row.sound(); err != nil {
			t.Fatal(err)
		}
		if spoil(&row); row.sound() == nil {
			t.Errorf("%s is fine: %+v", name, row)
		}
	}
}

// Limiters may be far apart, and a window may have no divisors: there are marks, or none,
// and soon.
func TestSparklineOfLimitersFarApart(t *testing.T) {
	for _, window := range []int64{1000, 999_983, 60_000_000, 2_678_400_000_000} {
		near, far := Stretch{BinUS: 1, Bins: 8}, Stretch{FromUS: mostMicros, BinUS: 1, Bins: 8}
		m, ok := marksOf([]pictured{{course: &Row{Timeline: []Stretch{near}}}, {course: &Row{Timeline: []Stretch{far}}}}, window, 80)
		if ok && (m.n > enoughMarks || m.step*int64(m.n) < mostMicros) {
			t.Errorf("window %d: %+v", window, m)
		}
	}
}
