package edge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestOneMachineIsTheModel: without a network a binding is limiter.Fixed or
// limiter.Counter, in every decision and every wait, late clocks included.
func TestOneMachineIsTheModel(t *testing.T) {
	for kind, a := range map[Kind]limiter.Algorithm{FixedWindow: limiter.Fixed, SlidingWindow: limiter.Counter} {
		t.Run(string(kind), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				l := limiter.Limit{Max: rapid.Int64Range(1, 9).Draw(t, "max"), Window: 10 * time.Second}
				b, err := New(Config{Limit: l, Kind: kind, Locations: 1, Machines: 1, Sync: 3 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				state := a.Model.Init()
				now, newest := t0, t0
				for range rapid.IntRange(1, 80).Draw(t, "requests") {
					now = now.Add(rapid.SampledFrom([]time.Duration{0, 0, 1, 2500, 9999_999, 10_000_000, 25_000_000, -1, -700_000, -9_000_000}).Draw(t, "gap") * time.Microsecond)
					if lastPeriod := newest.Truncate(l.Window).Add(-l.Window); now.Before(lastPeriod) {
						now = lastPeriod // before it, the clock was set back
					}
					if now.After(newest) {
						newest = now
					}
					var want limiter.Decision
					state, want = a.Model.Step(l, state, limiter.Request{Key: "k", At: now})
					allowed, wait := b.ask(now.UnixMicro(), "k", connection{})
					if allowed != want.Allowed || wait != want.RetryAfter.Microseconds() {
						t.Fatalf("at %s: got %t, wait %d µs; the model says %t, %s", now, allowed, wait, want.Allowed, want.RetryAfter)
					}
				}
			})
		})
	}
}

// naive is the network played through step by step: every turn of every machine
// happens, one after the other, and counts are kept for each period by itself.
type naive struct {
	c        Config
	turns    turns
	now      int64
	store    map[int64]int64
	pending  []map[int64]int64
	seen     []map[int64]int64
	exchange int
}

func newNaive(c Config, at int64, t turns) *naive {
	n := &naive{c: c, turns: t, now: at, store: map[int64]int64{}}
	for range c.Machines {
		n.pending = append(n.pending, map[int64]int64{})
		n.seen = append(n.seen, map[int64]int64{})
	}
	return n
}

func (n *naive) ask(at int64, machine int) bool {
	type turn struct {
		at      int64
		machine int
	}
	var due []turn
	for i := range n.pending {
		for next := n.turns.after(n.now, i); next <= at; next += n.turns.every {
			due = append(due, turn{next, i})
		}
	}
	slices.SortFunc(due, func(a, b turn) int { return cmp.Or(cmp.Compare(a.at, b.at), a.machine-b.machine) })
	for _, d := range due {
		for window, count := range n.pending[d.machine] {
			n.store[window] += count
		}
		n.pending[d.machine], n.seen[d.machine] = map[int64]int64{}, map[int64]int64{}
		for window, count := range n.store {
			n.seen[d.machine][window] = count
		}
		n.exchange++
	}
	n.now = at

	period := n.c.Limit.Window.Microseconds()
	window := at / period
	count := func(w int64) int64 { return n.pending[machine][w] + n.seen[machine][w] }
	used := count(window)
	if n.c.Kind == SlidingWindow {
		used += count(window-1) * (period - at%period) / period
	}
	if used >= n.c.Pinned() {
		return false
	}
	n.pending[machine][window]++
	return true
}

// TestShortcutsChangeNothing: skipping turns, and dropping what is over, decide
// as the network does that goes through every turn and forgets nothing.
func TestShortcutsChangeNothing(t *testing.T) {
	exchanges := 0
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Limit:     limiter.Limit{Max: rapid.Int64Range(1, 6).Draw(t, "max"), Window: 10 * time.Second},
			Kind:      rapid.SampledFrom([]Kind{FixedWindow, SlidingWindow}).Draw(t, "kind"),
			Inclusive: rapid.Bool().Draw(t, "inclusive"),
			Locations: 1, Machines: rapid.IntRange(1, 4).Draw(t, "machines"),
			Sync: rapid.SampledFrom([]time.Duration{500 * time.Millisecond, 3 * time.Second, 13 * time.Second}).Draw(t, "sync"),
			Seed: rapid.Uint64().Draw(t, "seed"),
		}
		b, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		now := t0
		n := newNaive(c, now.UnixMicro(), b.locations[0].turns)
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			toTurn := n.turns.next(now.UnixMicro()) - now.UnixMicro()
			now = now.Add(time.Duration(rapid.OneOf(
				rapid.SampledFrom([]int64{0, toTurn - 1, toTurn}), rapid.Int64Range(0, 3_000_000), rapid.Int64Range(0, 25_000_000),
			).Draw(t, "gap")) * time.Microsecond)
			over := connection{number: rapid.Uint64Range(0, 9).Draw(t, "connection")}
			got, _ := b.ask(now.UnixMicro(), "k", over)
			if want := n.ask(now.UnixMicro(), b.machineOf(over)); got != want {
				t.Fatalf("at %s machine %d: got %t, want %t", now, b.machineOf(over), got, want)
			}
		}
		exchanges += n.exchange
	})
	if exchanges == 0 {
		t.Error("no exchange ever happened")
	}
}

func TestTurnsAfter(t *testing.T) {
	ten := turns{every: 10, phases: []int64{0, 3, 9}}
	for _, row := range []struct {
		why         string
		at          int64
		machine     int
		want, first int64
	}{
		{"the beginning of time is a turn itself, and over", 0, 0, 10, 3},
		{"before the first phase", 0, 1, 3, 3},
		{"just before", 2, 1, 3, 3},
		{"a turn's own instant is over", 3, 1, 13, 9},
		{"the last of the round", 9, 2, 19, 10},
		{"later", 1234, 2, 1239, 1239},
	} {
		if got := ten.after(row.at, row.machine); got != row.want {
			t.Errorf("%s: after(%d, %d) = %d, want %d", row.why, row.at, row.machine, got, row.want)
		}
		if got := ten.next(row.at); got != row.first {
			t.Errorf("%s: next(%d) = %d, want %d", row.why, row.at, got, row.first)
		}
	}
}

// TestConnectionsSpread: every machine gets its share of connections, whatever
// the seed, and seeds differ.
func TestConnectionsSpread(t *testing.T) {
	first := map[string]bool{}
	for seed := range uint64(20) {
		b, err := New(Config{
			Limit: limiter.Limit{Max: 1, Window: time.Minute}, Kind: FixedWindow,
			Locations: 2, Machines: 8, Sync: time.Second, Seed: seed,
		})
		if err != nil {
			t.Fatal(err)
		}
		for location := range 2 {
			met := make([]int, 8)
			landed := ""
			for i := range uint64(8000) {
				m := b.machineOf(connection{location, i})
				met[m]++
				if i < 12 {
					landed += fmt.Sprint(m)
				}
			}
			if slices.Min(met) < 850 || slices.Max(met) > 1150 {
				t.Errorf("seed %d, location %d: 8000 connections over 8 machines: %v", seed, location, met)
			}
			first[landed] = true
		}
	}
	if len(first) < 39 {
		t.Errorf("only %d of 40 networks differ in their first connections", len(first))
	}
}

func TestBoundedKeys(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, row := range []struct {
		why, key string
		same     bool
	}{
		{"short", "client", true},
		{"the longest that is kept", long, true},
		{"one more", long + "x", false},
		{"a header full", strings.Repeat("y", 1<<20), false},
	} {
		got := bounded(row.key)
		if (got == row.key) != row.same || !row.same && len(got) != 65 {
			t.Errorf("%s: %d bytes became %q", row.why, len(row.key), got)
		}
		if !row.same && bounded(got) == got {
			t.Errorf("%s: a client can name itself as another's digest", row.why)
		}
	}
}
