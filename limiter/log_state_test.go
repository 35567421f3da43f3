package limiter

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestLogStateIsBounded: however long a key is used, its list is about as long as
// a window, and moving it costs about one step a decision.
func TestLogStateIsBounded(t *testing.T) {
	const rounds = 10_000
	for _, row := range []struct {
		why string
		l   Limit
		gap time.Duration
	}{
		{"the limit is just met", Limit{10, time.Second}, 100 * time.Millisecond},
		{"one a window", Limit{10, time.Second}, time.Second},
		{"nothing for a while, then the rest of a burst", Limit{64, time.Second}, 17 * time.Millisecond},
	} {
		state, at, moves := newLogState(), time.Unix(0, 0), 0
		for range rounds {
			at = at.Add(row.gap)
			before := state.(logState)
			next, _ := logStep(row.l, state, Request{Key: "k", At: at})
			s := next.(logState)
			if s.list != before.list {
				moves += s.high
			}
			if n := len(*s.list); n > 2*int(row.l.Max)+1 {
				t.Fatalf("%s: the list has %d entries for a limit of %d", row.why, n, row.l.Max)
			}
			state = next
		}
		if moves > 2*rounds {
			t.Errorf("%s: moved %d entries in %d decisions", row.why, moves, rounds)
		}
	}
}

// TestOldLogStatesStayValid: the oracle goes back to old states and on from there.
// Each must decide as if it had been reached afresh.
func TestOldLogStatesStayValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limit{Max: rapid.Int64Range(1, 5).Draw(t, "max"), Window: time.Millisecond}
		type visited struct {
			state any
			path  []Request
		}
		all := []visited{{state: newLogState()}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			from := all[rapid.IntRange(max(len(all)-4, 0), len(all)-1).Draw(t, "from")]
			at := time.UnixMicro(1)
			if len(from.path) > 0 {
				at = from.path[len(from.path)-1].At
			}
			at = at.Add(time.Duration(rapid.Int64Range(0, 1500).Draw(t, "gap")) * time.Microsecond)
			r := Request{Key: "k", At: at, Cost: rapid.Int64Range(1, 2).Draw(t, "cost")}
			next, d := logStep(l, from.state, r)

			path := append(slices.Clip(from.path), r)
			fresh := newLogState()
			var want Decision
			for _, r := range path {
				fresh, want = logStep(l, fresh, r)
			}
			if d != want {
				t.Fatalf("after %d requests: %+v from an old state, %+v from the start", len(path), d, want)
			}
			all = append(all, visited{next, path})
		}
	})
}
