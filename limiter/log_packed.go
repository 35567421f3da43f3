package limiter

import (
	"time"

	"github.com/rlbench/rlbench/scripts"
)

// LogPacked decides what Log decides, from one string with 3 bytes for each admitted
// unit: 4 with windows of 4 minutes and more, 5 above 16 hours. The string grows by
// half when it is full, and is written anew when three quarters of it are empty,
// which takes Redis some 10 ms with 100,000 units and 0.1 s with a million. It holds at most 2^24, and
// answers what would be more with an error.
var LogPacked = Algorithm{
	Name:      "log-packed",
	Doc:       "sliding window log in one string: exact, 3 to 5 bytes per admitted unit",
	DecidesAs: Log.Name,
	Script:    scripts.LogPacked,
	Model:     Log.Model,
	Worst:     Log.Worst,
	AfterEdge: Log.AfterEdge,
	TTL:       func(l Limit) time.Duration { return l.Window + time.Second },
}
