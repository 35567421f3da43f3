package scenarios

import (
	"strings"

	"github.com/rlbench/rlbench/limiter"
)

// Version is the version of the scenario file that Read understands.
const Version = 1

// Scenario is scripted traffic, and what is expected of a limiter under it.
type Scenario struct {
	Name, Description string
	Limit             limiter.Limit
	Clock             Clock
	Keys              Keys
	Phases            []Phase
	Checks            []Check
	Seed              uint64
}

// Clock says whose time decides.
type Clock string

// The clocks.
const (
	// Virtual passes planned instants and sends as fast as it can.
	Virtual Clock = "virtual"
	// Server waits in real time and lets the Redis server's clock decide.
	Server Clock = "server"
	// Client waits in real time and stamps each request as it is sent.
	Client Clock = "client"
)

// Clocks are the clocks with a line each.
var Clocks = []struct {
	Name Clock
	Doc  string
}{
	{Virtual, "planned instants are passed along: exact, repeatable, takes milliseconds"},
	{Server, "real time, decided by the Redis server's clock"},
	{Client, "real time, each request stamped by this machine as it is sent"},
}

// ParseClock reads the name of a clock.
func ParseClock(s string) (Clock, error) {
	names := make([]string, len(Clocks))
	for i, c := range Clocks {
		if s == string(c.Name) {
			return c.Name, nil
		}
		names[i] = string(c.Name)
	}
	return "", UnknownName("clock", s, names)
}

// Keys says how many identities send and how requests are spread over them.
type Keys struct {
	Count        int
	Distribution string // "uniform": every identity is equally likely
}

// Distributions are the ways to spread requests over keys.
var Distributions = []string{"uniform"}

// Phase is a stretch of traffic of one shape.
type Phase struct {
	Name string
	// At is the instant of its start; absent means when the phase before ends,
	// or the edge for the first.
	At Expr
	// For is its length; absent for shapes that happen at one instant.
	For Expr
	// Shape is the name of a row of Shapes.
	Shape string
	// Count or Rate says how many requests; a Rate is the total over all keys.
	Count, Rate Expr
	// Cost is the units that each request takes; absent means 1.
	Cost Expr
}

// Check is one expectation of a scenario or of the command line.
type Check struct {
	Algorithm string // "" for every limiter
	Phase     string // "" for the whole scenario
	Metric    string // name of a row of Metrics
	Op        string // one of Ops
	Value     Expr
	Warn      bool // report a failure without failing the run
}

// String is the form that ParseCheck reads.
func (c Check) String() string {
	var b strings.Builder
	if c.Algorithm != "" {
		b.WriteString(c.Algorithm + ": ")
	}
	b.WriteString(c.Metric)
	if c.Phase != "" {
		b.WriteString("@" + c.Phase)
	}
	b.WriteString(" " + c.Op + " " + c.Value.String())
	return b.String()
}
