package runner

import (
	"time"

	"github.com/rlbench/rlbench/scenarios"
)

const (
	// slack is how much may pile up and still be sent at once: a scheduler's hiccup.
	slack = 10 * time.Millisecond
	// haste is how much faster than the busiest phase what has piled up is sent.
	haste = 1.25
)

// catchUp sends what is late without a burst of its own. Whoever waited for a target
// that stood still would else send all that at once, which nobody planned, and which
// changes what is admitted.
type catchUp struct {
	least  time.Duration // gap between two that are late; 0 where nothing is paced
	sent   time.Duration // when the last was taken to be sent
	behind bool
	at     time.Duration // when the last was due, as long as it is behind
}

func newCatchUp(p *scenarios.Plan) *catchUp {
	fastest := 0.0 // per nanosecond
	for _, phase := range p.Phases {
		if span := phase.End - phase.Start; span > 0 {
			fastest = max(fastest, float64(phase.Planned)/float64(span))
		}
	}
	if fastest == 0 {
		return &catchUp{}
	}
	return &catchUp{least: time.Duration(1 / (fastest * haste))}
}

// due is when the next request is to be sent: when it is planned; or if that has been
// missed, its planned gap behind the one before, or the least gap if that is less. It
// is asked once for each request, in order.
func (c *catchUp) due(planned, gap, now time.Duration) time.Duration {
	if !c.behind && now-planned <= slack {
		return planned
	}
	if !c.behind {
		c.behind, c.at = true, c.sent
	}
	c.at = max(c.at+min(gap, c.least), now-slack)
	if c.at <= planned {
		c.behind = false
	}
	return max(planned, c.at)
}
