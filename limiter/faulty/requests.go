package faulty

import (
	"context"
	"errors"

	"github.com/rlbench/rlbench/limiter"
)

// requests of unusual costs, and peeks, are answered wrongly.
var requests = []Specimen{
	{
		Name:  "cost-ignored",
		Doc:   "a request of any cost is charged one unit",
		edits: []edit{{readsCost, `local cost = 1`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "costs", Check: "conformance",
	},
	{
		Name:  "cost-one-less",
		Doc:   "a request of cost n is charged n-1 units",
		edits: []edit{{`own, used = own + cost, used + cost`, `own, used = own + math.max(cost - 1, 1), used + math.max(cost - 1, 1)`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "costs", Check: "conformance",
	},
	{
		Name:  "overdraws",
		Doc:   "a fixed window admits any cost up to the limit as long as a unit is left",
		edits: []edit{{fits, `local allowed = used < max and cost <= max`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "costs-fit", Check: "conformance",
	},
	{
		Name: "huge-cost-admitted",
		Doc:  "a cost above the limit wraps around and is admitted",
		Seen: "https://github.com/alisaifee/limits/pull/152",
		edits: []edit{
			{fits, `local allowed = used + cost <= max or cost > max`},
			{`if cost > max then`, `if cost > max and not allowed then`},
		},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "costs", Only: true,
	},
	{
		Name:  "huge-cost-waits",
		Doc:   "a cost above the limit is told to wait, and will wait for ever",
		edits: []edit{{`if cost > max then`, `if false then`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "costs", Only: true,
	},
	{
		Name:  "negative-cost",
		Doc:   "a cost below 0 is not refused and gives quota back",
		Seen:  "https://github.com/alisaifee/limits/pull/362",
		build: withAnyCost,
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "costs", Only: true,
	},
	{
		Name: "partial-charge",
		Doc:  "a cost that does not fit is denied and takes what is left all the same",
		Seen: "https://github.com/upstash/ratelimit-js/issues/161",
		edits: []edit{{heals, `elseif not peek then
  redis.call('SET', key, string.format('%.0f %.0f', index, max), 'PX', ttl)`}},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "costs", Check: "conformance",
	},
	{
		Name:  "peek-charges",
		Doc:   "a peek is charged like a request",
		edits: []edit{{`local peek = ARGV[5] == ''`, `local peek = false`}},
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "steady", Check: "peek", Only: true,
	},
	{
		Name:  "peek-forgets-the-previous-window",
		Doc:   "a peek looks at the current window only, and promises what the request after it does not get",
		Seen:  "https://github.com/looplj/axonhub/pull/1567",
		edits: []edit{{weighs, `peek and 0 or ` + weighs}},
		base:  limiter.Counter, Claims: limiter.Counter, Scenario: "boundary-burst", Check: "peek", Only: true,
	},
	{
		Name:  "denial-is-an-error",
		Doc:   "a denial with a wait is returned as an error, like trouble with Redis",
		build: func(s setting) (limiter.Limiter, error) { return refusing{s.script}, nil },
		base:  limiter.Log, Scenario: "boundary-burst", Check: "evidence", Only: true,
	},
}

// refusing makes errors of denials.
type refusing struct{ *limiter.Redis }

var errExhausted = errors.New("limit exhausted")

func (l refusing) Allow(ctx context.Context, r limiter.Request) (limiter.Decision, error) {
	d, err := l.Redis.Allow(ctx, r)
	if err == nil && !d.Allowed && d.RetryAfter != limiter.Never {
		return limiter.Decision{}, errExhausted
	}
	return d, err
}
