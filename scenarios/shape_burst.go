package scenarios

import (
	"math/rand/v2"
	"time"
)

// burst sends everything at one instant.
var burst = Shape{
	Name:  "burst",
	Doc:   "count requests at one and the same instant",
	needs: []string{"count"},
	Picture: `
█
█
█────────────────────  at`,
	arrive: func(d demand, _ *rand.Rand) []time.Duration {
		return make([]time.Duration, d.count)
	},
}

// herd sends everything at one instant from every client.
var herd = Shape{
	Name:   "herd",
	Doc:    "count requests of every key at one and the same instant",
	needs:  []string{"count"},
	perKey: true,
	Picture: `
█ █ █ █
█ █ █ █                all at one instant
█─█─█─█──────────────  key 1, 2, 3, …`,
	arrive: burst.arrive,
}
