package target

import (
	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// Fault is a planned fault as a server is asked for it. Victims are the keys that
// an eviction has to hit.
func Fault(f scenarios.PlannedFault, seed uint64, victims []string) backend.Fault {
	b := backend.Fault{Kind: f.Kind, Delay: f.Delay, Jitter: f.Jitter, Every: int(f.Every), Hits: int(f.Hits)}
	if f.Jitter > 0 {
		b.Seed = seed
	}
	if f.Kind == "eviction" {
		b.Victims = victims
	}
	return b
}
