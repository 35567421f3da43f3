package oracle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/limitertest"
	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/oracle"
)

// A claim of one unit less than the truth is a lie, and it is found.
func TestAClaimOfOneLessIsBroken(t *testing.T) {
	for _, a := range limitertest.Models() {
		honest := a.Worst
		a.Worst = func(l limiter.Limit) int64 { return honest(l) - 1 }
		for _, text := range []string{"1/1s", "2/1m", "3/1m", "7/7d", "10/1m", "100/250ms", "1000/1m"} {
			l := limitOf(t, text)
			k := attack(t, a, l, oracle.AdversaryOptions{MaxSteps: 500_000})
			if k.Claimed != worsts[a.Name](l.Max)-1 || k.Found != k.Claimed+1 || replayed(t, a, k) != k.Found {
				t.Errorf("%s %s: found %d of %d: %+v", a.Name, l, k.Found, k.Claimed, k.Steps)
			}
		}
	}
}

// count is the state of broken windows.
type count struct{ window, used, before int64 }

// windows is a model of counts in windows: of which window an instant is, and
// whether a cost fits into a count.
func windows(index func(width, now int64) int64, fits func(l limiter.Limit, c count, cost int64) bool) limiter.Model {
	return limiter.Model{
		Init: func() any { return count{} },
		Step: func(l limiter.Limit, state any, r limiter.Request) (any, limiter.Decision) {
			c := state.(count)
			switch w := index(l.Window.Microseconds(), r.At.UnixMicro()); {
			case w == c.window+1:
				c = count{window: w, before: c.used}
			case w > c.window:
				c = count{window: w}
			}
			if !fits(l, c, r.Units()) {
				// It does not know better, so the search gets no help.
				return state, limiter.Decision{RetryAfter: l.Window}
			}
			c.used += r.Units()
			return c, limiter.Decision{Allowed: true}
		},
	}
}

func aligned(width, now int64) int64 { return now / width }

func plainly(l limiter.Limit, c count, cost int64) bool { return c.used+cost <= l.Max }

// anchored is a window that begins with the first admission after the last one,
// as a counter with an expiry does.
var anchored = limiter.Model{
	Init: func() any { return count{} },
	Step: func(l limiter.Limit, state any, r limiter.Request) (any, limiter.Decision) {
		c, now, width := state.(count), r.At.UnixMicro(), l.Window.Microseconds()
		if now >= c.window+width {
			c = count{window: now}
		}
		if !plainly(l, c, r.Units()) {
			return state, limiter.Decision{RetryAfter: time.Duration(c.window+width-now) * us}
		}
		c.used += r.Units()
		return c, limiter.Decision{Allowed: true}
	},
}

// leaky is anchored as well, and forgets everything in the second tick of an
// aligned window. It says nothing of that when it denies.
var leaky = limiter.Model{
	Init: anchored.Init,
	Step: func(l limiter.Limit, state any, r limiter.Request) (any, limiter.Decision) {
		c, now := state.(count), r.At.UnixMicro()
		if now%l.Window.Microseconds() == 1 && c.window != now {
			c = count{window: now}
		}
		return anchored.Step(l, c, r)
	},
}

// hasty forgets an admission one tick too early.
var hasty = limiter.Model{
	Init: limiter.Log.Model.Init,
	Step: func(l limiter.Limit, state any, r limiter.Request) (any, limiter.Decision) {
		l.Window -= us
		return limiter.Log.Model.Step(l, state, r)
	},
}

// stamps is a log whose members are bare timestamps: requests of one instant are
// one.
var stamps = limiter.Model{
	Init: func() any { return []int64(nil) },
	Step: func(l limiter.Limit, state any, r limiter.Request) (any, limiter.Decision) {
		now, width := r.At.UnixMicro(), l.Window.Microseconds()
		live := slices.DeleteFunc(slices.Clone(state.([]int64)), func(at int64) bool { return at <= now-width })
		switch {
		case int64(len(live)) >= l.Max:
			return state, limiter.Decision{RetryAfter: time.Duration(live[0]+width-now) * us}
		case !slices.Contains(live, now):
			live = append(live, now)
		}
		return live, limiter.Decision{Allowed: true}
	},
}

func TestBrokenModelsAreBeaten(t *testing.T) {
	once := func(l limiter.Limit) int64 { return l.Max }
	twice := func(l limiter.Limit) int64 { return 2 * l.Max }
	for _, row := range []struct {
		name  string
		model limiter.Model
		claim func(limiter.Limit) int64
		want  func(limit int64) int64
		more  bool // than want: the true worst case is beyond any bound
		why   string
	}{
		{
			"unweighted counter", windows(aligned, plainly), once,
			func(n int64) int64 { return 2 * n }, false,
			"the window before does not count, so there is a budget on either side of an edge",
		},
		{
			"counter of half the weight", windows(aligned, func(l limiter.Limit, c count, cost int64) bool {
				return c.used+cost+c.before/2 <= l.Max
			}), once,
			func(n int64) int64 { return n + n - n/2 }, false,
			"half of the window before does not count; less than all of it gains nothing",
		},
		{
			"windows of half the width", windows(func(width, now int64) int64 { return now / (width / 2) }, plainly), twice,
			func(n int64) int64 { return 3 * n }, false,
			"a trailing window of two whole ones touches three",
		},
		{
			"edges in the middle", windows(func(width, now int64) int64 { return (now + width/2) / width }, plainly), once,
			func(n int64) int64 { return 2 * n }, false,
			"it matters how far edges are apart and not where they are",
		},
		{
			"anchored at the first", anchored, once,
			func(n int64) int64 { return 2*n - 1 }, false,
			"one opens the window, the others come at its end, a budget right after",
		},
		{
			"anchored and leaky", leaky, once,
			func(n int64) int64 { return 3*n - 1 }, false,
			"one opens a window at an edge, the others come at its end, a budget at the next edge and one in the tick after it",
		},
		{
			"closed at one tick less", hasty, once,
			func(n int64) int64 { return 2 * n }, false,
			"a budget in the first and in the last tick of a window",
		},
		{
			"cost forgotten", windows(aligned, func(l limiter.Limit, c count, _ int64) bool { return c.used < l.Max }), twice,
			func(n int64) int64 { return 2 * (2*n - 1) }, false,
			"all but one, then a request of a whole budget, on either side of an edge",
		},
		{
			"bare timestamps", stamps, once,
			func(n int64) int64 { return n + 1 }, true,
			"any number at one instant",
		},
	} {
		a := limiter.Algorithm{Name: "broken", Model: row.model, Worst: row.claim}
		for _, text := range []string{"2/1m", "3/1m", "7/1s", "10/1m", "100/7d"} {
			l := limitOf(t, text)
			k := attack(t, a, l, oracle.AdversaryOptions{})
			want := row.want(l.Max)
			if k.Limit != l || k.Found < want || k.Found > want && !row.more || k.Found <= k.Claimed || replayed(t, a, k) != k.Found {
				t.Errorf("%s %s: found %d of %d claimed at %s, want %d: %s\n%+v", row.name, l, k.Found, k.Claimed, k.Limit, want, row.why, k.Steps)
			}
		}
	}
}

// What goes wrong in short windows only is reported with the window in which it
// does.
func TestALieInShortWindowsIsReportedThere(t *testing.T) {
	index := func(width, now int64) int64 {
		if width < 1000 {
			return now / (width / 2)
		}
		return now / width
	}
	a := limiter.Algorithm{
		Name: "short", Model: windows(index, plainly),
		Worst: func(l limiter.Limit) int64 { return 2 * l.Max },
	}
	k := attack(t, a, limitOf(t, "2/1m"), oracle.AdversaryOptions{})
	if k.Limit.Max != 2 || k.Limit.Window > 8*us || k.Claimed != 4 || k.Found <= 4 || replayed(t, a, k) != k.Found {
		t.Errorf("found %d of %d at %s", k.Found, k.Claimed, k.Limit)
	}
}

// A large limit is attacked by few dear requests, several at one instant too: a
// model that is blind to the first instant of a key admits any number of them.
func TestDearRequestsShareAnInstant(t *testing.T) {
	type key struct{ born, window, used int64 }
	a := limiter.Algorithm{
		Name: "blind at first", Worst: func(l limiter.Limit) int64 { return 2 * l.Max },
		Model: limiter.Model{
			Init: func() any { return key{} },
			Step: func(l limiter.Limit, state any, r limiter.Request) (any, limiter.Decision) {
				k, now := state.(key), r.At.UnixMicro()
				if k.born == 0 {
					k.born = now
				}
				if w := aligned(l.Window.Microseconds(), now); w != k.window {
					k.window, k.used = w, 0
				}
				if now != k.born && k.used+r.Units() > l.Max {
					return state, limiter.Decision{RetryAfter: l.Window}
				}
				k.used += r.Units()
				return k, limiter.Decision{Allowed: true}
			},
		},
	}
	k := attack(t, a, limitOf(t, "20000/1m"), oracle.AdversaryOptions{})
	// Six bursts of a whole budget each.
	if k.Found != 120_000 || replayed(t, a, k) != k.Found {
		t.Errorf("found %d of %d: %+v", k.Found, k.Claimed, k.Steps)
	}
}

// What a state remembers for longer than any admission matters: who came in the
// window before the edge has one unit less in each window, for ever. Schedules
// that differ in that are different, although nothing else shows it.
func TestStatesAreToldApart(t *testing.T) {
	l := limiter.Limit{Max: 2, Window: 6 * us}
	plan := scenarios.Plan{Limit: l}
	type memory struct{ first, window, used int64 }
	a := limiter.Algorithm{
		Name: "long memory", Worst: func(l limiter.Limit) int64 { return 2 * l.Max },
		Model: limiter.Model{
			Init: func() any { return memory{} },
			Step: func(l limiter.Limit, state any, r limiter.Request) (any, limiter.Decision) {
				m, w := state.(memory), aligned(l.Window.Microseconds(), r.At.UnixMicro())
				if m.first == 0 {
					m.first = w
				}
				if w != m.window {
					m.window, m.used = w, 0
				}
				budget := l.Max
				if m.first >= plan.Edge().UnixMicro()/l.Window.Microseconds() {
					budget++
				}
				if m.used+r.Units() > budget {
					return state, limiter.Decision{RetryAfter: l.Window}
				}
				m.used += r.Units()
				return m, limiter.Decision{Allowed: true}
			},
		},
	}
	if k := attack(t, a, l, blind); k.Found <= 4 || replayed(t, a, k) != k.Found {
		t.Errorf("found %d of %d: %+v", k.Found, k.Claimed, k.Steps)
	}
}
