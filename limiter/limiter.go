package limiter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Never is the RetryAfter of a request that no wait would admit: it costs more
// than the limit, or the limit is 0.
const Never = time.Duration(math.MaxInt64)

// Request asks for Cost units of Key's budget. The zero value is invalid: a
// request needs a key.
type Request struct {
	// Key is the identity whose budget is used. It is written to Redis as it
	// is, so pass a pseudonym and never a raw address.
	Key string
	// Also is another name of the same client, whose use counts too: its
	// pseudonym before a rotation. Nothing is written under it. Empty is none.
	Also string
	// Slot is what Redis Cluster hashes instead of Key, so that all names of a
	// client live on one shard. Empty is Key itself. It is part of the key's name.
	Slot string
	// At decides on the request's instant, cut to whole microseconds. Zero lets
	// the clock of the Redis server decide.
	At time.Time
	// Cost is how many units the request takes. Zero means 1.
	Cost int64
}

// Units is the cost with its default applied.
func (r Request) Units() int64 {
	if r.Cost == 0 {
		return 1
	}
	return r.Cost
}

// Validate reports what makes the request impossible to decide.
func (r Request) Validate() error {
	switch {
	case r.Key == "":
		return fmt.Errorf("request %s: no key", r.describe())
	case r.Cost < 0:
		return fmt.Errorf("request %s: cost is negative", r.describe())
	case r.Cost > MaxMax:
		return fmt.Errorf("request %s: cost is above %d", r.describe(), MaxMax)
	case !r.At.IsZero() && (r.At.Before(firstInstant) || !r.At.Before(lastInstant)):
		return fmt.Errorf("request %s: instant is outside 1970 to 2112", r.describe())
	}
	return nil
}

// Requests are decided from firstInstant to before lastInstant: two windows
// after the last one, microseconds since 1970 are still exact in Lua.
var (
	firstInstant = time.UnixMicro(0)
	lastInstant  = time.UnixMicro(maxExact / 2)
)

// describe leaves the key out: it is an identity, and errors end up in logs.
func (r Request) describe() string {
	at := "now"
	if !r.At.IsZero() {
		at = r.At.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("{at %s, cost %d}", at, r.Cost)
}

// Decision is what a limiter said.
type Decision struct {
	Allowed bool
	// Limit is the budget of one window.
	Limit int64
	// Remaining is what the key has left after this request, 0 to Limit.
	Remaining int64
	// RetryAfter is the exact earliest wait after which the same request is
	// admitted if nobody else uses the key: one microsecond less and it is
	// denied again. 0 when Allowed, Never when no wait helps. A denial of
	// FailClosed has 0 too: nobody knows.
	RetryAfter time.Duration
	// ResetAfter is the wait after which Remaining equals Limit again if nobody
	// uses the key: 1m for a log of 1m right after an admission.
	ResetAfter time.Duration
	// At is the instant that decided, by whichever clock decided.
	At time.Time
	// Source says who decided.
	Source Source
	// Cause is why the failure policy decided; nil when Redis did. It is an
	// ErrCircuitOpen, an ErrBusy, or what asking Redis ended with.
	Cause error
	// Shadow says that the policy is not in force: see Policy.
	Shadow bool
}

// Source says who made a decision.
type Source string

// The sources of a decision.
const (
	SourceRedis      Source = "redis"
	SourceFailOpen   Source = "fail-open"
	SourceFailClosed Source = "fail-closed"
	SourceLocal      Source = "local"
	// SourceDenyCache is a denial of Redis that still holds; DenyCache says how
	// exact its waits and Remaining are.
	SourceDenyCache Source = "deny-cache"
	// SourceEdge is a coarse tier in front; see package edge.
	SourceEdge Source = "edge"
)

// Limiter decides requests. Implementations are safe for concurrent use.
//
// A denial is a Decision, not an error. An error means that the request's fate
// is not known to be a denial or an admission; see ErrUnknown.
type Limiter interface {
	Allow(ctx context.Context, r Request) (Decision, error)
}

// ErrUnknown marks errors after which the request may or may not have been
// counted: it was sent and no reply came.
var ErrUnknown = errors.New("fate unknown: the request may have been counted")
