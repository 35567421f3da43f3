package limiter

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Failure is what to do when Redis cannot answer. It is chosen, never
// defaulted: the zero value is refused by New.
type Failure string

// The failure policies.
const (
	// FailOpen admits. Right when something else still stands in front.
	FailOpen Failure = "open"
	// FailClosed denies.
	FailClosed Failure = "closed"
	// FailError hands the error to the caller, who decides.
	FailError Failure = "error"
)

func (f Failure) validate() error {
	switch f {
	case FailOpen, FailClosed, FailError:
		return nil
	case "":
		return errors.New("failure policy is not chosen: set OnFailure to FailOpen, FailClosed or FailError")
	default:
		return fmt.Errorf("failure policy %q: want %q, %q or %q", string(f), FailOpen, FailClosed, FailError)
	}
}

// decide applies the policy to a request that Redis did not decide.
func (f Failure) decide(l Limit, at time.Time, cause error) (Decision, error) {
	d := Decision{Limit: l.Max, At: at, Cause: cause}
	switch f {
	case FailOpen:
		d.Allowed, d.Source = true, SourceFailOpen
	case FailClosed:
		d.Source = SourceFailClosed
	default:
		return Decision{}, cause
	}
	return d, nil
}

// classify wraps an error of the client, and adds ErrUnknown unless it is
// certain that the script did not run to its end.
func classify(err error) error {
	if certain(err) {
		return fmt.Errorf("decide in Redis: %w", err)
	}
	return fmt.Errorf("decide in Redis: %w: %w", ErrUnknown, err)
}

// certain reports whether the error proves that nothing was counted: Redis
// answered with an error, or the command never left. A connection that was
// closed before the command was written is told apart from one that died under
// it only where the client says so; in doubt the fate is unknown.
func certain(err error) bool {
	if Answered(err) {
		return true
	}
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed) {
		return true
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	var dns *net.DNSError
	return errors.As(err, &dns)
}

// Answered reports whether an error of Allow is an answer of the server, as
// opposed to trouble on the way to it.
func Answered(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
