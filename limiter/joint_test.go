package limiter

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestJointLocally: all budgets of a request are charged or none; a shadow's
// denial denies nothing.
func TestJointLocally(t *testing.T) {
	c := Config{Limit: Limit{2, time.Minute}, OnFailure: FailLocal}
	g := newGuard(processor(mute), c)
	ip, account, trial := newFallback(g, "ip", Fixed, c), newFallback(g, "account", GCRA, c), newFallback(g, "trial", Log, c)
	trial.shadow = true
	budgets := []*fallback{ip, account, trial}
	ask := func(charge bool, costs ...int64) (allowed []bool) {
		t.Helper()
		var rs []Request
		for _, cost := range costs {
			rs = append(rs, Request{Key: "k", At: dawn, Cost: cost})
		}
		all, err := g.decideAll(t.Context(), budgets, rs, charge, refused)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range all {
			if d.Source != SourceLocal || d.Cause == nil || d.Shadow != (i == 2) {
				t.Errorf("got %+v", d)
			}
			allowed = append(allowed, d.Allowed)
		}
		return allowed
	}
	for _, row := range []struct {
		why    string
		charge bool
		costs  []int64
		want   []bool
	}{
		{"a look charges nothing", false, []int64{2, 2, 2}, []bool{true, true, true}},
		{"one denies", true, []int64{1, 3, 1}, []bool{true, false, true}},
		{"so nobody was charged", true, []int64{2, 1, 1}, []bool{true, true, true}},
		{"another denies", true, []int64{1, 1, 1}, []bool{false, true, true}},
	} {
		if got := ask(row.charge, row.costs...); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %v, want %v", row.why, got, row.want)
		}
	}
	ip.forget(Request{Key: "k"})
	if got := ask(true, 1, 1, 2); !slices.Equal(got, []bool{true, true, false}) {
		t.Errorf("a shadow denies: got %v", got)
	}
	if got := ask(false, 1, 1, 1); !slices.Equal(got, []bool{true, false, true}) {
		t.Errorf("after it: got %v", got)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := g.decideAll(gone, budgets, make([]Request, 3), true, refused); all != nil || !errors.Is(err, refused) {
		t.Errorf("a caller who gave up: got %v, %v", all, err)
	}
}

// TestJointlyAtOneInstant: a clock that is set back between looking and charging
// makes no denial of an admission.
func TestJointlyAtOneInstant(t *testing.T) {
	at := dawn
	c := Config{Limit: Limit{1, time.Minute}, OnFailure: FailLocal, Now: func() time.Time { return at }}
	g := newGuard(processor(mute), c)
	budgets := []*fallback{newFallback(g, "ip", Fixed, c)}
	ask := func() Decision {
		t.Helper()
		all, err := g.decideAll(t.Context(), budgets, []Request{{Key: "k"}}, true, refused)
		if err != nil {
			t.Fatal(err)
		}
		return all[0]
	}
	if !ask().Allowed || ask().Allowed {
		t.Fatal("want one admission")
	}
	looks := 0
	budgets[0].now = func() time.Time {
		looks++
		return dawn.Add(map[bool]time.Duration{true: time.Minute, false: time.Second}[looks == 1])
	}
	if d := ask(); !d.Allowed || !d.At.Equal(dawn.Add(time.Minute)) {
		t.Errorf("got %+v, want an admission of the second window", d)
	}
}
