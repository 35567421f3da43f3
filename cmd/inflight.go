package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/scenarios"
)

// How many requests are in flight at most, unless somebody says so: the usual number,
// and the most that is chosen for a plan in real time.
const (
	usualInFlight  = 64
	chosenInFlight = 1000
)

// validInFlight refuses a --max-in-flight that is none.
func validInFlight(c *cobra.Command, n int) error {
	if n < 0 || n > 10_000 || n == 0 && c.Flags().Changed("max-in-flight") {
		return usagef("--max-in-flight 64", "--max-in-flight %d: want 1 to 10000", n)
	}
	return nil
}

// inFlight is how many requests of a plan may be in flight. In real time that is as
// many as are due while one waits for its reply as long as it may: then a target that
// stalls makes nobody late who is due meanwhile.
func (e *experiment) inFlight(p *scenarios.Plan) int {
	n := e.maxInFlight
	if n == 0 {
		n = usualInFlight
		if p.Clock != scenarios.Virtual {
			longest := e.timeout
			if p.Timeout > 0 {
				longest = p.Timeout
			}
			// Faster plans cannot be covered, and a thousand busy connections slow a target
			// down until it does not recover.
			if p.Due(time.Second, usualInFlight) <= chosenInFlight {
				n = max(n, min(p.Due(longest, usualInFlight), chosenInFlight))
			}
		}
	}
	return max(n, p.MaxInFlight)
}

// mostInFlight is that of the scenario that has most: so many connections are needed.
func (e *experiment) mostInFlight() int {
	most := e.maxInFlight
	for _, s := range e.scenarios {
		most = max(most, e.inFlight(s.plan))
	}
	return max(most, 1)
}

// connections is how many requests can be in flight at once. In real time that
// depends on how fast the target answers, and to connect in the middle would make it
// slower.
func (e *experiment) connections() int {
	most := 1
	for _, s := range e.scenarios {
		if s.plan.Clock != scenarios.Virtual {
			return e.mostInFlight()
		}
		most = max(most, min(s.plan.Crowd(), e.inFlight(s.plan)))
	}
	return most
}
