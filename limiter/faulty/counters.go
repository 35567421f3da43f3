package faulty

import "github.com/rlbench/rlbench/limiter"

// weighs is where the counter weights the previous window.
const weighs = `math.floor(previous * (window - elapsed) / window)`

// counters weigh the two windows wrongly.
var counters = []Specimen{
	{
		Name:  "previous-never-found",
		Doc:   "a counter looks for the previous window where it never is, and so acts as a fixed window",
		Seen:  "https://github.com/upstash/ratelimit-js/pull/61",
		edits: []edit{{`elseif s and s[1] == index - 1 then`, `elseif s and s[1] == index - window then`}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "boundary-burst", Check: "conformance",
	},
	{
		Name:  "previous-from-two-ago",
		Doc:   "a counter takes the window before the previous one for the previous one",
		edits: []edit{{`elseif s and s[1] == index - 1 then`, `elseif s and s[1] == index - 2 then`}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "boundary-burst", Check: "conformance",
	},
	{
		Name:  "previous-ignored",
		Doc:   "a counter keeps the previous window and gives it no weight",
		edits: []edit{{weighs, `0`}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "boundary-burst", Check: "conformance",
	},
	{
		Name:  "windows-summed",
		Doc:   "a counter adds the whole previous window, whatever has passed of it",
		edits: []edit{{weighs, `previous`}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "cron-half", Check: "conformance",
	},
	{
		Name:  "ceil-for-floor",
		Doc:   "a counter rounds the previous window's share up",
		edits: []edit{{weighs, `math.ceil(previous * (window - elapsed) / window)`}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "counter-worst", Check: "conformance",
	},
	{
		// 100 × (1 − 0.9) is 9.999999999999998.
		Name:  "float-weight",
		Doc:   "a counter weighs with a fraction, which at round instants is a little too small",
		edits: []edit{{weighs, `math.floor(previous * (1 - elapsed / window))`}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "float-instant", Check: "conformance",
	},
	{
		Name: "counter-charges-denied",
		Doc:  "a counter counts denied requests too, so that whoever keeps asking is never admitted again",
		Seen: "https://github.com/gofiber/fiber/issues/2578",
		edits: []edit{{heals, `elseif not peek then
  redis.call('SET', key, string.format('%.0f %.0f %.0f', index, current + cost, previous), 'PX', ttl)`}},
		base: limiter.Counter, Claims: limiter.Counter, Scenario: "saturate", Check: "conformance",
	},
	{
		Name:  "late-stamp-turns-counter-back",
		Doc:   "a counter lets a caller whose clock is behind overwrite the newer window",
		Seen:  "https://github.com/spring-cloud/spring-cloud-gateway/issues/2412",
		edits: []edit{{`index = math.max(index, tonumber(i))`, ``}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "clock-behind", Check: "conformance",
	},
}
