package faulty

import "github.com/rlbench/rlbench/limiter"

const (
	waitsForEnd = `retry_after = window_end - now`
	logWaits    = `retry_after = score_from_newest(max - cost + 1) + window - now`
)

// waits are told wrongly.
var waits = []Specimen{
	{
		Name:  "retry-constant",
		Doc:   "a denial always says to wait a whole window",
		Seen:  "https://github.com/go-chi/httprate/issues/47",
		edits: []edit{{waitsForEnd, `retry_after = window`}},
		base:  limiter.Fixed, Scenario: "boundary-burst", Check: "retry", Only: true,
	},
	{
		Name:  "retry-floored-to-seconds",
		Doc:   "a wait is cut to whole seconds, and whoever obeys it is denied again",
		Seen:  "https://github.com/redis/redis/pull/14826",
		edits: []edit{{waitsForEnd, `retry_after = math.floor((window_end - now) / 1000000) * 1000000`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "spread-microseconds", Check: "retry",
	},
	{
		Name:  "retry-zero",
		Doc:   "a denial says to try again at once",
		Seen:  "https://github.com/alisaifee/flask-limiter/issues/62",
		edits: []edit{{waitsForEnd, `retry_after = 0`}},
		base:  limiter.Fixed, Scenario: "boundary-burst", Check: "retry", Only: true,
	},
	{
		Name:  "retry-negative",
		Doc:   "a wait is computed the wrong way round, so a request that fits is told that no wait helps",
		Seen:  "https://github.com/alisaifee/flask-limiter/issues/62",
		edits: []edit{{waitsForEnd, `retry_after = now - window_end`}},
		base:  limiter.Fixed, Scenario: "boundary-burst", Check: "retry", Only: true,
	},
	{
		Name:  "retry-from-the-newest",
		Doc:   "a log waits until its newest entry has left, though the oldest would do",
		edits: []edit{{logWaits, `retry_after = score_from_newest(1) + window - now`}},
		base:  limiter.Log, Claims: limiter.Log, Scenario: "boundary-burst", Check: "retry",
	},
	{
		Name:  "retry-at-the-next-window",
		Doc:   "a counter always says to wait for the next window, which is too late or too early",
		edits: []edit{{`retry_after = start + faded(previous, room) - now`, `retry_after = start + window - now`}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "boundary-burst", Check: "retry",
	},
	{
		Name:  "retry-when-full",
		Doc:   "a bucket says to wait until it is full, though one unit would do",
		Seen:  "https://github.com/Effect-TS/effect/pull/8093",
		edits: []edit{{`retry_after = ahead + math.ceil((parts - (max - cost) * window) / max)`, `retry_after = ahead`}},
		base:  limiter.GCRA, Claims: limiter.GCRA, Scenario: "boundary-burst", Check: "retry",
	},
	{
		Name:  "reset-ignores-use",
		Doc:   "a counter says that everything is back at the end of the window, whatever was used",
		Seen:  "https://github.com/mailgun/gubernator/pull/110",
		edits: []edit{{`reset_after = start + window + faded(current, 0) - now`, `reset_after = start + window - now`}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "boundary-burst", Check: "conformance", Only: true,
	},
	{
		Name: "reset-from-the-oldest",
		Doc:  "a log says that everything is back when its oldest entry leaves",
		edits: []edit{
			{`local newest = 0`, "local newest = 0\nlocal oldest = now"},
			{`  newest = score_from_newest(1)`, "  newest = score_from_newest(1)\n  oldest = score_from_newest(live)"},
			{`reset_after = newest + window - now`, `reset_after = oldest + window - now`},
		},
		base: limiter.Log, Claims: limiter.Log, Scenario: "boundary-burst", Check: "conformance", Only: true,
	},
}
