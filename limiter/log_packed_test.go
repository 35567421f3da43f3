package limiter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
)

// drawLogLimit draws limits of each form that a packed log has: counted in 1 and 2
// bytes, and entries of 3 to 5.
func drawLogLimit(t *rapid.T, sizes []int64) limiter.Limit {
	most := rapid.SampledFrom(sizes).Draw(t, "max")
	window := rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, time.Minute, 35 * time.Minute, time.Hour, 24 * time.Hour, 31 * 24 * time.Hour,
	}).Draw(t, "window")
	return limiter.Limit{Max: most, Window: window}
}

// drawLogGap is mostly a small part of the window, and now and then what leaves
// it, what a late or an early clock stamps, or a clock that is years off.
func drawLogGap(t *rapid.T, l limiter.Limit) time.Duration {
	gap := rapid.SampledFrom([]time.Duration{
		0, time.Microsecond, l.Window / 1000, l.Window / 7, l.Window / 3, l.Window - time.Microsecond, l.Window, 2 * l.Window,
		-time.Microsecond, -l.Window / 1000, -l.Window / 3, -l.Window, 3000 * time.Second, -3000 * time.Second,
	}).Draw(t, "gap")
	if rapid.IntRange(0, 40).Draw(t, "off") == 0 {
		gap += rapid.SampledFrom([]time.Duration{200 * 24 * time.Hour, -200 * 24 * time.Hour, -20 * 365 * 24 * time.Hour}).Draw(t, "by")
	}
	return gap.Truncate(time.Microsecond)
}

// TestLogPackedDecidesAsLog: on a real Redis and on the embedded one, whatever the
// clocks do, and whoever has two names. The string is never much larger than what
// was used.
func TestLogPackedDecidesAsLog(t *testing.T) {
	for _, flavour := range []struct {
		name   string
		client limiter.Processor
		sizes  []int64
	}{
		{"managed", managed(t).Client(), []int64{1, 3, 100, 255, 256, 2500, 6000}},
		{"embedded", embedded(t).Client(), []int64{1, 3, 100, 260}}, // its sorted sets are slow
	} {
		t.Run(flavour.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				limit := drawLogLimit(t, flavour.sizes)
				var both [2]*limiter.Redis
				for i, a := range []limiter.Algorithm{limiter.LogPacked, limiter.Log} {
					var err error
					if both[i], err = limiter.New(flavour.client, limiter.Config{
						Algorithm: a, Limit: limit, Policy: freshPolicy(), OnFailure: limiter.FailError, TTLFloor: time.Hour,
					}); err != nil {
						t.Fatal(err)
					}
				}
				names := []string{"", ""}
				if rapid.Bool().Draw(t, "two names") {
					names[1] = "yesterday"
				}
				now := t0
				for i := range rapid.IntRange(1, 60).Draw(t, "requests") {
					if next := now.Add(drawLogGap(t, limit)); next.Year() > 1970 && next.Year() < 2112 {
						now = next
					}
					cost := rapid.SampledFrom([]int64{1, 1, 1, 2, limit.Max / 7, limit.Max / 2, limit.Max - 1, limit.Max, limit.Max + 1}).Draw(t, "cost")
					cost = max(cost, 1)
					own := rapid.IntRange(0, 1).Draw(t, "name")
					r := limiter.Request{Key: "today" + names[own], At: now, Cost: cost}
					if names[own] != names[1-own] {
						r.Also = "today" + names[1-own]
					}
					var said [2]limiter.Decision
					for j, l := range both {
						var err error
						if said[j], err = l.Allow(context.Background(), r); err != nil {
							t.Fatalf("request %d at %s of cost %d: %v", i, r.At.Sub(t0), cost, err)
						}
					}
					if got, want := said[0], said[1]; !same(got, want) {
						t.Fatalf("request %d at %s of cost %d: %+v, want %+v", i, r.At.Sub(t0), cost, got, want)
					}
					if said[0].Allowed {
						bytes := strlen(t, flavour.client, both[0].KeysOf(r)[0])
						if most := 6 + 14 + 4*18 + 7*max(limit.Max, 2); bytes > most {
							t.Fatalf("request %d: %d bytes, want at most %d", i, bytes, most)
						}
					}
				}
			})
		})
	}
}

func strlen(t interface{ Fatal(...any) }, client limiter.Processor, key string) int64 {
	reply, err := limiter.NewScript(client, `return redis.call('STRLEN', KEYS[1])`).Run(context.Background(), []string{key})
	if err != nil {
		t.Fatal(err)
	}
	return reply.(int64)
}

// TestLogPackedBytes: what a key holds, to the byte.
func TestLogPackedBytes(t *testing.T) {
	client := managed(t).Client()
	for _, row := range []struct {
		limit string
		used  int64
		want  int64
		why   string
	}{
		{"100/1m", 1, 13 + 3*8, "a header for 5 epochs, and room for 8 units"},
		{"100/1m", 100, 13 + 3*100, "full"},
		{"255/1m", 255, 13 + 3*255, "the most that is counted in bytes"},
		{"256/1m", 256, 26 + 3*256, "counted in 2 bytes, with both ends told"},
		{"1000/1m", 1000, 26 + 3*1000, "full"},
		{"10000/1m", 2000, 26 + 3*3000, "half as much again to grow"},
		{"10000/1m", 10000, 26 + 3*10000, "full"},
		{"70000/1m", 70000, 40 + 3*70000, "counted in 4 bytes"},
		{"100/3m", 100, 6 + 2 + 12 + 3*100, "12 epochs of 16.8 s"},
		{"100/5m", 100, 6 + 2 + 2 + 4*100, "2 epochs of 71 minutes"},
		{"100/24h", 100, 6 + 2 + 2 + 5*100, "2 epochs of 13 days"},
		{"100/31d", 100, 6 + 2 + 4 + 5*100, "4 of them"},
	} {
		limit, err := limiter.ParseLimit(row.limit)
		if err != nil {
			t.Fatal(err)
		}
		l := openOn(t, client, limiter.Config{Algorithm: limiter.LogPacked, Limit: limit, Policy: freshPolicy()})
		r := limiter.Request{Key: "k", At: t0, Cost: row.used}
		if d, err := l.Allow(t.Context(), r); err != nil || !d.Allowed {
			t.Fatalf("%s: %v, %v", row.why, d, err)
		}
		if got := strlen(t, client, l.KeysOf(r)[0]); got != row.want {
			t.Errorf("%d of %s: %d bytes, want %d: %s", row.used, row.limit, got, row.want, row.why)
		}
	}
}

// TestLogPackedShrinks: a ring that has emptied gets shorter, so that its memory is
// not kept by a trickle.
func TestLogPackedShrinks(t *testing.T) {
	client := managed(t).Client()
	l := openOn(t, client, limiter.Config{
		Algorithm: limiter.LogPacked, Limit: limiter.Limit{Max: 10_000, Window: time.Minute}, Policy: freshPolicy(), TTLFloor: time.Hour,
	})
	for _, step := range []struct {
		at         time.Duration
		cost, want int64
	}{
		{0, 7_000, 26 + 3*10_000},
		{30 * time.Second, 2_600, 26 + 3*10_000},
		{time.Minute, 1, 26 + 3*10_000},   // more than a quarter is in use
		{90 * time.Second, 10, 13 + 3*17}, // half as much again as 11
	} {
		r := limiter.Request{Key: "k", At: t0.Add(step.at), Cost: step.cost}
		if d, err := l.Allow(t.Context(), r); err != nil || !d.Allowed {
			t.Fatalf("at %s: %v, %v", step.at, d, err)
		}
		if got := strlen(t, client, l.KeysOf(r)[0]); got != step.want {
			t.Errorf("at %s: %d bytes, want %d", step.at, got, step.want)
		}
	}
}

// TestLogPackedRefusesWhatItIsNot: a key of something else is an error, not a
// budget, and a peek says so too.
func TestLogPackedRefusesWhatItIsNot(t *testing.T) {
	client := managed(t).Client()
	l := openOn(t, client, limiter.Config{Algorithm: limiter.LogPacked, Limit: limiter.Limit{Max: 5, Window: time.Minute}, Policy: freshPolicy()})
	for i, value := range []string{
		"x", "3", "3\x02topx", "3\x02topx\x01\x00\x01", "3\x02topx\x01\x00\x00\x00abc", "3\x02topx\x01\x01\x01\x00abc", "3\x02topx\x01\x00\x02\x00abc",
		"3\x20topx" + strings.Repeat("\x01", 40), "C\x02topx", "8\x02topx\x01\x00\x01\x00abcdefgh", "\x00\x00", strings.Repeat("z", 5000),
	} {
		r := limiter.Request{Key: fmt.Sprint("k", i)}
		if err := client.Set(t.Context(), l.KeysOf(r)[0], value, 0).Err(); err != nil {
			t.Fatal(err)
		}
		for name, ask := range map[string]func(context.Context, limiter.Request) (limiter.Decision, error){"allow": l.Allow, "peek": l.Peek} {
			if d, err := ask(t.Context(), r); err == nil || !strings.Contains(err.Error(), "holds no packed sliding window log") {
				t.Errorf("%s of %q: %+v, %v", name, value, d, err)
			}
		}
	}
}

// TestLogPackedWidens: a clock that is further behind than the epochs of a window
// reach makes entries wider, whatever the bytes that come in front are to a pattern
// of Lua.
func TestLogPackedWidens(t *testing.T) {
	const epoch = int64(1) << 24
	client := managed(t).Client()
	for _, front := range []int64{'%', 0, 255, '0'} {
		newest := time.UnixMicro((100_000_000-100_000_000%256+front)*epoch + 1_000_000).UTC()
		l := openOn(t, client, limiter.Config{
			Algorithm: limiter.LogPacked, Limit: limiter.Limit{Max: 3, Window: time.Minute}, Policy: freshPolicy(), TTLFloor: time.Hour,
		})
		for _, step := range []struct {
			at    time.Duration // from the newest
			left  int64
			reset time.Duration
			bytes int64
		}{
			{-2 * time.Second, 2, time.Minute, 13 + 3*3}, // of the epoch before
			{0, 1, time.Minute, 13 + 3*3},
			{-4000 * time.Second, 0, 4060 * time.Second, 10 + 3*4},
		} {
			r := limiter.Request{Key: "k", At: newest.Add(step.at)}
			d, err := l.Allow(t.Context(), r)
			if err != nil || !d.Allowed || d.Remaining != step.left || d.ResetAfter != step.reset {
				t.Errorf("front %d, at %s: %+v, %v", front, step.at, d, err)
			}
			if got := strlen(t, client, l.KeysOf(r)[0]); got != step.bytes {
				t.Errorf("front %d, at %s: %d bytes, want %d", front, step.at, got, step.bytes)
			}
		}
		if d, err := l.Peek(t.Context(), limiter.Request{Key: "k", At: newest, Cost: 3}); err != nil || d.RetryAfter != time.Minute || d.Remaining != 1 {
			t.Errorf("front %d: %+v, %v", front, d, err)
		}
	}
}

// TestLogPackedWindowChanges: who runs the script by hand may change the window of a
// key, as with a log.
func TestLogPackedWindowChanges(t *testing.T) {
	client := managed(t).Client()
	decide := map[string]*limiter.Script{"log": limiter.NewScript(client, limiter.Log.Script), "packed": limiter.NewScript(client, limiter.LogPacked.Script)}
	at := t0
	for i, window := range []time.Duration{
		time.Minute, time.Minute, 2 * time.Minute, time.Hour, time.Hour, 10 * time.Second, 48 * time.Hour, time.Minute, time.Second, 31 * 24 * time.Hour,
	} {
		at = at.Add(17 * time.Second)
		var said [2]string
		for j, name := range []string{"log", "packed"} {
			reply, err := decide[name].Run(t.Context(), []string{"window-changes-" + name},
				at.UnixMicro(), window.Microseconds(), 7, 2, fmt.Sprint("nonce", i), 1_000_000)
			said[j] = fmt.Sprint(reply, err)
		}
		if said[0] != said[1] {
			t.Errorf("request %d, window %s: %s, want %s", i, window, said[1], said[0])
		}
	}
}

// TestLogPackedIsBounded: what Redis could not hold in a string is refused before
// anything is written, also by a peek, so that a Set is never half charged.
func TestLogPackedIsBounded(t *testing.T) {
	client := managed(t).Client()
	const most = 1 << 24
	l := openOn(t, client, limiter.Config{
		Algorithm: limiter.LogPacked, Limit: limiter.Limit{Max: limiter.MaxMax, Window: time.Minute}, Policy: freshPolicy(), Timeout: 20 * time.Second,
	})
	for name, ask := range map[string]func(context.Context, limiter.Request) (limiter.Decision, error){"allow": l.Allow, "peek": l.Peek} {
		if d, err := ask(t.Context(), limiter.Request{Key: "k", At: t0, Cost: most + 1}); err == nil || !strings.Contains(err.Error(), "holds at most 16777216 units") {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	if n, err := client.Exists(t.Context(), l.Keys("k")...).Result(); err != nil || n != 0 {
		t.Errorf("%d keys, %v", n, err)
	}
	if d, err := l.Peek(t.Context(), limiter.Request{Key: "k", At: t0, Cost: most}); err != nil || !d.Allowed {
		t.Errorf("the most: %+v, %v", d, err)
	}
}
