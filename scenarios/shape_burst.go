package scenarios

import (
	"math/rand/v2"
	"time"
)

// burst sends everything at one instant.
var burst = Shape{
	Name:    "burst",
	Doc:     "count requests at one and the same instant",
	instant: true,
	arrive: func(d demand, _ *rand.Rand) []time.Duration {
		return make([]time.Duration, d.count)
	},
}
