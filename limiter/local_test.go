package limiter

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

var dawn = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// modelled is a Redis that decides by the model, while it is there.
type modelled struct {
	model Model
	limit Limit
	away  bool
	state map[string]any
}

func (m *modelled) process(_ context.Context, cmd redis.Cmder) error {
	if m.away {
		return refused
	}
	args := cmd.Args()
	keys, _ := args[2].(int)
	name, rest := args[3].(string), args[3+keys:]
	cost, _ := strconv.ParseInt(rest[3].(string), 10, 64)
	before, known := m.state[name]
	if !known {
		before = m.model.Init()
	}
	at := rest[0].(int64)
	after, d := m.model.Step(m.limit, before, Request{At: time.UnixMicro(at), Cost: cost})
	m.state[name] = after
	allowed := int64(0)
	if d.Allowed {
		allowed = 1
	}
	cmd.(interface{ SetVal(any) }).SetVal([]any{
		allowed, d.Remaining, d.RetryAfter.Microseconds(), d.ResetAfter.Microseconds(), at,
	})
	return nil
}

// TestLocalBound: while Redis comes and goes, the process alone keeps to what the
// algorithm admits of its own budget, and the two to the sum. Each local decision
// is the model's over what this process admitted.
func TestLocalBound(t *testing.T) {
	for _, a := range Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				l := Limit{Max: rapid.Int64Range(2, 12).Draw(t, "max"), Window: time.Second}
				own := Limit{Max: rapid.Int64Range(1, l.Max).Draw(t, "local max"), Window: l.Window}
				server := &modelled{model: a.Model, limit: l, state: map[string]any{}}
				circuit := &Circuit{Failures: rapid.SampledFrom([]int{-1, 1, 3}).Draw(t, "failures")}
				now := dawn
				circuit.Now = func() time.Time { return now }
				limiter, err := New(processor(server.process), Config{
					Algorithm: a, Limit: l, OnFailure: FailLocal, LocalMax: own.Max, Circuit: circuit,
				})
				if err != nil {
					t.Fatal(err)
				}
				var admitted [2][]time.Time // here, and in all
				state := a.Model.Init()
				for range rapid.IntRange(1, 120).Draw(t, "requests") {
					if rapid.IntRange(0, 9).Draw(t, "flap") == 0 {
						server.away = !server.away
					}
					now = now.Add(time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 1e4, 1e5, 5e5}).Draw(t, "gap")) * tick)
					d, err := limiter.Allow(context.Background(), Request{Key: "k", At: now})
					if err != nil {
						t.Fatal(err)
					}
					if d.Source == SourceLocal {
						var want Decision
						state, want = a.Model.Step(own, state, Request{Key: "k", At: now})
						want.Source, want.Cause = SourceLocal, d.Cause
						if d != want || d.Cause == nil {
							t.Fatalf("got %+v, want the model's %+v", d, want)
						}
					}
					if d.Allowed {
						admitted[1] = append(admitted[1], now)
						if d.Source == SourceLocal {
							admitted[0] = append(admitted[0], now)
						}
					}
					if n := trailing(admitted[0], now, l.Window); n > a.Worst(own) {
						t.Fatalf("%d admitted here in a window, want at most %d", n, a.Worst(own))
					}
					if n := trailing(admitted[1], now, l.Window); n > a.Worst(l)+a.Worst(own) {
						t.Fatalf("%d admitted in a window, want at most %d + %d", n, a.Worst(l), a.Worst(own))
					}
				}
			})
		})
	}
}

func trailing(all []time.Time, now time.Time, window time.Duration) (n int64) {
	for _, at := range all {
		if at.After(now.Add(-window)) {
			n++
		}
	}
	return n
}

// away is a limiter whose Redis is away, under FailLocal.
func away(t testing.TB, a Algorithm, change func(*Config)) *Redis {
	t.Helper()
	c := Config{Algorithm: a, Limit: Limit{10, time.Minute}, OnFailure: FailLocal}
	if change != nil {
		change(&c)
	}
	l, err := New(processor(func(context.Context, redis.Cmder) error { return refused }), c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// use asks at an instant of the first window and returns the decision without its
// cause.
func use(t testing.TB, l *Redis, r Request) Decision {
	t.Helper()
	if r.At.IsZero() {
		r.At = dawn
	}
	d, err := l.Allow(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if d.Source != SourceLocal || d.Cause == nil {
		t.Fatalf("got %+v, want a local decision", d)
	}
	d.Cause = nil
	return d
}

// TestLocalDecisions: a budget of its own, with the answers of the algorithm.
func TestLocalDecisions(t *testing.T) {
	l := away(t, Fixed, func(c *Config) { c.LocalMax = 3 })
	for _, row := range []struct {
		why  string
		r    Request
		want Decision
	}{
		{"the first", Request{Key: "k"}, Decision{Allowed: true, Remaining: 2, ResetAfter: time.Minute}},
		{"a cost", Request{Key: "k", Cost: 2}, Decision{Allowed: true, ResetAfter: time.Minute}},
		{"none left", Request{Key: "k", At: dawn.Add(time.Second)}, Decision{RetryAfter: 59 * time.Second, ResetAfter: 59 * time.Second}},
		{"somebody else", Request{Key: "l"}, Decision{Allowed: true, Remaining: 2, ResetAfter: time.Minute}},
		{"the same name in another slot is somebody else", Request{Key: "k", Slot: "s"}, Decision{Allowed: true, Remaining: 2, ResetAfter: time.Minute}},
		{"more than the budget here, though not than the limit", Request{Key: "k", Cost: 4}, Decision{RetryAfter: Never, ResetAfter: time.Minute}},
		{"parts of a microsecond are cut off", Request{Key: "m", At: dawn.Add(999)}, Decision{Allowed: true, Remaining: 2, ResetAfter: time.Minute}},
		{"the next window", Request{Key: "k", At: dawn.Add(time.Minute)}, Decision{Allowed: true, Remaining: 2, ResetAfter: time.Minute}},
	} {
		row.want.Limit, row.want.Source = 3, SourceLocal
		row.want.At = dawn
		if !row.r.At.IsZero() {
			row.want.At = row.r.At.Truncate(time.Microsecond)
		}
		if d := use(t, l, row.r); d != row.want {
			t.Errorf("%s: got %+v, want %+v", row.why, d, row.want)
		}
	}
	for _, r := range []Request{{}, {Key: "k", Cost: -1}, {Key: "k", At: time.Unix(-1, 0)}} {
		if d, err := l.Allow(t.Context(), r); err == nil || d != (Decision{}) {
			t.Errorf("request %+v: got %+v, %v, want an error", r, d, err)
		}
	}
}

// TestLocalClock: a request without an instant is decided on the clock given.
func TestLocalClock(t *testing.T) {
	now := dawn.Add(time.Second)
	l := away(t, Log, func(c *Config) { c.LocalMax, c.Now = 1, func() time.Time { return now } })
	for _, row := range []struct {
		wait    time.Duration
		allowed bool
	}{{0, true}, {time.Minute - tick, false}, {tick, true}} {
		now = now.Add(row.wait)
		d, err := l.Allow(t.Context(), Request{Key: "k"})
		if err != nil || d.Allowed != row.allowed || !d.At.Equal(now) {
			t.Errorf("after %s: got %+v, %v, want it admitted: %t", row.wait, d, err, row.allowed)
		}
	}
}

// TestPeekAndResetLocally: to look charges nothing, to reset gives all back.
func TestPeekAndResetLocally(t *testing.T) {
	l := away(t, GCRA, func(c *Config) { c.LocalMax = 1 })
	r := Request{Key: "k", At: dawn}
	for range 3 {
		if d, err := l.Peek(t.Context(), r); err != nil || !d.Allowed || d.Source != SourceLocal {
			t.Fatalf("peek: got %+v, %v", d, err)
		}
	}
	if !use(t, l, r).Allowed || use(t, l, r).Allowed {
		t.Fatal("want one admission")
	}
	if err := l.Reset(t.Context(), Request{Key: "k"}); err == nil {
		t.Error("reset reports success without a Redis")
	}
	if !use(t, l, r).Allowed {
		t.Error("denied after a reset")
	}
	if err := l.Reset(t.Context(), Request{Key: "new", Also: "k"}); err == nil {
		t.Error("reset reports success without a Redis")
	}
	if !use(t, l, r).Allowed {
		t.Error("denied after a reset of both names")
	}
}

// TestLocalNames: what was used under the old name of a client counts for the new
// one, and nobody who denies is charged.
func TestLocalNames(t *testing.T) {
	for _, a := range Algorithms {
		l := away(t, a, nil)
		use(t, l, Request{Key: "old", Cost: 8})
		both := Request{Key: "new", Also: "old"}
		first, second, third := use(t, l, both), use(t, l, both), use(t, l, both)
		if !first.Allowed || first.Remaining != 1 || !second.Allowed || second.Remaining != 0 || third.Allowed || third.RetryAfter == 0 {
			t.Errorf("%s: 8 of 10 used under the old name: got %+v, %+v, %+v", a.Name, first, second, third)
		}
		retry := both
		retry.At = dawn.Add(third.RetryAfter - tick)
		if d := use(t, l, retry); d.Allowed {
			t.Errorf("%s: admitted before RetryAfter", a.Name)
		}
		retry.At = dawn.Add(third.RetryAfter)
		if d := use(t, l, retry); !d.Allowed {
			t.Errorf("%s: denied after RetryAfter: %+v", a.Name, d)
		}
		l = away(t, a, nil)
		use(t, l, Request{Key: "old", Cost: 10})
		use(t, l, both)
		if d := use(t, l, Request{Key: "new"}); !d.Allowed || d.Remaining != 9 {
			t.Errorf("%s: the old name denied, but the new one was charged: %+v", a.Name, d)
		}
	}
}

// TestLocalMemoryIsBounded: no more identities than asked for, the least recently
// used goes first, and who has everything back goes by itself.
func TestLocalMemoryIsBounded(t *testing.T) {
	const most = 100
	l := away(t, Fixed, func(c *Config) { c.LocalMax, c.LocalKeys = 1, most })
	f := l.fallback.local
	use(t, l, Request{Key: "main"})
	for i := range 10 * most {
		use(t, l, Request{Key: strconv.Itoa(i)})
		if len(f.states) > most || f.used.Len() != len(f.states) || f.holding.Load() != int64(len(f.states)) {
			t.Fatalf("%d identities, %d in order, %d told of", len(f.states), f.used.Len(), f.holding.Load())
		}
		if use(t, l, Request{Key: "main"}).Allowed { // a denial counts as use
			t.Fatalf("forgot an identity that asked a moment ago, after %d others", i)
		}
	}
	if n := l.Counters().Snapshot().Policies[0].Forgotten; n != 9*most+1 {
		t.Errorf("%d identities were pushed out, want %d", n, 9*most+1)
	}
	for i := range most {
		use(t, l, Request{Key: strconv.Itoa(i)})
	}
	if !use(t, l, Request{Key: "main"}).Allowed {
		t.Error("still remembers an identity though as many others asked since")
	}
	// A window later everybody has everything back.
	for range most {
		use(t, l, Request{Key: "one", At: dawn.Add(time.Minute)})
	}
	if len(f.states) != 1 {
		t.Errorf("remembers %d identities, %d of which have everything back", len(f.states), len(f.states)-1)
	}
	// Denials of those who never had anything fill nothing.
	for i := range most {
		use(t, l, Request{Key: "never" + strconv.Itoa(i), At: dawn.Add(time.Minute), Cost: 2})
	}
	if len(f.states) != 1 {
		t.Errorf("%d denials of strangers are remembered", len(f.states)-1)
	}
}

// TestLocalStateGoesWhenRedisIsBack: bit by bit, once it has had its time.
func TestLocalStateGoesWhenRedisIsBack(t *testing.T) {
	server := &modelled{model: Log.Model, limit: Limit{10, time.Minute}, state: map[string]any{}, away: true}
	l, err := New(processor(server.process), Config{
		Algorithm: Log, Limit: server.limit, OnFailure: FailLocal, Circuit: &Circuit{Failures: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		use(t, l, Request{Key: strconv.Itoa(i)})
	}
	server.away = false
	for _, row := range []struct {
		at   time.Duration
		want int
	}{{time.Minute - tick, 100}, {time.Minute, 0}} {
		for range 50 {
			if d, err := l.Allow(t.Context(), Request{Key: "k", At: dawn.Add(row.at)}); err != nil || d.Source != SourceRedis {
				t.Fatalf("got %+v, %v", d, err)
			}
		}
		if n := len(l.fallback.local.states); n != row.want {
			t.Errorf("after %s: %d identities, want %d", row.at, n, row.want)
		}
	}
}

// TestLocalConcurrency: many callers admit exactly the budget.
func TestLocalConcurrency(t *testing.T) {
	for _, a := range Algorithms {
		l := away(t, a, nil)
		var admitted atomic.Int64
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				if d, err := l.Allow(t.Context(), Request{Key: "k", At: dawn}); err == nil && d.Allowed {
					admitted.Add(1)
				}
			})
		}
		callers.Wait()
		if n := admitted.Load(); n != 10 {
			t.Errorf("%s: %d of 64 admitted, want 10", a.Name, n)
		}
	}
}

// TestLocalRefuses: a local budget that cannot be meant.
func TestLocalRefuses(t *testing.T) {
	for _, row := range []struct {
		change func(*Config)
		fault  string
	}{
		{func(c *Config) { c.LocalMax = -1 }, "local budget -1 is outside 1 to that of the limit, 10"},
		{func(c *Config) { c.LocalMax = 11 }, "local budget 11 is outside"},
		{func(c *Config) { c.LocalKeys = -1 }, "number of local keys -1 is negative"},
		{func(c *Config) { c.OnFailure, c.LocalMax = FailOpen, 5 }, "LocalMax and LocalKeys are for OnFailure FailLocal"},
		{func(c *Config) { c.Algorithm.Model = Model{} }, "algorithm fixed has no model, which FailLocal needs"},
		{func(c *Config) { c.Timeout = -1 }, "timeout -1ns is negative"},
		{func(c *Config) { c.Circuit = &Circuit{Probe: -1} }, "probe interval -1ns of the circuit is negative"},
	} {
		c := Config{Algorithm: Fixed, Limit: Limit{10, time.Minute}, OnFailure: FailLocal}
		row.change(&c)
		if _, err := New(processor(mute), c); err == nil || !strings.Contains(err.Error(), row.fault) {
			t.Errorf("got %v, want %q", err, row.fault)
		}
	}
}
