package faulty

import "github.com/rlbench/rlbench/limiter"

// lives are times to live that are too short, too long or lost.
var lives = []Specimen{
	{
		Name:  "ttl-missing",
		Doc:   "a fixed window is written without a time to live",
		Seen:  "https://github.com/alisaifee/limits/issues/14",
		edits: []edit{{`, 'PX', ttl)`, `)`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "ttl",
	},
	{
		Name: "log-ttl-missing",
		Doc:  "a log is written without a time to live",
		Seen: "https://github.com/redis/redis/issues/2639",
		edits: []edit{{
			"oldest_live)\n    redis.call('PEXPIRE', key, ttl)",
			"oldest_live)",
		}},
		base: limiter.Log, Claims: limiter.Log, Scenario: "key-explosion", Check: "ttl",
	},
	{
		Name:  "ttl-thousandfold",
		Doc:   "a fixed window gives microseconds where Redis takes milliseconds, and lives a thousand times too long",
		Seen:  "https://github.com/Kong/kong/issues/14995",
		edits: []edit{{`math.ceil((window_end - math.max(now, index * window)) / 1000) + 1000`, `window_end - math.max(now, index * window)`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "ttl", Only: true,
	},
	{
		Name:  "ttl-half-a-window",
		Doc:   "a log expires when half of its window has passed",
		edits: []edit{{`math.ceil(window / 1000) + 1000`, `math.ceil(window / 2000)`}},
		base:  limiter.Log, Claims: limiter.Log, Scenario: "boundary-burst", Check: "ttl", Only: true,
	},
	{
		Name: "ttl-not-renewed",
		Doc:  "a log sets its time to live once: the key goes when the first entry is old, and the others with it",
		edits: []edit{{
			"oldest_live)\n    redis.call('PEXPIRE', key, ttl)",
			"oldest_live)\n    if redis.call('PTTL', key) < 0 then\n      redis.call('PEXPIRE', key, ttl)\n    end",
		}},
		base: limiter.Log, Claims: limiter.Log, Scenario: "boundary-burst", Check: "ttl", Only: true,
	},
	{
		Name:  "counter-expires-with-its-window",
		Doc:   "a counter expires with the current window, before it was read as the previous one",
		Seen:  "https://github.com/PostHog/posthog/pull/89726",
		edits: []edit{{`(2 * window - elapsed)`, `(window - elapsed)`}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "boundary-instant", Check: "ttl", Only: true,
	},
	{
		Name:  "ttl-in-whole-seconds",
		Doc:   "a window below a second has a time to live of 0, which deletes the key at once: nothing is limited",
		Seen:  "https://github.com/winhowes/AuthTranslator/pull/237",
		edits: []edit{{`, 'PX', ttl)`, ")\n    redis.call('PEXPIRE', key, math.floor(window / 1000000) * 1000)"}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "sub-second", Check: "conformance",
	},
	{
		Name: "ttl-never-healed",
		Doc:  "the time to live is set with the first request of a window only, so a key that lost it stays for ever",
		Seen: "https://github.com/Haraka/Haraka/issues/1757",
		edits: []edit{
			{`local own, used = 0, 0`, "local own, used = 0, 0\nlocal began = false"},
			{`      used = used + u`, "      used = used + u\n      began = true"},
			{`redis.call('SET', key, ` + writes + `, 'PX', ttl)`, `if began then
      redis.call('SET', key, ` + writes + `, 'KEEPTTL')
    else
      redis.call('SET', key, ` + writes + `, 'PX', ttl)
    end`},
			{heals, `elseif false then`},
		},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "heal", Only: true,
	},
}
