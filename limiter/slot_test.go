package limiter_test

import (
	"testing"

	"github.com/rlbench/rlbench/limiter"
)

// The checksum of the digits is the one that the Redis Cluster specification
// gives; the other slots are answers of CLUSTER KEYSLOT.
func TestSlot(t *testing.T) {
	for _, row := range []struct {
		key  string
		want uint16
		why  string
	}{
		{"123456789", 0x31C3 % 16384, "the check value"},
		{"foo", 12182, "no tag"},
		{"{user1000}.following", 3443, "a tag"},
		{"{user1000}.followers", 3443, "the same one"},
		{"user1000", 3443, "the tag by itself"},
		{"foo{}{bar}", 8363, "the first tag is empty, so all of it counts"},
		{"foo{{bar}}zap", 4015, "the tag is {bar"},
		{"{bar", 4015, "and no tag if it is not closed"},
		{"foo{bar}{zap}", 5061, "only the first tag"},
		{"bar", 5061, "by itself"},
		{"{123456789}.following", 0x31C3 % 16384, "a tag alone counts"},
		{"a{123456789}b{c}", 0x31C3 % 16384, "the first tag counts"},
		{"foo{}{bar}", limiter.Slot("foo{}{bar}x"[:10]), "an empty tag is none"},
		{"foo{{bar}}zap", limiter.Slot("{{bar}"), "the tag ends at the first brace"},
		{"", 0, "nothing"},
	} {
		if got := limiter.Slot(row.key); got != row.want {
			t.Errorf("%q is in slot %d, want %d (%s)", row.key, got, row.want, row.why)
		}
	}
}
