package limitertest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// identities are pairwise different, and alike to code that trims, truncates,
// joins, escapes or folds them.
var identities = []string{
	"a", "A", "aa", "a ", " a", " ", "  ", "\t", "a\n", "a\nb", "a\r\nb", "\x00", "a\x00", "a\x00b",
	"{", "}", "{}", "}{", "{a}", "{a", "a}", "a}b", "a{b", "{a}b", "a}{b", "{{a}}",
	"%", "%%", "%7D", "%7d", "%25", "%257D", "a%7Db", "%}", "}%",
	"\\", "\"", "'", "*", "?", "[a]", "$1", "-", "--", "0", "00", "1", "01", "1.0", "1e0", "nil", "false",
	":", "::", "a:b", "a:", ":a", "a:b:c", "a,b", "a|b", "a/b",
	"é", "e\u0301", "日本語", "\u200b", "\ufeff", "\xff", "\xff\xfe", "\xc3",
	"key-0000000001", "key-0000000002", "key-00000000010",
	"192.0.2.1", "192.0.2.10", "2001:db8::1", "2001:db8::2", "::ffff:192.0.2.1",
	strings.Repeat("x", 10_000), strings.Repeat("x", 10_000) + "y", strings.Repeat("x", 9_999) + "y",
}

// checkIdentities uses two units of each identity, in turn: whoever shares a
// budget with another has less left than expected.
func checkIdentities(ctx context.Context, s *subject) error {
	l, err := s.fresh(limiter.Limit{Max: 2, Window: time.Minute})
	if err != nil {
		return err
	}
	var f faults
	for _, left := range []int64{1, 0} {
		for _, id := range identities {
			d, err := asker{ctx, l}.allow(id, epoch, 1)
			if err == nil && (!d.Allowed || d.Remaining != left) {
				err = fmt.Errorf("identity %.40q (%d bytes) shares its budget: admitted %t, %d remain, want %d",
					id, len(id), d.Allowed, d.Remaining, left)
			}
			f.add(err)
		}
	}
	return f.join()
}

// checkPolicies uses the same identity, and the same joined name, in two policies.
func checkPolicies(ctx context.Context, s *subject) error {
	limit := limiter.Limit{Max: 1, Window: time.Minute}
	one := s.setup(limit)
	other, longer := s.setup(limit), one
	longer.Policy += "x"
	uses := []struct {
		why      string
		setup    Setup
		identity string
	}{
		{"the first use", one, "xy"},
		{"the same identity in another policy", other, "xy"},
		{"parts that join to the same text", longer, "y"},
		{"a policy that another one begins with", longer, "xy"},
	}
	var f faults
	for _, u := range uses {
		l, err := s.open(u.setup)
		if err != nil {
			return err
		}
		d, err := asker{ctx, l}.allow(u.identity, epoch, 1)
		if err == nil && !d.Allowed {
			err = fmt.Errorf("%s: denied, so the budget is shared", u.why)
		}
		f.add(err)
	}
	return f.join()
}
