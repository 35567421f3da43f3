package oracle_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// No schedule gets more out of a sound algorithm than it claims, and every
// schedule does what the attack says, at any limit and in windows of a few ticks
// too, where nothing divides evenly.
func TestSoundClaimsHold(t *testing.T) {
	for _, a := range limitertest.Models() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(r *rapid.T) {
				l := limiter.Limit{
					Max: rapid.Int64Range(0, 40).Draw(r, "max"),
					Window: us * rapid.OneOf(
						rapid.Custom(func(r *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(1, 100).Draw(r, "few")) }),
						rapid.Custom(func(r *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(1, 1e9).Draw(r, "many")) }),
					).Draw(r, "window"),
				}
				o := oracle.AdversaryOptions{
					MaxSteps: 20_000,
					Beam:     rapid.IntRange(1, 8).Draw(r, "beam"),
					Bursts:   rapid.IntRange(1, 5).Draw(r, "bursts"),
				}
				k := attack(t, a, l, o)
				if k.Found > k.Claimed {
					r.Fatalf("limit %s: %d in a trailing window of %s, claimed are %d: %+v", l, k.Found, k.Limit.Window, k.Claimed, k.Steps)
				}
				if peak := replayed(t, a, k); peak != k.Found {
					r.Fatalf("limit %s: the schedule gets %d into a window, the attack says %d: %+v", l, peak, k.Found, k.Steps)
				}
				if k.Found < l.Max {
					r.Fatalf("limit %s: not even one budget was found: %+v", l, k)
				}
			})
		})
	}
}
