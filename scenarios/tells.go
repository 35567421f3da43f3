package scenarios

import "time"

// Tells says what a limiter tells besides admitted or denied, and how finely.
// What it does not tell is not judged. The zero value tells nothing.
type Tells struct {
	// Remaining says that Decision.Remaining means something.
	Remaining bool
	// Retry and Reset are the units of RetryAfter and ResetAfter; 0 is not told.
	// A told wait is the exact one, rounded up to the unit.
	Retry, Reset time.Duration
	// At says that the limiter tells the instant by which it decided, or was
	// given it. Where it did not, the runner notes one between sending and reply.
	At bool
}

// TellsAll is what the bundled limiters tell.
var TellsAll = Tells{Remaining: true, Retry: time.Microsecond, Reset: time.Microsecond, At: true}
