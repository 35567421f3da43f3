package target

import (
	"context"
	"fmt"
	"strings"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// What the name of an algorithm can be followed by.
const (
	denying   = "deny-cache" // refuses by itself what Redis has refused, as long as that holds
	pipelined = "pipeline"   // sends what is asked for at the same time together
)

// A variant is an algorithm that is reached in another way.
type variant struct {
	algorithm          string
	denying, pipelined bool
}

// variantOf takes a name such as log+deny-cache apart; it is false for any other.
func variantOf(name string) (v variant, ok bool) {
	parts := strings.Split(name, "+")
	v.algorithm = parts[0]
	for _, part := range parts[1:] {
		switch {
		case part == denying && !v.denying:
			v.denying = true
		case part == pipelined && !v.pipelined:
			v.pipelined = true
		default:
			return v, false
		}
	}
	return v, len(parts) > 1 && isAlgorithm(v.algorithm)
}

// variantKind is the row of an addition. Names with both belong to the first.
func variantKind(addition, doc string, matches func(variant) bool) kind {
	return kind{
		name: "ALGORITHM+" + addition, doc: doc + ", such as log-packed+" + addition,
		matches: func(name string) bool {
			v, ok := variantOf(name)
			return ok && matches(v)
		},
		check: checkVariant,
		claims: func(name, model string) *limiter.Algorithm {
			v, _ := variantOf(name)
			return claimsAlgorithm(v.algorithm, model)
		},
		open: openVariant,
	}
}

// checkVariant refuses what an addition is not made for, and says of itself.
func checkVariant(name string, n Needs, _ string) error {
	v, _ := variantOf(name)
	switch {
	case n.Service:
		return fmt.Errorf("limiter %s: it cannot stand in front of a service here", name)
	case n.Faults && v.pipelined:
		return fmt.Errorf("limiter %s: its requests share calls, so a fault hits more of them than it tells; choose a scenario without faults, or the algorithm without +pipeline", name)
	case !v.denying:
	case n.Faults:
		return fmt.Errorf("limiter %s: it does not notice what faults do to Redis; run it without them", name)
	case n.Skewed || n.Clock == scenarios.Client:
		return fmt.Errorf("limiter %s: it needs instants in order, and those of callers need not be", name)
	case n.Names:
		return fmt.Errorf("limiter %s: what it tells of clients with two names is not exact", name)
	}
	return checkAlgorithm(v.algorithm, n, "")
}

func openVariant(_ context.Context, s *backend.Server, name string, o Options) (*Target, error) {
	v, _ := variantOf(name)
	b := bundled{algorithm: v.algorithm, client: s.Client()}
	if v.denying {
		b.denials = new(limiter.DenyCache)
	}
	if v.pipelined {
		p, err := limiter.NewPipeline(s.Client())
		if err != nil {
			return nil, fmt.Errorf("open target %s: %w", name, err)
		}
		b.client = p
	}
	return b.open(name, o)
}
