package faulty

import "github.com/rlbench/rlbench/limiter"

// rests show after a flood or a long silence, or in what nobody asked for.
var rests = []Specimen{
	{
		Name: "dead-after-a-flood",
		Doc:  "an identity that asked for more than five times its limit in one window is never admitted again",
		edits: []edit{
			{`if i > index then`, `if i > index or u > 5 * max then`},
			{heals, `elseif not peek and used <= 5 * max then
  redis.call('SET', key, string.format('%.0f %.0f', index, used + cost), 'PX', ttl)`},
		},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "same-microsecond", Check: "recovers",
	},
	{
		// The windows that have passed are read as a signed number of four bits.
		Name: "idle-overflow",
		Doc:  "after eight windows of silence the time that passed overflows and becomes debt",
		Seen: "https://github.com/bucket4j/bucket4j/issues/51",
		edits: []edit{{`        own = u
      end
`, `        own = u
      end
    elseif (index - i + 8) % 16 < 8 then
      local passed = (index - i + 8) % 16 - 8
      used = u - passed * max
      own = used
`}},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "recovers", Only: true,
	},
	{
		Name: "denials-noted",
		Doc:  "each denial adds a mark to the key, for nothing: a flood makes writes and takes memory",
		edits: []edit{
			{parses, `'^(%d+) (%d+)%.*$'`},
			{heals, `elseif not peek and redis.call('EXISTS', key) == 1 and redis.call('APPEND', key, '.') and redis.call('PTTL', key) == -1 then`},
		},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "denied-is-free", Only: true,
	},
}
