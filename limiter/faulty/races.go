package faulty

import "github.com/rlbench/rlbench/limiter"

// races go wrong when callers come in between each other.
var races = []Specimen{
	{
		Name:  "get-then-set",
		Doc:   "a fixed window reads, decides and then writes, in two commands",
		Seen:  "https://github.com/go-chi/httprate/issues/2",
		build: getThenSet,
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "same-microsecond", Check: "conformance",
	},
	{
		Name:  "count-then-add",
		Doc:   "a log counts, decides and then adds, in separate commands",
		Seen:  "https://github.com/redis-developer/redis-ratelimiting-js/issues/2",
		build: countThenAdd,
		base:  limiter.Log, Claims: limiter.Log, Scenario: "same-microsecond", Check: "conformance",
	},
	{
		Name:  "add-then-count",
		Doc:   "a log adds the request and counts in one MULTI, so denied requests stay in it and take room",
		Seen:  "https://github.com/rcarmo/piclaw/pull/105",
		build: addThenCount,
		base:  limiter.Log, Claims: limiter.Log, Scenario: "same-microsecond", Check: "members",
	},
	{
		Name:  "conflict-is-an-admission",
		Doc:   "a WATCH that fails because somebody else was faster admits, silently, like any other error",
		Seen:  "https://github.com/rmosolgo/graphql-ruby/issues/5465",
		build: func(s setting) (limiter.Limiter, error) { return &watched{window: newWindow(s), open: true}, nil },
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "same-microsecond", Check: "conformance",
	},
	{
		Name:  "conflict-is-an-error",
		Doc:   "a WATCH that fails because somebody else was faster is not tried again, and nobody gets a decision",
		Seen:  "https://github.com/throttled/throttled/pull/90",
		build: func(s setting) (limiter.Limiter, error) { return &watched{window: newWindow(s)}, nil },
		base:  limiter.Fixed, Scenario: "counter-worst", Check: "evidence", Only: true,
	},
}
