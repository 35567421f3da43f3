package faulty

import (
	_ "embed"

	"github.com/rlbench/rlbench/limiter"
)

//go:embed lua/subbuckets.lua
var subbuckets string

// heals is where the scripts give a key its lost time to live back.
const heals = `elseif not peek and redis.call('PTTL', key) == -1 then`

// logs forget or remember the wrong entries.
var logs = []Specimen{
	{
		Name:  "bare-timestamp-member",
		Doc:   "a log names its members after the time, so all requests of one instant are one entry",
		Seen:  "https://github.com/sockudo/sockudo/issues/251",
		edits: []edit{{`= unit == 1 and nonce or nonce ..`, `= unit == 1 and score or score ..`}},
		base:  limiter.Log, Claims: limiter.Log, Scenario: "same-microsecond", Check: "promise",
	},
	{
		// What .. makes of a number depends on the Lua; Redis's writes this.
		Name:  "fourteen-digit-member",
		Doc:   "a log builds members from the time with Lua's .., which keeps 14 of 16 digits: 100 µs are one entry",
		Seen:  "https://github.com/redis/redis/issues/8410",
		edits: []edit{{`= unit == 1 and nonce or nonce ..`, `= string.format('%.14g', now) ..`}},
		base:  limiter.Log, Claims: limiter.Log, Scenario: "spread-microseconds", Check: "promise",
	},
	{
		Name:  "member-named-by-count",
		Doc:   "a log names its members after the millisecond and how many there are, which repeats as old ones leave",
		edits: []edit{{`= unit == 1 and nonce or nonce ..`, `= unit == 1 and string.format('%.0f:%.0f', math.floor(now / 1000), live) or nonce ..`}},
		base:  limiter.Log, Claims: limiter.Log, Scenario: "turnover", Check: "promise",
	},
	{
		Name:  "log-keeps-denied",
		Doc:   "a log enters denied requests too, so that whoever keeps asking is never admitted again",
		Seen:  "https://github.com/peterkhayes/rolling-rate-limiter/issues/9",
		edits: []edit{{heals, `elseif not peek and redis.call('ZADD', key, string.format('%.0f', now), nonce) then`}},
		base:  limiter.Log, Claims: limiter.Log, Scenario: "saturate", Check: "denied-is-free",
	},
	{
		Name:  "log-never-trims",
		Doc:   "a log counts only live entries, but never removes the others",
		Seen:  "https://github.com/sockudo/sockudo/issues/250",
		edits: []edit{{`    redis.call('ZREMRANGEBYSCORE', key, '-inf', oldest_live)` + "\n", ``}},
		base:  limiter.Log, Claims: limiter.Log, Scenario: "saturate", Check: "members", Only: true,
	},
	{
		Name: "counts-before-trimming",
		Doc:  "a log counts its entries before it removes the old ones, so the first request after a silence is denied",
		Seen: "https://github.com/apache/shenyu/issues/6754",
		edits: []edit{
			{`redis.call('ZCOUNT', KEYS[name], '(' .. oldest_live, '+inf')`, `redis.call('ZCARD', KEYS[name])`},
			{`return { allowed`, `if not peek then
  redis.call('ZREMRANGEBYSCORE', key, '-inf', oldest_live)
end
return { allowed`},
		},
		base: limiter.Log, Claims: limiter.Log, Scenario: "saturate", Check: "recovers",
	},
	{
		Name:  "closed-window",
		Doc:   "a log still counts what is exactly one window old",
		Seen:  "https://github.com/discourse/discourse/pull/11691",
		edits: []edit{{`'(' .. oldest_live`, `oldest_live`}},
		base:  limiter.Log, Claims: limiter.Log, Scenario: "cron", Check: "conformance",
	},
	{
		Name: "whole-second-clock",
		Doc:  "a log takes its time in whole seconds, so entries leave up to a second early",
		Seen: "https://github.com/zeromicro/go-zero/pull/1451",
		edits: []edit{
			{`-- Entries exactly one window old`, `local asked = now
now = now - now % 1000000

-- Entries exactly one window old`},
			{`reset_after, now }`, `reset_after, asked }`},
		},
		base: limiter.Log, Claims: limiter.Log, Scenario: "saturate", Check: "conformance",
	},
	{
		Name:  "cost-is-one-entry",
		Doc:   "a log enters a request of any cost as one unit",
		edits: []edit{{`math.min(first + 999, cost)`, `first`}},
		base:  limiter.Log, Claims: limiter.Log, Scenario: "costs", Check: "conformance",
	},
	{
		Name:   "sub-buckets-forget-early",
		Doc:    "a trailing window of ten sub-buckets counts the current one and the nine before, so entries leave a tenth early",
		source: subbuckets,
		base:   limiter.Log, Claims: limiter.Log, Scenario: "counter-worst", Check: "promise",
	},
}
