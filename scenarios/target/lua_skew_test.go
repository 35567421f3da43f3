package target_test

import (
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// burst is a full budget that a server offers at an instant of real time, by its
// own clock, and how much of it is admitted by whoever trusts that clock and by
// a bundled script.
type burst struct {
	at, ahead        time.Duration // after luaT0; of real time
	article, bundled int64
}

// luaSkews are attacks by two servers of which one is ahead, each within less
// than one window of real time. W is a minute, L 100.
var luaSkews = []struct {
	file, bundled string
	bursts        []burst
	why           string
}{
	{"article-fixed", "fixed", []burst{
		{-5*sec + us, 0, 100, 100},       // in window k
		{-5*sec + us, 5 * sec, 100, 100}, // already in k+1
		{55 * sec, 5 * sec, 100, 100},    // already in k+2
	}, "3L: three windows in 60 s less a microsecond"},
	{"article-fixed", "fixed", []burst{
		{-sec, 0, 100, 100},            // k
		{-sec, 65 * sec, 100, 100},     // k+2
		{55 * sec, 0, 100, 0},          // k+1, where a bundled script stays in k+2
		{55 * sec, 65 * sec, 100, 100}, // k+3
	}, "4L: servers that are more than a window apart see four"},
	{"article-log", "log", []burst{
		{0, 0, 100, 100},
		{55 * sec, 5 * sec, 100, 100}, // by this clock the first ones are a window old
	}, "2L in W - d"},
	{"article-counter", "counter", []burst{
		{-us, 5 * sec, 100, 100},       // k+1, 5 s in, nothing before
		{-us, 0, 100, 0},               // k, which does not look ahead
		{60*sec - 2*us, 5 * sec, 9, 9}, // k+2: 100 - floor(100 × (55 s + 2 µs)/60 s)
	}, "2L + ceil(L·d/W)"},
	{"article-counter", "counter", []burst{
		{-us, 60 * sec, 100, 100},           // the last instant of k+1
		{-us, 0, 100, 0},                    // of k
		{60*sec - 2*us, 0, 0, 0},            // k+1 is used up
		{60*sec - 2*us, 60 * sec, 100, 100}, // k+2: what faded of k+1 is below one
	}, "3L: a whole window apart"},
}

func TestLuaArticleSkew(t *testing.T) {
	for _, flavour := range []string{"embedded", "managed"} {
		s := server(t, flavour)
		for _, row := range luaSkews {
			t.Run(flavour+"/"+row.why, func(t *testing.T) {
				_, article := openedLua(t, s, examples+row.file+".lua", target.Options{Clock: scenarios.Virtual}, "100/1m")
				limit := limiter.Limit{Max: 100, Window: time.Minute}
				bundled, err := limiter.New(s.Client(), limiter.Config{
					Algorithm: named(t, row.bundled), Limit: limit, OnFailure: limiter.FailError, TTLFloor: time.Hour,
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range row.bursts {
					at := luaT0.Add(b.at + b.ahead)
					if got := admitted(t, article, at, 100); got != b.article {
						t.Errorf("%s at %s, %s ahead: admitted %d, want %d", row.file, b.at, b.ahead, got, b.article)
					}
					if got := admitted(t, bundled, at, 100); got != b.bundled {
						t.Errorf("%s at %s, %s ahead: admitted %d, want %d", row.bundled, b.at, b.ahead, got, b.bundled)
					}
				}
				if err := s.Client().FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func named(t *testing.T, name string) limiter.Algorithm {
	t.Helper()
	a, ok := limiter.Named(name)
	if !ok {
		t.Fatalf("no algorithm %s", name)
	}
	return a
}

func admitted(t *testing.T, l limiter.Limiter, at time.Time, offered int) int64 {
	t.Helper()
	n := int64(0)
	for range offered {
		d, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: at})
		if err != nil {
			t.Fatal(err)
		}
		if d.Allowed {
			n++
		}
	}
	return n
}

// A server that is a whole window ahead wipes a log with a single request, so
// that another one can fill it again: L, L-1, ... 1, with one of its own after
// each, is L(L+3)/2 within an instant.
func TestLuaArticleLogLadder(t *testing.T) {
	s := server(t, "managed")
	_, l := openedLua(t, s, examples+"article-log.lua", target.Options{Clock: scenarios.Virtual}, "10/1m")
	total := int64(0)
	for rung := int64(10); rung > 0; rung-- {
		late, ahead := admitted(t, l, luaT0, 10), admitted(t, l, luaT0.Add(time.Minute), 1)
		if late != rung || ahead != 1 {
			t.Errorf("admitted %d and %d, want %d and 1", late, ahead, rung)
		}
		total += late + ahead
	}
	if total != 65 {
		t.Errorf("%d in all, want 10 × 13/2 = 65", total)
	}
}
