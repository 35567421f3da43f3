package limitertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlbench/rlbench/limiter"
)

// checkKeys compares the keys that appear with the keys that are named.
func checkKeys(ctx context.Context, s *subject) error {
	before, err := scan(ctx, s.suite.Client, "*")
	if err != nil {
		return err
	}
	setup := s.setup(limiter.Limit{Max: 2, Window: time.Minute})
	l, err := s.open(setup)
	if err != nil {
		return err
	}
	keyer, ok := l.(Keyer)
	if !ok {
		return Skip("the limiter has no Keys")
	}
	var f faults
	named := map[string]bool{}
	slots := map[uint16]bool{}
	for _, id := range identities {
		for _, cost := range []int64{2, 1, 3} { // an admission and two denials
			if _, err := (asker{ctx, l}).allow(id, epoch, cost); err != nil {
				return err
			}
		}
		f.add(s.named(keyer.Keys(id), setup.Policy, named))
		for _, key := range keyer.Keys(id) {
			slots[limiter.Slot(key)] = true
		}
	}
	if len(slots) < len(identities)/2 {
		f.addf("%d identities are in %d slots: they do not spread over a cluster", len(identities), len(slots))
	}
	after, err := scan(ctx, s.suite.Client, "*")
	if err != nil {
		return err
	}
	for _, key := range after {
		if _, old := slices.BinarySearch(before, key); !old && !named[key] {
			f.addf("key %.60q appeared, and Keys does not name it", key)
		}
	}
	return f.join()
}

// named checks the keys of one identity and notes them.
func (s *subject) named(keys []string, policy string, seen map[string]bool) error {
	if len(keys) == 0 {
		return fmt.Errorf("no keys are named")
	}
	for _, key := range keys {
		switch {
		case seen[key]:
			return fmt.Errorf("two identities have the key %.60q", key)
		case limiter.Slot(key) != limiter.Slot(keys[0]):
			return fmt.Errorf("keys %.60q and %.60q are in different slots", keys[0], key)
		case !strings.Contains(key, policy):
			return fmt.Errorf("key %.60q does not contain the policy %q", key, policy)
		}
		seen[key] = true
	}
	return nil
}
