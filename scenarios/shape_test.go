package scenarios_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/scenarios"
)

// keysOf are the keys of a plan's arrivals, in their order.
func keysOf(p *scenarios.Plan) []int32 {
	var keys []int32
	for _, a := range p.Arrivals {
		keys = append(keys, a.Key)
	}
	return keys
}

func TestWhoSends(t *testing.T) {
	for _, row := range []struct {
		keys   string
		phases []string
		want   []int32
		why    string
	}{
		{"count: 3", []string{"name: a, shape: herd, count: 2"}, []int32{0, 1, 2, 0, 1, 2}, "a herd: everybody once, then everybody again"},
		{"count: 3", []string{"name: a, shape: herd, count: 1, repeat: {times: 2, every: 1s}"}, []int32{0, 1, 2, 0, 1, 2}, "and in the next repetition"},
		{"count: 2, distribution: cycle", []string{"name: a, shape: herd, count: 1", "name: b, shape: herd, count: 0"}, []int32{0, 1}, "whatever the distribution"},
		{"count: 3, distribution: cycle", []string{"name: a, shape: burst, count: 5"}, []int32{0, 1, 2, 0, 1}, "one after the other"},
		{"count: 3, distribution: cycle", []string{"name: a, shape: burst, count: 4", "name: b, shape: burst, count: 2"}, []int32{0, 1, 2, 0, 0, 1}, "each phase starts with the first"},
		{"count: 3, distribution: cycle", []string{"name: a, shape: burst, count: 2, repeat: {times: 2, every: 1s}"}, []int32{0, 1, 2, 0}, "a repetition goes on"},
		{"count: 5, distribution: cycle", []string{"name: a, shape: burst, count: 2"}, []int32{0, 1}, "more keys than requests"},
		{"count: 1, zipf: {s: 0.9}", []string{"name: a, shape: burst, count: 2"}, []int32{0, 0}, "there is but one"},
	} {
		s := scenario(t, "10/1s", strings.Join(row.phases, "}\n- {")+"}\nkeys: {"+row.keys)
		p := planned(t, s)
		checkPlan(t, p)
		if got := keysOf(p); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %v, want %v (%s)", row.keys, got, row.want, row.why)
		}
	}
}

// Whoever is in a herd has the cost of the phase and its instant.
func TestHerd(t *testing.T) {
	p := planned(t, scenario(t, "10/1s", "name: a, at: 5s, shape: herd, count: 1, cost: 3}\nkeys: {count: 2"))
	want := []scenarios.Arrival{{At: 5 * time.Second, Cost: 3, Key: 0}, {At: 5 * time.Second, Cost: 3, Key: 1}}
	if diff := cmp.Diff(want, p.Arrivals); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Phases[0].Planned != 2 || p.Phases[0].End != 5*time.Second {
		t.Errorf("planned %d until %s, want 2 until 5s", p.Phases[0].Planned, p.Phases[0].End)
	}
}

// A jitter of four ticks adds 0 to 3 of them, each as often.
func TestJitter(t *testing.T) {
	p := planned(t, scenario(t, "10/1s", "name: a, shape: burst, count: 10000, jitter: 4us", "name: b, shape: burst, count: 1"))
	checkPlan(t, p)
	counts := map[time.Duration]float64{}
	for _, a := range ofPhase(p, 0) {
		counts[a.At]++
	}
	for at := range time.Duration(4) {
		// Binomial: standard deviation sqrt(10000 × 1/4 × 3/4).
		if n := counts[at*time.Microsecond]; math.Abs(n-2500) > 6*43.3 {
			t.Errorf("%.0f of 10000 are %d µs late, want a quarter", n, at)
		}
	}
	if len(counts) != 4 || ofPhase(p, 1)[0].At != 4*time.Microsecond {
		t.Errorf("%d instants, the next phase at %s; want 4 and 4µs", len(counts), ofPhase(p, 1)[0].At)
	}
	p = planned(t, scenario(t, "10/1s", "name: a, shape: drip, for: 4s, every: 1s, jitter: 1s"))
	checkPlan(t, p)
	for i, a := range p.Arrivals {
		if k := time.Duration(i) * time.Second; a.At < k || a.At >= k+time.Second || a.At == k {
			t.Errorf("number %d of one a second is at %s (by a chance of a millionth if just in time)", i, a.At)
		}
	}
}

func TestShapesHaveWords(t *testing.T) {
	for _, s := range scenarios.Shapes {
		lines := strings.Split(s.Picture, "\n")
		if s.Name == "" || s.Doc == "" || lines[0] != "" || len(lines) < 3 {
			t.Errorf("%q: doc %q, picture %q", s.Name, s.Doc, s.Picture)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 60 || strings.ContainsRune(line, '\t') {
				t.Errorf("%s: %q is not fit for a terminal", s.Name, line)
			}
		}
	}
}
