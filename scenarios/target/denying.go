package target

import (
	"context"
	"fmt"
	"strings"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// denying is behind the name of an algorithm that refuses by itself what Redis has
// refused, as long as that holds.
const denying = "+deny-cache"

var denyingKind = kind{
	name: "ALGORITHM" + denying, doc: "the same with a cache of denials in this process, such as log" + denying,
	matches: func(name string) bool {
		base, ok := strings.CutSuffix(name, denying)
		return ok && isAlgorithm(base)
	},
	check:  checkDenying,
	claims: func(name, model string) *limiter.Algorithm { return claimsAlgorithm(behind(name), model) },
	open: func(_ context.Context, s *backend.Server, name string, o Options) (*Target, error) {
		return openBundled(s, name, behind(name), o, new(limiter.DenyCache))
	},
}

// behind is the algorithm behind the cache.
func behind(name string) string { return strings.TrimSuffix(name, denying) }

// checkDenying refuses what a cache of denials is not made for, and says of itself.
func checkDenying(name string, n Needs, _ string) error {
	switch {
	case n.Faults:
		return fmt.Errorf("limiter %s: it does not notice what faults do to Redis; run it without them", name)
	case n.Skewed || n.Clock == scenarios.Client:
		return fmt.Errorf("limiter %s: it needs instants in order, and those of callers need not be", name)
	case n.Names:
		return fmt.Errorf("limiter %s: what it tells of clients with two names is not exact", name)
	case n.Service:
		return fmt.Errorf("limiter %s: it cannot stand in front of a service here", name)
	}
	return checkAlgorithm(behind(name), n, "")
}
