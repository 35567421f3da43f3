package faulty

import "github.com/rlbench/rlbench/limiter"

// buckets fill wrongly.
var buckets = []Specimen{
	{
		Name: "bucket-starts-empty",
		Doc:  "a new identity's bucket is empty, and has to fill before the first request is admitted",
		edits: []edit{
			{`local tat, parts = 0, 0`, `local tat, parts = now + window, 0`},
			{`if t > tat or t == tat and p > parts then`, `if true then`},
			{heals, `elseif not peek and redis.call('EXISTS', key) == 0 and max > 0 then
  redis.call('SET', key, string.format('%.0f %.0f %.0f', tat, parts, max), 'PX', ttl)
` + heals},
		},
		base: limiter.GCRA, Scenario: "boundary-burst", Check: "fresh", Only: true,
	},
	{
		Name: "bucket-fills-twice-as-fast",
		Doc:  "a bucket gets back two units where one is due",
		edits: []edit{
			{`local t, p, m = string.match(value, '^(%d+) (%d+) ([1-9]%d*)$')`, `local t, p, m, last = string.match(value, '^(%d+) (%d+) ([1-9]%d*) (%d+)$')`},
			{`    -- A changed max keeps`, "    t = t - math.max(now - tonumber(last), 0)\n    -- A changed max keeps"},
			{`string.format('%.0f %.0f %.0f', now + ahead, parts, max)`, `string.format('%.0f %.0f %.0f %.0f', now + ahead, parts, max, now)`},
		},
		base: limiter.GCRA, Claims: limiter.GCRA, Scenario: "saturate", Check: "promise",
	},
	{
		Name: "bucket-goes-into-debt",
		Doc:  "a bucket is charged for denied requests too, and each makes the wait longer",
		Seen: "https://github.com/mennanov/limiters/issues/110",
		edits: []edit{{heals, `elseif not peek and max > 0 then
  redis.call('SET', key, string.format('%.0f %.0f %.0f', now + ahead + math.floor(cost * window / max), parts, max), 'PX', ttl)`}},
		base: limiter.GCRA, Claims: limiter.GCRA, Scenario: "saturate", Check: "denied-is-free",
	},
}
