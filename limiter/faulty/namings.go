package faulty

import (
	_ "embed"
	"strings"

	"github.com/rlbench/rlbench/limiter"
)

//go:embed lua/twokeys.lua
var twokeys string

// namings are keys that are wrong, too many or not declared.
var namings = []Specimen{
	{
		Name:   "two-keys-without-a-tag",
		Doc:    "a call uses two keys without a hash tag, which Redis Cluster refuses",
		Seen:   "https://github.com/apache/shenyu/issues/2808",
		source: twokeys,
		names: func(key string) []string {
			bare := strings.NewReplacer("{", "", "}", "").Replace(key)
			return []string{bare + ":index", bare + ":used"}
		},
		build: withKeys,
		base:  limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "keys", Only: true,
	},
	{
		Name: "undeclared-key",
		Doc:  "a script touches a key that it was not given",
		Seen: "https://github.com/redis/rueidis/pull/974",
		edits: []edit{{`'PX', ttl)`, `'PX', ttl)
    redis.call('SET', key .. ':seen', '1', 'PX', ttl)`}},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "keys", Only: true,
	},
	{
		Name:   "identity-cut-at-the-last-separator",
		Doc:    "an identity loses what follows its last separator, as an IPv6 address does that is taken for host and port",
		rename: func(identity string) string { return identity[:max(strings.LastIndexAny(identity, ":-"), 1)] },
		base:   limiter.Log, Claims: limiter.Log, Scenario: "day-rollover", Check: "fresh",
	},
	{
		Name:   "truncated-identity",
		Doc:    "only the first three characters of an identity are used",
		Seen:   "https://github.com/ashita-ai/tessera/issues/185",
		rename: func(identity string) string { return identity[:min(len(identity), 3)] },
		base:   limiter.Fixed, Claims: limiter.Fixed, Scenario: "key-explosion", Check: "fresh",
	},
	{
		Name:   "identity-in-one-byte",
		Doc:    "identities are hashed to one byte, and strangers share a budget",
		rename: inOneByte,
		base:   limiter.Fixed, Claims: limiter.Fixed, Scenario: "key-explosion", Check: "conformance",
	},
	{
		Name:   "one-budget-for-all",
		Doc:    "an identity that cannot be told is a constant, so everybody shares one budget",
		Seen:   "https://github.com/Flowfin/jellyfin-plugin-sso/issues/194",
		rename: func(string) string { return "<nil>" },
		base:   limiter.Fixed, Claims: limiter.Fixed, Scenario: "key-explosion", Check: "fresh",
	},
	{
		Name: "address-at-rest",
		Doc:  "the client's address is stored beside its count",
		Seen: "https://github.com/ProteGO-Safe/backend/issues/88",
		edits: []edit{
			{parses, `'^(%d+) (%d+) [%d.]+$'`},
			{writes, `string.format('%.0f %.0f 203.0.113.9', index, own)`},
		},
		base: limiter.Fixed, Claims: limiter.Fixed, Scenario: "boundary-burst", Check: "identity", Only: true,
	},
}

// inOneByte is a checksum that takes little room.
func inOneByte(identity string) string {
	var sum byte
	for _, c := range []byte(identity) {
		sum = sum*31 + c
	}
	const digits = "0123456789abcdef"
	return string([]byte{digits[sum>>4], digits[sum&15]})
}
