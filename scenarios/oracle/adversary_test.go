package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

func limitOf(t testing.TB, text string) limiter.Limit {
	t.Helper()
	l, err := limiter.ParseLimit(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func attack(t testing.TB, a limiter.Algorithm, l limiter.Limit, o oracle.AdversaryOptions) oracle.Attack {
	t.Helper()
	found, err := oracle.Attacks(t.Context(), a, l, o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// replayed sends the requests of an attack one by one and says how much gets into
// one window.
func replayed(t testing.TB, a limiter.Algorithm, k oracle.Attack) (peak int64) {
	t.Helper()
	state := a.Model.Init()
	admitted := make([]int64, len(k.Steps))
	for i, s := range k.Steps {
		if i > 0 && s.At < k.Steps[i-1].At {
			t.Errorf("step %d at %s is before the one before it", i, s.At)
		}
		if i > 0 && s.At == k.Steps[i-1].At && s.Cost == k.Steps[i-1].Cost {
			t.Errorf("steps %d and %d are one", i-1, i)
		}
		for range s.Offered {
			next, d := a.Model.Step(k.Limit, state, limiter.Request{At: edgeOf(k.Limit).Add(s.At), Cost: s.Cost})
			if state = next; d.Allowed {
				admitted[i]++
			}
		}
		if admitted[i] != s.Admitted {
			t.Errorf("step %d: %d are admitted, the attack says %d", i, admitted[i], s.Admitted)
		}
		var units int64
		for j := range i + 1 {
			if s.At-k.Steps[j].At < k.Limit.Window {
				units += admitted[j] * max(k.Steps[j].Cost, 1)
			}
		}
		peak = max(peak, units)
	}
	return peak
}

// edgeOf is an edge of any window: a multiple of it far from the start of time.
func edgeOf(l limiter.Limit) time.Time {
	width := l.Window.Microseconds()
	return time.UnixMicro(edge.UnixMicro() / width * width)
}

// worsts are the worst cases, from docs/algorithms.md and not from the code.
var worsts = map[string]func(limit int64) int64{
	"fixed":          func(limit int64) int64 { return 2 * limit },
	"log":            func(limit int64) int64 { return limit },
	"counter":        func(limit int64) int64 { return 2 * limit },
	"counter-strict": func(limit int64) int64 { return 2*limit - 1 },
	"gcra":           func(limit int64) int64 { return 2*limit - 1 },
}

// Nobody tells the search where the worst case is, and it finds it exactly.
func TestAttacksReachTheWorstCase(t *testing.T) {
	for _, a := range limitertest.Models() {
		worst, known := worsts[a.Name]
		if !known {
			t.Errorf("no worst case is written down for %s", a.Name)
			continue
		}
		for _, window := range []time.Duration{time.Second, time.Minute, 7 * 24 * time.Hour} {
			for _, n := range []int64{1, 2, 3, 7, 10, 100, 1000, 5000} {
				l := limiter.Limit{Max: n, Window: window}
				if a.Check != nil && a.Check(l) != nil {
					continue
				}
				var o oracle.AdversaryOptions
				if n >= 1000 {
					o.MaxSteps = 300_000 // bursts are long, and the first two decide
				}
				t.Run(fmt.Sprintf("%s %s", a.Name, l), func(t *testing.T) {
					t.Parallel()
					k := attack(t, a, l, o)
					if k.Found != worst(n) || k.Claimed != worst(n) || k.Limit != l || k.Algorithm != a.Name {
						t.Errorf("found %d of %d claimed by %s at %s, want %d at %s", k.Found, k.Claimed, k.Algorithm, k.Limit, worst(n), l)
					}
					if peak := replayed(t, a, k); peak != k.Found {
						t.Errorf("the schedule gets %d into a window, the attack says %d: %+v", peak, k.Found, k.Steps)
					}
					if k.Exhaustive != (n <= 3) {
						t.Errorf("exhaustive: %t", k.Exhaustive)
					}
				})
			}
		}
	}
}

// The known schedules, to the microsecond.
func TestAttacksAreTheShortestKnown(t *testing.T) {
	for _, row := range []struct {
		algorithm, limit string
		want             []oracle.Step
		why              string
	}{
		{"fixed", "10/1m", []oracle.Step{
			{At: -us, Offered: 10, Admitted: 10, Cost: 1},
			{At: 0, Offered: 10, Admitted: 10, Cost: 1},
		}, "a budget on either side of an edge"},
		{"counter", "10/1m", []oracle.Step{
			{At: -us, Offered: 10, Admitted: 10, Cost: 1},
			{At: 54*time.Second + us, Offered: 10, Admitted: 10, Cost: 1},
		}, "10·(60s−e) < 60s as soon as e > 54s"},
		{"log", "10/1m", []oracle.Step{{At: 0, Offered: 10, Admitted: 10, Cost: 1}}, "a budget at any time"},
		{"gcra", "10/1m", []oracle.Step{
			{At: -us, Offered: 10, Admitted: 10, Cost: 1},
			{At: time.Minute - 2*us, Offered: 10, Admitted: 9, Cost: 1},
		}, "one tick less than a window refills nine"},
	} {
		a, ok := limiter.Named(row.algorithm)
		if !ok {
			t.Errorf("no algorithm is called %s", row.algorithm)
			continue
		}
		k := attack(t, a, limitOf(t, row.limit), oracle.AdversaryOptions{})
		if diff := cmp.Diff(row.want, k.Steps); diff != "" {
			t.Errorf("%s: %s:\n%s", row.algorithm, row.why, diff)
		}
	}
}

// blind sees one burst ahead, so that what it finds is from trying everything.
var blind = oracle.AdversaryOptions{Beam: 1, Bursts: 1}

func TestEveryScheduleOfFewTicksIsTried(t *testing.T) {
	for _, a := range limitertest.Models() {
		for _, row := range []struct {
			limit int64
			ticks time.Duration
			why   string
		}{
			{1, 3, "the second of two ticks is within the window"},
			{2, 6, "3 ticks refill a unit, and 4 ticks fade one"},
			{3, 8, "8/3 ticks a unit: nothing is whole"},
		} {
			l := limiter.Limit{Max: row.limit, Window: row.ticks * us}
			k := attack(t, a, l, blind)
			if want := worsts[a.Name](row.limit); k.Found != want || !k.Exhaustive || k.Limit != l {
				t.Errorf("%s %s: found %d, exhaustive %t, want %d: %s", a.Name, l, k.Found, k.Exhaustive, want, row.why)
			}
			if peak := replayed(t, a, k); peak != k.Found {
				t.Errorf("%s %s: the schedule gets %d into a window, the attack says %d", a.Name, l, peak, k.Found)
			}
			var units int64
			for _, s := range k.Steps {
				units += s.Admitted * s.Cost
			}
			if units != k.Found {
				t.Errorf("%s %s: %d units, of which %d matter: %+v", a.Name, l, units, k.Found, k.Steps)
			}
		}
	}
}

// A counter whose units fade in two ticks has no time left for the second budget:
// the first one, in the last tick, weighs nothing from e = 5 on, when it is a
// window old. At e = 4 it weighs floor(3·2/6) = 1, and two more are admitted.
func TestTooFewTicksAreNotEnoughForACounter(t *testing.T) {
	k := attack(t, limiter.Counter, limiter.Limit{Max: 3, Window: 6 * us}, oracle.AdversaryOptions{})
	if k.Found != 5 || k.Claimed != 6 || !k.Exhaustive {
		t.Errorf("found %d of %d, exhaustive %t; want 5 of 6", k.Found, k.Claimed, k.Exhaustive)
	}
}

// What is found in few ticks is carried over to the window that was asked about.
func TestShortAttacksAreStretched(t *testing.T) {
	l := limitOf(t, "3/1m")
	for _, a := range []limiter.Algorithm{limiter.Fixed, limiter.Counter} {
		k := attack(t, a, l, blind)
		if k.Found != 6 || k.Limit != l || replayed(t, a, k) != 6 {
			t.Errorf("%s: found %d at %s, want 6 at %s", a.Name, k.Found, k.Limit, l)
		}
	}
}

// Without trying everything, the guided search finds the same.
func TestTheGuidedSearchNeedsNoOther(t *testing.T) {
	for _, a := range limitertest.Models() {
		check := a.Check
		a.Check = func(l limiter.Limit) error {
			if l.Window < limiter.MinWindow {
				return errors.New("too short")
			}
			if check == nil {
				return nil
			}
			return check(l)
		}
		for _, n := range []int64{1, 2, 3} {
			k := attack(t, a, limiter.Limit{Max: n, Window: time.Minute}, oracle.AdversaryOptions{})
			if k.Found != worsts[a.Name](n) || k.Exhaustive {
				t.Errorf("%s %d: found %d, exhaustive %t", a.Name, n, k.Found, k.Exhaustive)
			}
		}
	}
}

// A claim of nothing at all does not blind the search.
func TestTheClaimIsNoHint(t *testing.T) {
	for _, a := range limitertest.Models() {
		honest := attack(t, a, limitOf(t, "10/1m"), oracle.AdversaryOptions{})
		a.Worst = func(limiter.Limit) int64 { return 0 }
		k := attack(t, a, limitOf(t, "10/1m"), oracle.AdversaryOptions{})
		if diff := cmp.Diff(honest.Steps, k.Steps); diff != "" {
			t.Errorf("%s: the claim changes the schedule:\n%s", a.Name, diff)
		}
		if k.Found != worsts[a.Name](10) || k.Claimed != 0 {
			t.Errorf("%s: found %d of %d", a.Name, k.Found, k.Claimed)
		}
	}
}

func TestNothingIsFoundAtALimitOfZero(t *testing.T) {
	for _, a := range limitertest.Models() {
		k := attack(t, a, limitOf(t, "0/1m"), oracle.AdversaryOptions{})
		if k.Found != 0 || len(k.Steps) != 1 || k.Steps[0].Offered != 1 || !k.Exhaustive {
			t.Errorf("%s: %+v", a.Name, k)
		}
	}
}

// Beyond ten thousand units a burst is one request.
func TestLargeLimits(t *testing.T) {
	for _, a := range limitertest.Models() {
		k := attack(t, a, limitOf(t, "1000000/1m"), oracle.AdversaryOptions{})
		if want := worsts[a.Name](1_000_000); k.Found != want || replayed(t, a, k) != want {
			t.Errorf("%s: found %d, want %d: %+v", a.Name, k.Found, want, k.Steps)
		}
	}
}

func TestTheSameSearchFindsTheSame(t *testing.T) {
	for _, a := range limitertest.Models() {
		first, second := attack(t, a, limitOf(t, "3/1m"), oracle.AdversaryOptions{}), attack(t, a, limitOf(t, "3/1m"), oracle.AdversaryOptions{})
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s:\n%s", a.Name, diff)
		}
	}
}

func TestASearchIsBounded(t *testing.T) {
	k := attack(t, limiter.Fixed, limitOf(t, "3/1m"), oracle.AdversaryOptions{MaxSteps: 200})
	// Of the 200, the last burst and the replays of a few steps come on top.
	if k.Exhaustive || k.Explored < 100 || k.Explored > 400 || k.Found < 3 {
		t.Errorf("got %+v", k)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k, err := oracle.Attacks(ctx, limiter.Fixed, limitOf(t, "3/1m"), oracle.AdversaryOptions{})
	if !errors.Is(err, context.Canceled) || k.Found != 3 || k.Exhaustive {
		t.Errorf("interrupted: error %v, %+v", err, k)
	}
}

func TestWhatCannotBeAttacked(t *testing.T) {
	silent := limiter.Fixed
	silent.Worst = nil
	good := limitOf(t, "10/1m")
	for _, row := range []struct {
		algorithm limiter.Algorithm
		limit     limiter.Limit
		options   oracle.AdversaryOptions
		want      string
	}{
		{silent, good, oracle.AdversaryOptions{}, "attack fixed: it has no model or claims no worst case"},
		{limiter.Log, limiter.Limit{Max: 1}, oracle.AdversaryOptions{}, "attack log: limit 1/0s: window is not 1µs to 31d in whole microseconds"},
		{limiter.Log, limiter.Limit{Max: 1, Window: 1500}, oracle.AdversaryOptions{}, "window is not 1µs to 31d"},
		{limiter.Log, limiter.Limit{Max: -1, Window: time.Second}, oracle.AdversaryOptions{}, "attack log: limit -1/1s: count is outside 0 to 2147483648"},
		{limiter.Counter, limiter.Limit{Max: 1 << 31, Window: limiter.MaxWindow}, oracle.AdversaryOptions{}, "cannot be computed exactly"},
		{limiter.Log, good, oracle.AdversaryOptions{Beam: -1}, "a bound is negative"},
	} {
		k, err := oracle.Attacks(t.Context(), row.algorithm, row.limit, row.options)
		if err == nil || !strings.Contains(err.Error(), row.want) || !cmp.Equal(k, oracle.Attack{}) {
			t.Errorf("error %v, want %q; attack %+v", err, row.want, k)
		}
	}
}

// Every algorithm has a worst case in the table above, and no other has.
func TestWorstCasesAreComplete(t *testing.T) {
	for name := range worsts {
		if !slices.Contains(limiter.Names(), name) {
			t.Errorf("%s is no algorithm", name)
		}
	}
}
