package simulator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rlbench/rlbench/limiter"
)

// Each decision of each limit is that of the model, for keys that take turns.
func TestDecidersAreTheModels(t *testing.T) {
	for _, a := range limiter.Algorithms {
		t.Run(a.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				window := rapid.SampledFrom([]int64{1000, 1009, 999_983, 1_000_000, 60_000_000}).Draw(t, "window")
				limits := rapid.SliceOfNDistinct(rapid.Int64Range(0, 40), 1, 5, rapid.ID).Draw(t, "limits")
				slices.Sort(limits)
				w := time.Duration(window) * time.Microsecond
				d, err := newDecider(a.Name, w, limits)
				if err != nil {
					t.Fatal(err)
				}
				const keys = 2
				trail := newTrail(len(limits), window, 1_000_000)
				d.grow(keys)
				trail.grow(keys)
				var states [keys][]any
				for k := range states {
					for range limits {
						states[k] = append(states[k], a.Model.Init())
					}
				}
				at := rapid.Int64Range(1e15, 1e15+2*window).Draw(t, "start")
				for range rapid.IntRange(1, 200).Draw(t, "requests") {
					at += rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(0, window/10+1), rapid.Int64Range(0, 3*window)).Draw(t, "gap")
					key := rapid.IntRange(0, keys-1).Draw(t, "key")
					got := d.step(key, at, trail.behind(key, at))
					trail.add(key, at, got)
					for i, limit := range limits {
						state, decision := a.Model.Step(limiter.Limit{Max: limit, Window: w}, states[key][i], limiter.Request{At: time.UnixMicro(at)})
						states[key][i] = state
						if decision.Allowed != got.Has(i) {
							t.Fatalf("limit %d in %s at %d: admitted %t, the model says %t", limit, w, at, got.Has(i), decision.Allowed)
						}
					}
				}
			})
		})
	}
}

// What a trail says of the past is what a slow count says.
func TestTrailCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := []int64{rapid.Int64Range(1, 100).Draw(t, "window"), rapid.Int64Range(1, 100).Draw(t, "short")}
		trail := newTrail(2, spans...)
		trail.grow(1)
		var all []admitted
		var peaks [2][2]int32
		at := int64(1000)
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			at += rapid.Int64Range(0, 30).Draw(t, "gap")
			if rapid.IntRange(0, 50).Draw(t, "forget") == 0 {
				trail.forget(0)
				all = nil
			}
			behind := trail.behind(0, at)
			for i := range 2 {
				if want := within(all, at, spans[0], i); behind[i] != want {
					t.Fatalf("at %d: %d in the window by limit %d, want %d", at, behind[i], i, want)
				}
			}
			by := Mask(rapid.IntRange(0, 3).Draw(t, "by"))
			trail.add(0, at, by)
			all = append(all, admitted{at, by})
			for s, span := range spans {
				for i := range 2 {
					if by.Has(i) {
						peaks[s][i] = max(peaks[s][i], within(all, at, span, i))
					}
				}
			}
		}
		for s := range spans {
			if !slices.Equal(trail.peaks[s], peaks[s][:]) {
				t.Fatalf("peaks %v, want %v", trail.peaks[s], peaks[s])
			}
		}
	})
}

// within counts what a limit admitted in (at − span, at].
func within(all []admitted, at, span int64, limit int) (n int32) {
	for _, e := range all {
		if e.at > at-span && e.by.Has(limit) {
			n++
		}
	}
	return n
}

func TestDecidersRefused(t *testing.T) {
	for _, row := range []struct {
		algorithm string
		window    time.Duration
		limits    []int64
		want      string
	}{
		{"leaky", time.Minute, []int64{1}, `algorithm "leaky": want one of [fixed log log-packed counter counter-strict gcra]`},
		{"log", time.Minute, nil, "0 limits: want 1 to 64, from the lowest up"},
		{"log", time.Minute, []int64{2, 1}, "2 limits: want 1 to 64, from the lowest up"},
		{"log", time.Minute, make([]int64, 65), "65 limits"},
		{"log", time.Minute, []int64{-1}, "limit -1/1m"},
		{"log", 0, []int64{1}, "window"},
		{"fixed", time.Minute, []int64{1 << 31}, "limit 2147483648"},
	} {
		if _, err := newDecider(row.algorithm, row.window, row.limits); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s %v in %s: %v, want %q", row.algorithm, row.limits, row.window, err, row.want)
		}
	}
}

// A decision is one limit of one algorithm, so that a step is as many as there are limits.
func BenchmarkDeciders(b *testing.B) {
	limits := make([]int64, 20)
	for i := range limits {
		limits[i] = int64(10 * (i + 1))
	}
	const keys = 1000
	for _, a := range limiter.Algorithms {
		if a.DecidesAs != "" {
			continue
		}
		b.Run(a.Name, func(b *testing.B) {
			d, err := newDecider(a.Name, time.Minute, limits)
			if err != nil {
				b.Fatal(err)
			}
			trail := newTrail(len(limits), 60_000_000, 1_000_000)
			d.grow(keys)
			trail.grow(keys)
			at := int64(1e15)
			b.ResetTimer()
			for i := 0; i < b.N; i += len(limits) {
				at += 600
				key := i / 20 * 7919 % keys
				trail.add(key, at, d.step(key, at, trail.behind(key, at)))
			}
		})
	}
}
