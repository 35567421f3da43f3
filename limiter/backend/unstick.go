package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// Remedy says what it took to free a server from a script.
type Remedy string

// The remedies.
const (
	RemedyNone     Remedy = "none"     // nothing was wrong
	RemedyKilled   Remedy = "killed"   // the script was ended; it had written nothing
	RemedyReplaced Remedy = "replaced" // a fresh, empty server has taken the place of the old one
)

// StuckError says why a server could not be freed.
type StuckError struct {
	Hint string // one line: what to do about it
	Err  error
}

func (e *StuckError) Error() string { return "free Redis from a script: " + e.Err.Error() }

func (e *StuckError) Unwrap() error { return e.Err }

const (
	ownPatience  = 2 * time.Second // for all questions to a server of ours
	livePatience = 8 * time.Second // scripts have 5 s there, unless configured
	stepMost     = 2 * time.Second // for one question
	askAgain     = 10 * time.Millisecond
)

var (
	errUnkillable = errors.New("the script has written, so the server will not end it")
	errSilent     = errors.New("the server does not answer, not even to SCRIPT KILL")
	errRefused    = errors.New("the server refuses SCRIPT KILL")
)

// Unstick frees the server from a script that does not end. It asks through a
// connection of its own whether there is one, and has the server end it.
//
// If that cannot be done, a managed server is replaced: a fresh one, with the
// same arguments, listens where the old one did, and clients dial it by
// themselves. What it held, and what was configured while it ran, is lost, and
// commands that were under way fail. A managed server that does not answer for
// another reason, or has died, is replaced, too. A live server is left alone, with
// a *StuckError that says what its administrator may do. In the embedded one no
// script can be interrupted: then the *StuckError wraps errors.ErrUnsupported.
//
// It takes 8 seconds at most on a live server, and on a managed one 2 and what
// starting takes. Concurrent calls wait for each other.
func (s *Server) Unstick(ctx context.Context) (Remedy, error) {
	ctx, release, err := s.govern(ctx)
	if err != nil {
		return RemedyNone, fmt.Errorf("free Redis from a script: %w", err)
	}
	defer release()
	remedy, err := s.interrupt(ctx)
	switch {
	case err == nil:
		return remedy, nil
	case ctx.Err() != nil:
		return RemedyNone, fmt.Errorf("free Redis from a script: %w", s.cause(ctx))
	case s.inForce != nil:
		return RemedyNone, fmt.Errorf("free Redis from a script: fault %s is in force, and must be ended first: %w", s.inForce.kind.Name, err)
	case s.host == nil || isRefusal(err):
		return RemedyNone, s.stuck(err)
	}
	err = s.host.replace(ctx)
	if err == nil {
		err = settle(ctx, s.client)
	}
	if err != nil {
		return RemedyNone, fmt.Errorf("replace a stuck Redis: %w", err)
	}
	return RemedyReplaced, nil
}

// cause is why ctx, or the server, has ended.
func (s *Server) cause(ctx context.Context) error {
	if s.life.Err() != nil {
		return redis.ErrClosed
	}
	return context.Cause(ctx)
}

// interrupt has the server end its script. Until the script has had its time,
// the server answers nothing; then it answers to SCRIPT KILL. The pause is for
// a server that answers BUSY even to that, as it runs a function.
func (s *Server) interrupt(ctx context.Context) (Remedy, error) {
	visitor := s.visitor()
	defer visitor.Close()
	// Reads see deadlines of a context, but not that somebody cancels it.
	defer context.AfterFunc(ctx, func() { visitor.Close() })()
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for remedy := RemedyNone; ; {
		err := visitor.Ping(ctx).Err()
		if err == nil || !isBusy(err) {
			return remedy, err
		}
		if s.flavour == Embedded {
			return RemedyNone, errors.ErrUnsupported
		}
		err = visitor.ScriptKill(ctx).Err()
		switch {
		case err == nil:
			remedy = RemedyKilled // if the next answer says so
		case hasPrefix(err, "UNKILLABLE"):
			return RemedyNone, errUnkillable
		case !isBusy(err) && !hasPrefix(err, "NOTBUSY"):
			return RemedyNone, fmt.Errorf("%w: %w", errRefused, err)
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return RemedyNone, errSilent
		}
	}
}

// visitor is a client of one connection, of which nothing depends on the state
// of the server's client. It selects no database, as a busy server refuses that.
func (s *Server) visitor() *redis.Client {
	o := s.client.Options()
	step := min(stepTimeout(o), stepMost)
	v := &redis.Options{
		Network: o.Network, Addr: o.Addr, TLSConfig: o.TLSConfig, CredentialsProvider: s.credentials,
		PoolSize: 1, DialTimeout: step, ReadTimeout: step, WriteTimeout: step, PoolTimeout: step,
	}
	if s.flavour != Live { // the dialer of a live one has the client's timeout
		v.Dialer = s.direct
	}
	return redis.NewClient(limiter.Tune(v))
}

// stuck is the error for a server that stays as it is.
func (s *Server) stuck(err error) error {
	switch {
	case s.flavour == Embedded && errors.Is(err, errors.ErrUnsupported):
		return &StuckError{
			Hint: "end this process; with --redis managed a script can be ended",
			Err:  fmt.Errorf("%w: no script can be interrupted in the embedded server", err),
		}
	case errors.Is(err, errUnkillable):
		return &StuckError{
			Hint: "its administrator can end it, which loses what is not saved: " + cliOf(s.client.Options()) + " shutdown nosave",
			Err:  err,
		}
	case errors.Is(err, errSilent), errors.Is(err, errRefused):
		return &StuckError{
			Hint: "its administrator can try: " + cliOf(s.client.Options()) + " script kill",
			Err:  err,
		}
	}
	return fmt.Errorf("free Redis from a script: %w", err)
}

// isBusy says that the server does not answer, or only that a script runs.
func isBusy(err error) bool { return isTimeout(err) || hasPrefix(err, "BUSY") }

// isRefusal says that the server lives and answered with an error.
func isRefusal(err error) bool {
	_, isReply := errors.AsType[redis.Error](err)
	return isReply
}

// hasPrefix says that err is an error reply that begins so.
func hasPrefix(err error, prefix string) bool {
	reply, isReply := errors.AsType[redis.Error](err)
	return isReply && strings.HasPrefix(reply.Error(), prefix)
}
