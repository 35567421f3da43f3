package scenarios

import (
	"math/rand/v2"
	"time"
)

// replay sends what a log recorded.
var replay = Shape{
	Name:    "replay",
	Doc:     "the requests of an access log, at their own distances in time and by its own clients",
	takes:   []string{"trace", "format", "speed", "since", "until", "spread", "count"},
	refuses: []string{"senders", "skip"},
	Picture: `
█ █  █   ██         █
█─█─██───██─█───────█  as logged, divided by speed`,
	arrive: func(d demand, _ *rand.Rand) []time.Duration { return d.recorded },
}
