package limiter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

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
	// FailLocal lets this process limit by itself, with the same algorithm and a
	// budget of its own: see Config.LocalMax.
	FailLocal Failure = "local"
	// FailError hands the error to the caller, who decides.
	FailError Failure = "error"
)

// policies are all of them, as messages list them.
var policies = []Failure{FailOpen, FailClosed, FailLocal, FailError}

func (f Failure) validate() error {
	switch {
	case slices.Contains(policies, f):
		return nil
	case f == "":
		return errors.New("failure policy is not chosen: set OnFailure to FailOpen, FailClosed, FailLocal or FailError")
	default:
		return fmt.Errorf("failure policy %q: want one of %q", string(f), policies)
	}
}

// classify wraps an error of the client, and adds ErrUnknown unless it is
// certain that the script did not run to its end.
func classify(err error) error {
	switch {
	case notConnected(err):
		return fmt.Errorf("decide in Redis: %w: %w", errNoConnection, err)
	case certain(err):
		return fmt.Errorf("decide in Redis: %w", err)
	}
	return fmt.Errorf("decide in Redis: %w: %w", ErrUnknown, err)
}

var (
	errNoConnection = errors.New("no connection came free")
	errTakenBack    = errors.New("nothing was sent: it waited for calls that are on their way")
)

// certain reports whether the error proves that nothing was counted: Redis
// answered with an error, or the command never left. A connection that was
// closed before the command was written is told apart from one that died under
// it only where the client says so; in doubt the fate is unknown.
func certain(err error) bool {
	return Answered(err) || undialled(err) || errors.Is(err, redis.ErrClosed)
}

// notConnected reports whether no connection came free. A context's own error is
// how the client ends a wait for one; once it writes, errors are the socket's.
func notConnected(err error) bool {
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) ||
		err == context.DeadlineExceeded || err == context.Canceled
}

// undialled reports whether no connection could be made.
func undialled(err error) bool {
	if _, late := errors.AsType[*dialError](err); late {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	_, dns := errors.AsType[*net.DNSError](err)
	return dns
}

// Answered reports whether an error of Allow is an answer of the server, as
// opposed to trouble on the way to it.
func Answered(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
