package target

import "github.com/rlbench/rlbench/limiter"

// oneSlot reports whether Redis Cluster would find all keys in one place.
func oneSlot(keys []string) bool {
	for _, key := range keys {
		if limiter.Slot(key) != limiter.Slot(keys[0]) {
			return false
		}
	}
	return true
}
