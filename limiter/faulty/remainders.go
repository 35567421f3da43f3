package faulty

import "github.com/rlbench/rlbench/limiter"

const remains = `math.max(max - used, 0)`

// remainders are told wrongly.
var remainders = []Specimen{
	{
		Name:  "remaining-negative",
		Doc:   "what remains is told with a denied request taken off, below 0",
		Seen:  "https://github.com/animir/node-rate-limiter-flexible/pull/173",
		edits: []edit{{remains, `max - used - (allowed and 0 or cost)`}},
		base:  limiter.Fixed, Scenario: "same-microsecond", Check: "remaining", Only: true,
	},
	{
		Name:  "remaining-before-the-request",
		Doc:   "what remains is told as it was before the request",
		edits: []edit{{remains, `math.max(max - used + (allowed and cost or 0), 0)`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "same-microsecond", Check: "conformance", Only: true,
	},
	{
		Name:  "remaining-never-falls",
		Doc:   "what remains is always the limit",
		edits: []edit{{remains, `max`}},
		base:  limiter.Fixed, Scenario: "same-microsecond", Check: "remaining", Only: true,
	},
}
