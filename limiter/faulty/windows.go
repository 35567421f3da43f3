package faulty

import (
	"context"
	_ "embed"
	"sync"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

//go:embed lua/anchored.lua
var anchored string

const (
	readsWindow = `local window = tonumber(ARGV[2])`
	readsMax    = `local max = tonumber(ARGV[3])`
	readsCost   = `local cost = tonumber(ARGV[4])`
	fits        = `local allowed = used + cost <= max`
	parses      = `'^(%d+) (%d+)$'`
	writes      = `string.format('%.0f %.0f', index, own)`
)

// windows begin, end or count wrongly.
var windows = []Specimen{
	{
		Name:  "seconds-for-microseconds",
		Doc:   "a fixed window takes its length in microseconds for seconds, and is a million times too short",
		edits: []edit{{readsWindow, `local window = math.max(math.floor(tonumber(ARGV[2]) / 1000000), 1)`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "saturate", Check: "promise",
	},
	{
		Name:  "window-rounded-up-to-a-second",
		Doc:   "a fixed window is never shorter than a second, whatever was asked for",
		edits: []edit{{readsWindow, `local window = math.max(tonumber(ARGV[2]), 1000000)`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "sub-second", Check: "conformance",
	},
	{
		Name:  "limit-plus-one",
		Doc:   "a fixed window denies only what comes when more than the limit is used",
		edits: []edit{{fits, `local allowed = used + cost <= max + 1`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "same-microsecond", Check: "conformance",
	},
	{
		Name:  "limit-minus-one",
		Doc:   "a limit of 100 admits 99",
		Seen:  "https://github.com/upstash/ratelimit-js/pull/74",
		edits: []edit{{readsMax, readsMax + ` - 1`}},
		base:  limiter.Fixed, Scenario: "same-microsecond", Check: "checks", Only: true,
	},
	{
		Name:  "never-denies",
		Doc:   "a fixed window counts, and forgets to compare",
		edits: []edit{{fits, `local allowed = cost <= max`}},
		base:  limiter.Fixed, Scenario: "boundary-burst", Check: "denies", Only: true,
	},
	{
		Name:  "limit-one-never-admits",
		Doc:   "a limit of 1 is taken for 0",
		edits: []edit{{readsMax, readsMax + "\nmax = max == 1 and 0 or max"}},
		Limit: limiter.Limit{Max: 1, Window: time.Minute},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "same-microsecond", Check: "fresh",
	},
	{
		Name: "window-charges-denied",
		Doc:  "a fixed window counts first and compares then, so that denied costs use up the rest",
		Seen: "https://github.com/valkey-io/valkey-go/issues/19",
		edits: []edit{{heals, `elseif not peek then
  redis.call('SET', key, string.format('%.0f %.0f', index, used + cost), 'PX', ttl)`}},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "same-microsecond", Check: "denied-is-free", Only: true,
	},
	{
		Name:   "anchored-at-first-hit",
		Doc:    "a window that says it follows the clock begins with the first request",
		source: anchored,
		base:   limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "conformance",
	},
	{
		Name:   "window-never-ends",
		Doc:    "every admission moves the end of the window, which never comes while requests do",
		Seen:   "https://github.com/apache/shenyu/issues/6649",
		source: anchored,
		edits:  []edit{{`used = used + cost`, "used = used + cost\n  start = math.max(start, now)"}},
		base:   limiter.Fixed, Scenario: "steady", Check: "checks", Only: true,
	},
	{
		Name:  "late-stamp-turns-window-back",
		Doc:   "a fixed window lets a caller whose clock is behind overwrite the newer window",
		Seen:  "https://github.com/zeromicro/go-zero/issues/4072",
		edits: []edit{{`if i > index then`, `if false then`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "clock-behind", Check: "conformance",
	},
	{
		Name: "limit-kept-from-first-use",
		Doc:  "the limit is stored with the key, and a later one is ignored",
		Seen: "https://github.com/mailgun/gubernator/pull/40",
		edits: []edit{
			{`local i, u = string.match(value, ` + parses + `)`, `local i, u, m = string.match(value, '^(%d+) (%d+) (%d+)$')`},
			{`    -- A caller whose clock`, "    max = tonumber(m)\n    -- A caller whose clock"},
			{writes, `string.format('%.0f %.0f %.0f', index, own, max)`},
		},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "limit-cut", Check: "conformance",
	},
	{
		Name:  "stale-reply",
		Doc:   "every hundredth request is answered with the last admission again, and not counted",
		build: func(s setting) (limiter.Limiter, error) { return &stale{Redis: s.script}, nil },
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "same-microsecond", Check: "conformance",
	},
	{
		Name:   "false-promise",
		Doc:    "a right fixed window says that no trailing window ever holds more than the limit",
		Seen:   "https://github.com/redisson/redisson/issues/2931",
		base:   limiter.Fixed,
		Claims: promising(limiter.Fixed, func(l limiter.Limit) int64 { return l.Max }), Scenario: "boundary-instant", Check: "promise", Only: true,
	},
}

// promising is an algorithm with another worst case.
func promising(a limiter.Algorithm, worst func(limiter.Limit) int64) limiter.Algorithm {
	a.Worst = worst
	return a
}

// stale mixes replies up.
type stale struct {
	*limiter.Redis
	mu    sync.Mutex
	calls int
	last  limiter.Decision // the newest admission
}

func (l *stale) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	l.mu.Lock()
	l.calls++
	d := l.last
	mixedUp := l.calls%100 == 0 && d.Allowed
	l.mu.Unlock()
	if mixedUp {
		if !r.At.IsZero() {
			d.At = r.At.Truncate(time.Microsecond)
		}
		return d, nil
	}
	d, err := l.Redis.Allow(ctx, r)
	if err == nil && d.Allowed {
		l.mu.Lock()
		l.last = d
		l.mu.Unlock()
	}
	return d, err
}
