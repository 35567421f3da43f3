package scenarios_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/scenarios"
)

// drawn is a random phase, as one line of YAML.
func drawn(t *rapid.T, name string) string {
	at := fmt.Sprintf("at: edge + %dus", rapid.Int64Range(-5_000_000, 5_000_000).Draw(t, "at"))
	count := rapid.Int64Range(0, 300).Draw(t, "count")
	span := rapid.Int64Range(1, 3_000_000).Draw(t, "span")
	switch rapid.SampledFrom([]string{"burst", "constant", "rate", "poisson", "poisson rate", "ramp", "drip", "saturate", "jitter", "repeat"}).Draw(t, "shape") {
	case "ramp":
		return fmt.Sprintf("name: %s, %s, for: %dus, shape: ramp, from: %d/%dus, to: %d/%dus", name, at, span, count, span, 301-count, span)
	case "drip":
		return fmt.Sprintf("name: %s, %s, for: %dus, shape: drip, every: %dus", name, at, span, 1+span/(count+1))
	case "saturate":
		return fmt.Sprintf("name: %s, %s, for: %dus, shape: saturate", name, at, span)
	case "jitter":
		return fmt.Sprintf("name: %s, %s, shape: burst, count: %d, jitter: %dus", name, at, count, span)
	case "repeat":
		return fmt.Sprintf("name: %s, %s, for: %dus, shape: poisson, rate: %d/%dus, repeat: {times: 3, every: %dus}", name, at, span, count+1, span, 1+count)
	case "burst":
		return fmt.Sprintf("name: %s, %s, shape: burst, count: %d", name, at, count)
	case "constant":
		return fmt.Sprintf("name: %s, %s, for: %dus, shape: constant, count: %d", name, at, span, count)
	case "rate":
		return fmt.Sprintf("name: %s, %s, for: %dus, shape: constant, rate: %d/%dus", name, at, span, count+1, span)
	case "poisson":
		return fmt.Sprintf("name: %s, %s, for: %dus, shape: poisson, count: %d, cost: 2", name, at, span, count)
	default:
		return fmt.Sprintf("name: %s, %s, for: %dus, shape: poisson, rate: %d/%dus", name, at, span, count+1, span)
	}
}

func TestPlansAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var phases []string
		for i := range rapid.IntRange(1, 4).Draw(t, "phases") {
			phases = append(phases, drawn(t, fmt.Sprintf("p%d", i)))
		}
		s, err := read("10/1s", phases...)
		if err != nil {
			t.Fatal(err)
		}
		s.Seed = rapid.Uint64().Draw(t, "seed")
		s.Keys.Count = rapid.IntRange(1, 20).Draw(t, "keys")
		p, err := scenarios.NewPlan(s)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, p)
		again, err := scenarios.NewPlan(s)
		if err != nil || again.Hash() != p.Hash() {
			t.Errorf("the same scenario again: %v, %s and then %s", err, p.Hash(), again.Hash())
		}
		for i, phase := range s.Phases {
			if phase.Count.Present() {
				if q, err := phase.Count.Eval(s.Limit); err != nil || q.Cmp(scenarios.Count(p.Phases[i].Planned)) != 0 {
					t.Errorf("phase %d wants %s, planned are %d (%v)", i, phase.Count, p.Phases[i].Planned, err)
				}
			}
		}
	})
}

// ofPhase are the arrivals of one phase.
func ofPhase(p *scenarios.Plan, phase int32) []scenarios.Arrival {
	var mine []scenarios.Arrival
	for _, a := range p.Arrivals {
		if a.Phase == phase {
			mine = append(mine, a)
		}
	}
	return mine
}

func TestEditingAPhaseLeavesTheOthersAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		phases := []string{drawn(t, "a"), drawn(t, "b"), drawn(t, "c")}
		seed, keys := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 20).Draw(t, "keys")
		plan := func() *scenarios.Plan {
			s, err := read("10/1s", phases...)
			if err != nil {
				t.Fatal(err)
			}
			s.Seed, s.Keys.Count = seed, keys
			p, err := scenarios.NewPlan(s)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		before := plan()
		edited := rapid.IntRange(0, 2).Draw(t, "edited")
		phases[edited] = drawn(t, phases[edited][len("name: "):len("name: ")+1])
		after := plan()
		for i := range int32(3) {
			if int(i) == edited {
				continue
			}
			if diff := cmp.Diff(ofPhase(before, i), ofPhase(after, i)); diff != "" {
				t.Errorf("phase %d changed with phase %d:\n%s", i, edited, diff)
			}
		}
	})
}

func TestSeeds(t *testing.T) {
	for _, row := range []struct {
		phase, keys string
		random      bool
		why         string
	}{
		{"shape: burst, count: 50", "1", false, "a burst leaves nothing to chance"},
		{"shape: constant, for: 1s, count: 50", "1", false, "nor does an even count"},
		{"shape: constant, for: 1s, rate: 50/s", "1", false, "nor an even rate"},
		{"shape: poisson, for: 1s, count: 50", "1", true, "a Poisson count draws instants"},
		{"shape: poisson, for: 1s, rate: 50/s", "1", true, "and so does a rate"},
		{"shape: saturate, for: 1s", "1", false, "nor saturation"},
		{"shape: ramp, for: 1s, from: 0/s, to: 99/s", "1", false, "nor a ramp"},
		{"shape: drip, for: 1s, every: 20ms", "1", false, "nor a drip"},
		{"shape: herd, count: 1", "50", false, "nor a herd, where everybody sends"},
		{"shape: burst, count: 50", "7, distribution: cycle", false, "nor taking turns"},
		{"shape: burst, count: 50, jitter: 1s", "1", true, "a jitter draws"},
		{"shape: burst, count: 50", "1000, zipf: {s: 0.9}", true, "and so does a zipf distribution"},
		{"shape: burst, count: 50", "1000", true, "with many keys a burst draws who sends"},
	} {
		hashes := map[string]bool{}
		s := scenario(t, "10/1s", "name: a, "+row.phase+"}\nkeys: {count: "+row.keys)
		for seed := range uint64(20) {
			s.Seed = seed
			hashes[planned(t, s).Hash()] = true
		}
		if want := map[bool]int{false: 1, true: 20}[row.random]; len(hashes) != want {
			t.Errorf("%s with %s keys: %d timetables of 20 seeds, want %d (%s)", row.phase, row.keys, len(hashes), want, row.why)
		}
	}
}

// The hash is of everything that a limiter can notice.
func TestHashSeesEveryChange(t *testing.T) {
	base := []string{"name: a, at: 1s, shape: burst, count: 2", "name: b, shape: burst, count: 2, cost: 2", "name: d, at: 1s, shape: burst, count: 2, cost: 2"}
	plan := func(change func(*scenarios.Scenario)) string {
		s := scenario(t, "10/1s", base...)
		change(s)
		return planned(t, s).Hash()
	}
	hashes := map[string]string{}
	for what, change := range map[string]func(*scenarios.Scenario){
		"nothing":        func(*scenarios.Scenario) {},
		"the limit":      func(s *scenarios.Scenario) { s.Limit.Max++ },
		"the window":     func(s *scenarios.Scenario) { s.Limit.Window++ },
		"the keys":       func(s *scenarios.Scenario) { s.Keys.Count = 2 },
		"an instant":     func(s *scenarios.Scenario) { s.Phases[0].At = expr(t, "1s + 1us") },
		"a count":        func(s *scenarios.Scenario) { s.Phases[0].Count = expr(t, "3") },
		"a cost":         func(s *scenarios.Scenario) { s.Phases[1].Cost = expr(t, "3") },
		"a phase's name": func(s *scenarios.Scenario) { s.Phases[0].Name = "c" },
		"a budget":       func(s *scenarios.Scenario) { s.Phases[1].Limit = expr(t, "9") },
		"a skew":         func(s *scenarios.Scenario) { s.Phases[1].Skew = expr(t, "9us") },
		"a pseudonym":    func(s *scenarios.Scenario) { s.Phases[1].Pseudonym = 9 },
		"a repetition": func(s *scenarios.Scenario) {
			s.Phases[1].Repeat = &scenarios.Repeat{Times: expr(t, "2"), Every: expr(t, "1s")}
		},
		"a jitter":   func(s *scenarios.Scenario) { s.Phases[1].Jitter = expr(t, "1s") },
		"obedience":  func(s *scenarios.Scenario) { s.Phases[1].Retry = &scenarios.Retry{Mode: "obey"} },
		"impatience": func(s *scenarios.Scenario) { s.Phases[1].Retry = &scenarios.Retry{Mode: "ignore", Wait: expr(t, "1s")} },
		"more of it": func(s *scenarios.Scenario) {
			s.Phases[1].Retry = &scenarios.Retry{Mode: "ignore", Wait: expr(t, "1s"), Within: expr(t, "9s")}
		},
		"whose request": func(s *scenarios.Scenario) { s.Phases[1].Count, s.Phases[2].Count = expr(t, "1"), expr(t, "3") },
	} {
		h := plan(change)
		if len(h) != 64 {
			t.Errorf("%s: hash %q is no SHA-256", what, h)
		}
		if other, ok := hashes[h]; ok {
			t.Errorf("changing %s gives the same hash as changing %s", what, other)
		}
		hashes[h] = what
	}
	same := plan(func(s *scenarios.Scenario) { s.Description, s.Name = "other words", "other-name" })
	if hashes[same] != "nothing" {
		t.Errorf("a description changes the timetable")
	}
}

// The k-th arrival of a constant rate is at floor(k/rate), whatever k: the error
// of one gap does not add up.
func TestConstantRatesDoNotDrift(t *testing.T) {
	for _, row := range []struct {
		rate, span string
		perSecond  *big.Rat
		why        string
	}{
		{"100/s", "10s", big.NewRat(100, 1), "a gap of whole ticks"},
		{"1/10s", "3h", big.NewRat(1, 10), "less than one a second"},
		{"0.5/s", "1h", big.NewRat(1, 2), "half a request"},
		{"1000000/s", "10ms", big.NewRat(1_000_000, 1), "one each tick"},
		{"3000000/s", "3ms", big.NewRat(3_000_000, 1), "three each tick"},
		{"7/3s", "1h", big.NewRat(7, 3), "a gap that is no whole number of ticks"},
		{"1/7us", "50ms", big.NewRat(1_000_000, 7), "a gap in ticks"},
		{"limit/window", "1000*window", big.NewRat(13, 1), "the rate of the limit, 13/1s"},
		{"0.333333333333333333333333333333/s", "2h", rational("333333333333333333333333333333/1000000000000000000000000000000"), "a fraction that fits no machine word"},
		{"31/31d", "31d", big.NewRat(1, 86400), "one a day"},
		{"1/3650d", "3650d", big.NewRat(1, 3650*86400), "one in ten years"},
	} {
		p := planned(t, scenario(t, "13/1s", "name: a, shape: constant, for: "+row.span+", rate: "+row.rate))
		end := p.Phases[0].End
		perMicro := new(big.Rat).Quo(row.perSecond, big.NewRat(1_000_000, 1))
		k := int64(0)
		for ; ; k++ {
			at := floorQuo(k, perMicro)
			exact := new(big.Rat).Quo(big.NewRat(k, 1), perMicro)
			if exact.Cmp(big.NewRat(end.Microseconds(), 1)) >= 0 {
				break
			}
			if k >= int64(len(p.Arrivals)) || p.Arrivals[k].At != at {
				t.Errorf("rate %s: arrival %d of %d is not at %s (%s)", row.rate, k, len(p.Arrivals), at, row.why)
				break
			}
		}
		if k != int64(len(p.Arrivals)) {
			t.Errorf("rate %s for %s: %d arrivals, want %d (%s)", row.rate, row.span, len(p.Arrivals), k, row.why)
		}
	}
}

func rational(s string) *big.Rat {
	r, _ := new(big.Rat).SetString(s)
	return r
}

// floorQuo is floor(k/rate) microseconds.
func floorQuo(k int64, rate *big.Rat) time.Duration {
	r := new(big.Rat).Quo(big.NewRat(k, 1), rate)
	return time.Duration(new(big.Int).Div(r.Num(), r.Denom()).Int64()) * time.Microsecond
}

// A rate over a stretch gives ceil(rate × stretch) arrivals: k/rate for k from 0.
func TestConstantCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.Int64Range(1, 5000).Draw(t, "numerator"), rapid.Int64Range(1, 2_000_000).Draw(t, "denominator")
		span := rapid.Int64Range(1, 1_000_000).Draw(t, "span")
		total := new(big.Rat).Mul(big.NewRat(n, d), big.NewRat(span, 1))
		up := new(big.Int).Div(new(big.Int).Add(total.Num(), new(big.Int).Sub(total.Denom(), big.NewInt(1))), total.Denom()).Int64()
		if up > 20_000 {
			t.Skip("too many to be quick")
		}
		s, err := read("1/1s", fmt.Sprintf("name: a, shape: constant, for: %dus, rate: %d/%dus", span, n, d))
		if err != nil {
			t.Fatal(err)
		}
		p, err := scenarios.NewPlan(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(len(p.Arrivals)); got != up {
			t.Errorf("%d arrivals, want %d", got, up)
		}
		checkPlan(t, p)
	})
}
