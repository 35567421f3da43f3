package scenarios

import (
	"strings"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/edge"
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
	Faults            []Fault
	// OnFailure is one of FailurePolicies: what the limiter does when Redis cannot
	// answer; "" hands the error to the tester.
	OnFailure string
	// EdgeTier is a coarse tier that requests meet first, keyed by client whatever its
	// pseudonym; nil is none.
	EdgeTier *edge.Config
	// EdgeMax is the count of the tier's limit, for the window of the scenario;
	// absent leaves the limit of EdgeTier.
	EdgeMax Expr
	// Service is what stands behind the limiter and is asked over HTTP, one of
	// Services; "" asks the limiter itself.
	Service string
	// MaxInFlight is how many requests may be in flight; 0 is what the command line
	// says.
	MaxInFlight int
	// Timeout bounds a decision; absent is what the command line says.
	Timeout Expr
	Seed    uint64
	// Drain is how long to wait after the last request before what is left in
	// Redis is counted; absent does not wait. Only real time can drain.
	Drain Expr
	// Late is how late one request in a hundred may be sent in real time; absent
	// is a hundredth of the window, at least 1 ms.
	Late Expr
	// Overload ends a run in real time when a request is sent that late: its phases
	// are steps of a rising rate, and the last that nobody had to wait so long in is
	// what the limiter keeps up with. Absent is never.
	Overload Expr
}

// FailurePolicies are what a limiter can do when Redis cannot answer.
var FailurePolicies = []string{"error", "open", "closed", "local"}

// FallsBack reports whether it decides all the same under a failure policy; under
// "error", which is the default, the caller gets the error.
func FallsBack(policy string) bool { return policy != "" && policy != "error" }

// Services are what can stand behind a limiter.
var Services = []string{"demo"}

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
	Distribution string  // one of Distributions
	S            float64 // exponent of zipf, above 0
	Addresses    Addresses
}

// Distributions are the ways to spread requests over keys.
var Distributions = []string{"uniform", "cycle", "zipf"}

// JitterPicture shows what jitter does to a burst.
const JitterPicture = `
█                    █  █ █   █
█                    █──█─█─█─█──█──  each is later by a random time below it`

// Phase is a stretch of traffic of one shape.
type Phase struct {
	Name string
	// At is the instant of its start; absent means when the phase before ends,
	// or the edge for the first.
	At Expr
	// For is its length; absent for shapes that happen at one instant.
	For Expr
	// Senders is how many keys send in this phase, and Skip how many are passed over
	// before the first of them; absent means all, and none.
	Senders, Skip Expr
	// Path is what is requested of a service, such as /api/v1/trending.
	Path string
	// Shape is the name of a row of Shapes.
	Shape string
	// Count or Rate says how many requests; a Rate is the total over all keys.
	Count, Rate Expr
	// From and To are the rates at the start and the end of a ramp.
	From, To Expr
	// Every is the gap of a drip.
	Every Expr
	// Cost is the units that each request takes; absent means 1.
	Cost Expr
	// Limit is the count of the limit in this phase; absent means that of the
	// scenario. In expressions, limit is that of the scenario.
	Limit Expr
	// Skew is how far the clock of this phase's senders is ahead of the true one.
	// It matters where a caller's clock decides.
	Skew Expr
	// Jitter moves each request later by a random time below it.
	Jitter Expr
	// Pseudonym numbers the pseudonym that each client has in this phase: another
	// number is another identity of the same client.
	Pseudonym int32
	// Also is another pseudonym of each client that the limiter is told too, so that
	// its use counts; nil is none.
	Also *int32
	// Repeat does the phase several times.
	Repeat *Repeat
	// Retry makes clients send again what was denied.
	Retry *Retry
	// Replay is the log of a phase of shape replay; nil for all other shapes.
	Replay *Replay
}

// Repeat does a phase Times times, the starts Every apart.
type Repeat struct{ Times, Every Expr }

// Retry is what a client does after a denial.
type Retry struct {
	// Mode is one of RetryModes.
	Mode string
	// Wait is how long a client waits that does not obey.
	Wait Expr
	// Round rounds the RetryAfter of a client that obeys up to whole units, as the
	// header does; absent means to the microsecond.
	Round Expr
	// Jitter adds a random time below it to every wait.
	Jitter Expr
	// Within is how long after the start of the phase a client still tries, the
	// end excluded; absent means until five windows after the end of the phase.
	Within Expr
}

// RetryModes are what clients do after a denial.
var RetryModes = []struct{ Name, Doc, Picture string }{
	{"obey", "a denied client sends nothing until RetryAfter is over, then goes on where it was", `
█████✗              ████
█████✗──────────────████  ✗ denied: the rest waits with it, RetryAfter long`},
	{"constant", "a denied client sends nothing for a constant wait, whatever it was told", `
█████✗        ✗        ████
█████✗────────✗────────████  a wait too short is denied again`},
	{"ignore", "every denied request is sent again after a constant wait, all others meanwhile", `
█████✗✗✗  ✗✗✗  ✗✗✗  ███
█████✗✗✗──✗✗✗──✗✗✗──███  all that is open, every wait`},
}

// Check is one expectation of a scenario or of the command line.
type Check struct {
	Algorithm string // "" for every limiter; else its name, or that of its model
	Phase     string // "" for the whole scenario
	Metric    string // name of a row of Metrics
	Op        string // one of Ops
	Value     Expr
	Warn      bool // report a failure without failing the run
	// Clock limits the check to runs by that clock; "" is any. Exact counts hold
	// where instants are exact.
	Clock Clock
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
