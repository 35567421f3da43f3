package limiter_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
)

// TestGCRASpans: a closed span s holds limit + floor(limit s/W) at most, late
// stamps or not: every admission moves the instant at which all is back by cost
// W/limit or more, from the span's start at least to one window after its end at
// most, in whichever order the stamps come.
func TestGCRASpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &key{a: limiter.GCRA, l: drawLimit(t), state: limiter.GCRA.Model.Init()}
		var taken []admission
		now := t0
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			now = now.Add(drawGap(t, k.l))
			at, cost := now, drawCost(t, k.l)
			if rapid.IntRange(0, 4).Draw(t, "late") == 0 {
				at = now.Add(-drawGap(t, k.l))
			}
			if k.allow(at, cost).Allowed {
				taken = append(taken, admission{at, cost})
			}
		}
		w := k.l.Window.Microseconds()
		for _, first := range taken {
			for _, last := range taken {
				s := last.at.Sub(first.at).Microseconds()
				var sum int64
				for _, a := range taken {
					if !a.at.Before(first.at) && !a.at.After(last.at) {
						sum += a.units
					}
				}
				if bound := k.l.Max + k.l.Max*s/w; s >= 0 && sum > bound {
					t.Fatalf("limit %s: %d admitted within %d µs, the bound is %d", k.l, sum, s, bound)
				}
			}
		}
	})
}

// TestGCRASaturated: ten requests for each that comes back, for ten windows from
// an idle key. The 6000th is 60 ms before the end: the limit, and
// floor(599.94/0.6) = 999 that came back.
func TestGCRASaturated(t *testing.T) {
	k := &key{a: limiter.GCRA, l: limiter.Limit{Max: 100, Window: time.Minute}, state: limiter.GCRA.Model.Init()}
	var taken []admission
	for i := range 10_000 {
		at := t0.Add(time.Duration(i) * 60 * time.Millisecond)
		if k.allow(at, 1).Allowed {
			taken = append(taken, admission{at, 1})
		}
	}
	if len(taken) != 1099 {
		t.Errorf("%d admitted in ten windows, want 10×100 + 99", len(taken))
	}
	if most := mostWithin(taken, k.l.Window); most != 199 {
		t.Errorf("%d admitted in a trailing window, want 199", most)
	}
	if d := k.allow(t0.Add(10*time.Minute), 1); !d.Allowed {
		t.Errorf("the next window begins with %+v, want the 1100th", d)
	}
}

// TestGCRABounds: Worst and AfterEdge, and that a client who asks all the time
// reaches them. Above a unit a tick a window less one tick holds less.
func TestGCRABounds(t *testing.T) {
	for _, row := range []struct {
		limit string
		after time.Duration
		want  int64
		why   string
	}{
		{"100/1m", 0, 100, "the tick between burst and edge gives nothing back"},
		{"100/1m", 600*time.Millisecond - 2*tick, 100, "600 ms - 1 µs after the burst"},
		{"100/1m", 600*time.Millisecond - tick, 101, "600 ms after the burst"},
		{"100/1m", time.Second, 101, "1.000001 / 0.6"},
		{"100/1m", 15 * time.Second, 125, "a quarter"},
		{"100/1m", 30 * time.Second, 150, "half"},
		{"100/1m", time.Minute - 2*tick, 199, "a trailing window: the worst case"},
		{"100/1m", time.Minute - tick, 200, "one tick more than a trailing window"},
		{"0/1m", 30 * time.Second, 0, "nothing of nothing"},
		{"1/1ms", time.Millisecond - 2*tick, 1, "the only unit is not back"},
		{"2000/1ms", 0, 2002, "two come back each tick"},
		{"2000/1ms", time.Millisecond - 2*tick, 3998, "999 ticks of two"},
		{"1500/1ms", time.Millisecond - 2*tick, 2998, "999 ticks of one and a half: 1498.5"},
	} {
		l, err := limiter.ParseLimit(row.limit)
		if err != nil {
			t.Fatal(err)
		}
		k := &key{a: limiter.GCRA, l: l, state: limiter.GCRA.Model.Init()}
		admitted := int64(0)
		for _, at := range []time.Time{t0.Add(-tick), t0.Add(row.after)} {
			for k.allow(at, 1).Allowed {
				admitted++
			}
		}
		if bound := limiter.GCRA.AfterEdge(l, time.Microsecond, row.after); bound != row.want || admitted != row.want {
			t.Errorf("%s, limit %s: AfterEdge(%s) is %d, admitted are %d, want %d", row.why, l, row.after, bound, admitted, row.want)
		}
		if worst := limiter.GCRA.Worst(l); row.after == l.Window-2*tick && worst != row.want {
			t.Errorf("%s, limit %s: Worst is %d, want %d", row.why, l, worst, row.want)
		}
	}
	if worst := limiter.GCRA.Worst(limiter.Limit{Window: time.Minute}); worst != 0 {
		t.Errorf("limit 0: Worst is %d, want 0", worst)
	}
}

// TestGCRAState pins what is in the key, and that a fraction changes its parts
// exactly and upwards, even where the product is far above 2^53.
func TestGCRAState(t *testing.T) {
	client, at := embedded(t).Client(), t0.UnixMicro()
	for _, row := range []struct {
		why          string
		parts, old   int64 // in the key
		max          int64 // of the limiter
		whole, after int64 // microseconds and parts, before the request takes its own
	}{
		{"nothing to change", 0, 7, 10, 0, 0},
		{"the same limit", 6, 7, 7, 0, 6},
		{"2/3 are 4.67/7", 2, 3, 7, 0, 5},
		{"6/7 are 2.57/3: a whole one", 6, 7, 3, 1, 0},
		{"a half is a half", 1 << 30, 1 << 31, 1 << 20, 0, 1 << 19},
		{"(2^31-2) 2^31 / (2^31-1) = 2^31-1 - 1/(2^31-1)", 1<<31 - 2, 1<<31 - 1, 1 << 31, 0, 1<<31 - 1},
		{"(2^31-1) (2^31-1) / 2^31 = 2^31-2 + 2^-31, which a double loses", 1<<31 - 1, 1 << 31, 1<<31 - 1, 1, 0},
		{"2^30 (2^31-1) / 2^31 = 2^30 - 1/2", 1 << 30, 1 << 31, 1<<31 - 1, 0, 1 << 30},
	} {
		l := open(t, limiter.GCRA, func(c *limiter.Config) { c.Limit = limiter.Limit{Max: row.max, Window: time.Second} })
		key := l.Keys("k")[0]
		if err := client.Set(t.Context(), key, fmt.Sprintf("%d %d %d", at, row.parts, row.old), time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		allow(t, l, limiter.Request{Key: "k", At: t0})
		taken := row.after + 1_000_000 // a unit is a second cut into max, so 10^6 parts
		want := fmt.Sprintf("%d %d %d", at+row.whole+taken/row.max, taken%row.max, row.max)
		if got, err := client.Get(t.Context(), key).Result(); err != nil || got != want {
			t.Errorf("%s: the key holds %q, error %v, want %q", row.why, got, err, want)
		}
	}
}

// TestGCRAForeignLimit: a limit of 0 admits nothing and so writes nothing.
func TestGCRAForeignLimit(t *testing.T) {
	l := open(t, limiter.GCRA, nil)
	if err := embedded(t).Client().Set(t.Context(), l.Keys("k")[0], "1 2 0", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	if d, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: t0}); err == nil {
		t.Errorf("got the decision %+v, want an error", d)
	}
}

// TestGCRALateHeal: a denial of a day-old stamp waits for more than a day, and
// heals the key for a window; a peek does not even do that.
func TestGCRALateHeal(t *testing.T) {
	l := open(t, limiter.GCRA, nil)
	client, key := embedded(t).Client(), l.Keys("k")[0]
	allow(t, l, limiter.Request{Key: "k", At: t0, Cost: 10})
	if err := client.Persist(t.Context(), key).Err(); err != nil {
		t.Fatal(err)
	}
	late := limiter.Request{Key: "k", At: t0.Add(-day)}
	if _, err := l.Peek(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if life, err := client.PTTL(t.Context(), key).Result(); err != nil || life != -1 {
		t.Errorf("after a peek the key lives %s, error %v, want no time to live", life, err)
	}
	d := allow(t, l, late)
	if want := day + 6*time.Second; d.Allowed || d.RetryAfter != want || d.ResetAfter != day+time.Minute {
		t.Errorf("got %+v, want a denial with a wait of %s", d, want)
	}
	life, err := client.PTTL(t.Context(), key).Result()
	if err != nil || life <= 0 || life > time.Minute+time.Second {
		t.Errorf("the key lives %s, error %v, want a window and a second at most", life, err)
	}
}
