package target_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// windowed is a target with a key for each window of ten seconds, by the caller's
// clock. The windows around luaT0 have the numbers 176722559 and 176722560.
func windowed() *target.Target {
	return &target.Target{Name: "windowed", Timed: true, Keys: func(identity string, at time.Time) []string {
		return []string{fmt.Sprintf("%s:%d", identity, at.Unix()/10)}
	}}
}

func TestTraces(t *testing.T) {
	const before, after = ":176722559", ":176722560"
	limit := limiter.Limit{Max: 3, Window: 10 * sec}
	at := func(d time.Duration) limiter.Decision { return limiter.Decision{At: luaT0.Add(d)} }
	one := []scenarios.Arrival{{At: -us}}
	for _, row := range []struct {
		clock      scenarios.Clock
		opened     *target.Target
		attempts   int
		phases     []scenarios.PlannedPhase
		arrivals   []scenarios.Arrival
		results    scenarios.ResultList
		keys       []string
		identities int
		why        string
	}{
		{scenarios.Server, keyed("%"), 1, nil, one, []scenarios.Result{{}}, nil, 0, "missed"},
		{scenarios.Server, keyed("%"), 1, nil, one, []scenarios.Result{{Outcome: scenarios.Errored}}, []string{"k0-1"}, 1, "sent, and that is all that is known"},
		{scenarios.Server, keyed("%"), 3, nil, one, []scenarios.Result{{Outcome: scenarios.Denied}}, []string{"k0-1", "k0-2", "k0-3"}, 1, "three attempts"},
		{scenarios.Server, keyed("%"), 3, nil, one, []scenarios.Result{{}}, []string{"k0-1", "k0-2"}, 0, "missed by the last of them"},
		{
			scenarios.Server, keyed("%"), 2, nil,
			[]scenarios.Arrival{{}, {}, {Key: 1}},
			[]scenarios.Result{{}, {Outcome: scenarios.Admitted}, {}},
			[]string{"k0-1", "k0-2", "k1-1"},
			1, "missed, and then not",
		},
		{scenarios.Server, keyed("%"), 0, nil, one, []scenarios.Result{{Outcome: scenarios.Denied}}, []string{"k0-1"}, 1, "no attempt is one"},
		{
			scenarios.Virtual, keyed("%"), 1,
			[]scenarios.PlannedPhase{{}, {Pseudonym: 2}},
			[]scenarios.Arrival{{}, {Phase: 1}, {Key: 1, Phase: 1}},
			[]scenarios.Result{{Outcome: scenarios.Admitted}, {Outcome: scenarios.Admitted}, {Outcome: scenarios.Denied}},
			[]string{"k0-1", "k0-1-p2", "k1-1-p2"},
			3, "two pseudonyms of one client",
		},
		{scenarios.Client, windowed(), 1, nil, one, []scenarios.Result{{Outcome: scenarios.Admitted, Decision: at(-us)}}, []string{"k0-1" + before}, 1, "as planned"},
		{scenarios.Client, windowed(), 1, nil, one, []scenarios.Result{{Outcome: scenarios.Admitted, Decision: at(0)}}, []string{"k0-1" + after}, 1, "late, as it told"},
		{
			scenarios.Client, windowed(), 1, nil, one,
			[]scenarios.Result{{Outcome: scenarios.Unknown, Planned: 5 * sec, Sent: 5*sec + us, Done: 9 * sec}},
			[]string{"k0-1" + after},
			1, "late, and no answer",
		},
		{
			scenarios.Virtual, windowed(), 1, nil, one,
			[]scenarios.Result{{Outcome: scenarios.Admitted, Sent: 7 * sec, Decision: at(3 * sec)}},
			[]string{"k0-1" + before},
			1, "under the virtual clock it is known what was asked, whatever is told",
		},
		{
			scenarios.Virtual, windowed(), 1,
			[]scenarios.PlannedPhase{{Skew: us}},
			one,
			[]scenarios.Result{{Outcome: scenarios.Admitted, Decision: at(0)}},
			[]string{"k0-1" + after},
			1, "a sender that is ahead",
		},
		{
			scenarios.Virtual, windowed(), 1, nil,
			[]scenarios.Arrival{{At: -us}, {}, {At: sec}},
			[]scenarios.Result{{Outcome: scenarios.Admitted}, {Outcome: scenarios.Denied}, {Outcome: scenarios.Denied}},
			[]string{"k0-1" + before, "k0-1" + after},
			1, "two windows",
		},
	} {
		if row.phases == nil {
			row.phases = []scenarios.PlannedPhase{{}}
		}
		r := target.Traffic{
			Plan: &scenarios.Plan{Clock: row.clock, Limit: limit, Phases: row.phases, Arrivals: row.arrivals}, Results: row.results,
			Edge: luaT0, Name: name, Attempts: row.attempts,
		}
		got := r.Traces(row.opened)
		if !slices.Equal(got.Keys(), row.keys) || got.Identities() != row.identities {
			t.Errorf("%s: %q of %d, want %q of %d", row.why, got.Keys(), got.Identities(), row.keys, row.identities)
		}
	}
}
