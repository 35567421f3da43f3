package scenarios_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

func builtin(t testing.TB, name string) scenarios.Builtin {
	t.Helper()
	b, err := scenarios.BuiltinNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// builtinPlan plans a built-in for another limit; the zero limit is its own.
func builtinPlan(t interface{ Fatal(...any) }, b scenarios.Builtin, l limiter.Limit) (*scenarios.Scenario, *scenarios.Plan) {
	s, err := b.Read(scenarios.BuiltinDefaults())
	if err != nil {
		t.Fatal(err)
	}
	if l.Window > 0 {
		s.Limit = l
	}
	if b.Log { // more than the limit of each of three clients, at random in three windows
		random := rand.New(rand.NewPCG(1, 2))
		var log []scenarios.Recorded
		for range 10 * s.Limit.Max {
			log = append(log, scenarios.Recorded{At: tenOClock + random.Int64N(3*s.Limit.Window.Microseconds()), Key: random.Int32N(3)})
		}
		slices.SortFunc(log, func(a, b scenarios.Recorded) int { return cmp.Compare(a.At, b.At) })
		s.Phases[0].Replay.Requests = log
	}
	p, err := scenarios.NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// The built-ins admit exactly these, by the models.
func TestBuiltinsAdmitExactly(t *testing.T) {
	type counts struct{ admitted, denied, peak, wrongAdmissions, wrongDenials int64 }
	limit := func(n int64) limiter.Limit { return limiter.Limit{Max: n, Window: time.Minute} }
	for _, row := range []struct {
		scenario  string
		limit     limiter.Limit // zero for that of the file
		algorithm limiter.Algorithm
		want      counts
		why       string
	}{
		{"boundary-burst", limiter.Limit{}, limiter.Fixed, counts{200, 0, 200, 100, 0}, "starts afresh at the edge"},
		{"boundary-burst", limiter.Limit{}, limiter.Log, counts{100, 100, 100, 0, 0}, "remembers the first burst"},
		{"boundary-burst", limiter.Limit{}, limiter.Counter, counts{102, 98, 102, 2, 0}, "forgets it at the pace of the window: 100 + ceil(100/60)"},
		{"counter-worst", limit(10), limiter.Fixed, counts{20, 0, 20, 10, 0}, "twice the limit"},
		{"counter-worst", limit(10), limiter.Log, counts{10, 10, 10, 0, 0}, "the limit"},
		{"counter-worst", limit(10), limiter.Counter, counts{20, 0, 20, 10, 0}, "twice the limit, within less than a window"},
		{"counter-worst", limit(100), limiter.Fixed, counts{200, 0, 200, 100, 0}, "twice the limit"},
		{"counter-worst", limit(100), limiter.Log, counts{100, 100, 100, 0, 0}, "the limit"},
		{"counter-worst", limit(100), limiter.Counter, counts{200, 0, 200, 100, 0}, "twice the limit"},
		{"counter-worst", limit(1000), limiter.Fixed, counts{2000, 0, 2000, 1000, 0}, "twice the limit"},
		{"counter-worst", limit(1000), limiter.Log, counts{1000, 1000, 1000, 0, 0}, "the limit"},
		{"counter-worst", limit(1000), limiter.Counter, counts{2000, 0, 2000, 1000, 0}, "twice the limit"},
		{"same-microsecond", limiter.Limit{}, limiter.Fixed, counts{100, 900, 100, 0, 0}, "a race is won by exactly the limit"},
		{"same-microsecond", limiter.Limit{}, limiter.Log, counts{100, 900, 100, 0, 0}, "by every sound limiter"},
		{"same-microsecond", limiter.Limit{}, limiter.Counter, counts{100, 900, 100, 0, 0}, "whatever it remembers"},
		{"steady", limiter.Limit{}, limiter.Fixed, counts{270, 0, 90, 0, 0}, "nine tenths of the limit are never refused"},
		{"steady", limiter.Limit{}, limiter.Log, counts{270, 0, 90, 0, 0}, "nor here"},
		{"steady", limiter.Limit{}, limiter.Counter, counts{270, 0, 90, 0, 0}, "nor here"},
	} {
		_, plan := builtinPlan(t, builtin(t, row.scenario), row.limit)
		m := expect(t, plan, row.algorithm).Measures
		if got := (counts{m.Admitted, m.Denied, m.PeakInWindow, m.WrongAdmissions, m.WrongDenials}); got != row.want {
			t.Errorf("%s, limit %s, %s: got %+v, want %+v (%s)", row.scenario, plan.Limit, row.algorithm.Name, got, row.want, row.why)
		}
	}
}

// beyondModels are checks of what a model does not have: keys and latencies.
func beyondModels(c scenarios.Check) bool {
	return c.Timed() || slices.Contains([]string{"keys", "members", "keys_left", "bytes_left"}, c.Metric)
}

// measuresOf are the measures of a phase, or of all for "".
func measuresOf(p *scenarios.Plan, j *scenarios.Judgement, phase string) scenarios.Measures {
	for i, planned := range p.Phases {
		if planned.Name == phase {
			return j.Phases[i].Measures
		}
	}
	return j.Measures
}

// violated are the checks of a scenario that a model itself does not meet.
func violated(t fatal, s *scenarios.Scenario, p *scenarios.Plan, a limiter.Algorithm) []string {
	j := expect(t, p, a)
	var broken []string
	for _, c := range s.Checks {
		if c.Algorithm != "" && !a.Is(c.Algorithm) || c.Clock != "" && c.Clock != scenarios.Virtual || beyondModels(c) {
			continue
		}
		want, err := c.Value.Eval(s.Limit)
		got, sampled := measuresOf(p, j, c.Phase).Measure(c.Metric)
		if err != nil || !sampled || !c.Holds(got, want) {
			broken = append(broken, fmt.Sprintf("%s under %s: %s is %s, want %s (sampled %t, %v)", a.Name, s.Limit, c, got, want, sampled, err))
		}
	}
	// Where clocks differ, no limiter can keep a promise about true time.
	skewed := slices.ContainsFunc(p.Phases, func(phase scenarios.PlannedPhase) bool { return phase.Skew != 0 })
	if !j.Promise.Kept && !skewed {
		broken = append(broken, fmt.Sprintf("%s under %s: peak %d is above the promised %d", a.Name, s.Limit, j.Measures.PeakInWindow, j.Promise.MaxInWindow))
	}
	return broken
}

// made are the limits that a built-in is made for; those that are not listed are
// for all.
var made = map[string]func(limiter.Limit) bool{
	"clock-ahead":          tenths,
	"clock-behind":         tenths,
	"drip-on-grid":         func(l limiter.Limit) bool { return l.Window >= time.Duration(l.Max)*time.Millisecond }, // or ticks are coarser than the grid
	"last-slot":            func(l limiter.Limit) bool { return l.Max >= 2 },                                        // one to fill it, and one
	"limit-cut":            halves,
	"limit-raise":          halves,
	"retry-storm-constant": halves,
	"redis-outage-live":    evens, // counts are halves and quarters of the limit
	"stall":                evens,
	"tiered-api":           func(l limiter.Limit) bool { return l.Window == time.Minute || l.Window == 10*time.Second }, // the edge knows no others
	"trending-spike":       func(l limiter.Limit) bool { return l.Window < time.Second },                                // it takes ten windows at a rate
	"ttl-drain":            func(l limiter.Limit) bool { return l.Window <= time.Minute },                               // it waits in real time
}

// halves and tenths report whether such a part of the window is a whole number of
// ticks, and evens whether such parts of the limit are whole.
func evens(l limiter.Limit) bool  { return l.Max%4 == 0 }
func halves(l limiter.Limit) bool { return l.Window%(2*time.Microsecond) == 0 }
func tenths(l limiter.Limit) bool { return l.Window%(10*time.Microsecond) == 0 }

func madeFor(b scenarios.Builtin, l limiter.Limit) bool {
	return made[b.Name] == nil || made[b.Name](l)
}

// A built-in is true of every sound limiter at every limit, not only at its own.
func TestChecksOfBuiltinsHoldForAnyLimit(t *testing.T) {
	t.Parallel()
	for name := range made {
		builtin(t, name) // it exists
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SampledFrom(scenarios.Builtins()).Draw(t, "scenario")
		l := limiter.Limit{
			Max:    rapid.Int64Range(1, 300).Draw(t, "max"),
			Window: time.Duration(rapid.Int64Range(60_000, 48*3600*1_000_000).Draw(t, "window")) * time.Microsecond,
		}
		if !madeFor(b, l) {
			l = limiter.Limit{} // its own
		}
		s, p := builtinPlan(t, b, l)
		for _, a := range limitertest.Models() {
			for _, broken := range violated(t, s, p, a) {
				t.Errorf("%s: %s", b.Name, broken)
			}
		}
	})
}

// Small limits are where rounding bites.
func TestChecksOfBuiltinsHoldForSmallLimits(t *testing.T) {
	t.Parallel()
	for _, b := range scenarios.Builtins() {
		for _, limit := range []int64{1, 2, 3, 4, 7, 10, 13} {
			for _, window := range []time.Duration{77_777 * time.Microsecond, 48 * time.Hour} {
				l := limiter.Limit{Max: limit, Window: window}
				if !madeFor(b, l) {
					continue
				}
				s, p := builtinPlan(t, b, l)
				for _, a := range limitertest.Models() {
					for _, broken := range violated(t, s, p, a) {
						t.Errorf("%s: %s", b.Name, broken)
					}
				}
			}
		}
	}
}

// What was measured once can be compared with what is measured later only if the
// timetable is still the same.
func TestTimetablesOfBuiltinsDoNotChange(t *testing.T) {
	for _, row := range []struct {
		scenario string
		limit    limiter.Limit // zero for that of the file
		want     string
	}{
		{"boundary-burst", limiter.Limit{}, "f988889a"},
		{"boundary-burst", limiter.Limit{Max: 50, Window: 2 * time.Second}, "060047cb"},
		{"counter-worst", limiter.Limit{}, "6c51bf74"},
		{"same-microsecond", limiter.Limit{}, "3d245fd5"},
		{"steady", limiter.Limit{}, "b01a67fb"},
	} {
		_, p := builtinPlan(t, builtin(t, row.scenario), row.limit)
		if got := p.Hash()[:8]; got != row.want {
			t.Errorf("%s for %s is plan %s, and was %s", row.scenario, p.Limit, got, row.want)
		}
	}
	// Random instants and keys, and a cost.
	s := scenario(t, "10/1s", "name: a, shape: poisson, for: 1s, rate: 50/s", "name: b, shape: poisson, for: 1s, count: 20, cost: 2}\nkeys: {count: 7")
	if got := planned(t, s).Hash()[:8]; got != "f8b78e9e" {
		t.Errorf("what seed 1 draws is plan %s, and was f8b78e9e", got)
	}
}

func TestBuiltinsAreFitToPrint(t *testing.T) {
	all := scenarios.Builtins()
	if len(all) == 0 {
		t.Fatal("there are none")
	}
	for i, b := range all {
		s, err := b.Read(scenarios.BuiltinDefaults())
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
			continue
		}
		text := string(b.Source)
		switch {
		case s.Name != b.Name:
			t.Errorf("%s calls itself %s", b.Name, s.Name)
		case s.Description == "" || len(s.Checks) == 0:
			t.Errorf("%s has description %q and %d checks", b.Name, s.Description, len(s.Checks))
		case !strings.HasPrefix(text, "# "):
			t.Errorf("%s does not begin with a comment", b.Name)
		case strings.Contains(text, "\t") || strings.Contains(text, "\r") || !strings.HasSuffix(text, "\n"):
			t.Errorf("%s has tabs, odd line ends or no last one", b.Name)
		case i > 0 && all[i-1].Name >= b.Name:
			t.Errorf("%s stands behind %s", b.Name, all[i-1].Name)
		}
	}
	if _, err := scenarios.BuiltinNamed("boundry-burst"); err == nil || !strings.Contains(err.Error(), `(did you mean "boundary-burst"?)`) {
		t.Errorf("a typo: %v", err)
	}
}

// expect is what oracle.Expect says, which has an error only for a disk that cannot be
// read.
func expect(t fatal, p *scenarios.Plan, a limiter.Algorithm) *scenarios.Judgement {
	t.Helper()
	j, err := oracle.Expect(p, a)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// fatal is a *testing.T or a *rapid.T.
type fatal interface {
	Helper()
	Fatal(...any)
}
