package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is trouble that is made for the client of a Server: one of FaultKinds,
// and its parameters. Each kind says which ones it takes; the others must be
// zero.
type Fault struct {
	Kind string

	Delay  time.Duration // that a reply is held
	Jitter time.Duration // that it is held longer, at most; uniform
	Seed   uint64        // of the jitter: the same operation is held as long with the same seed
	Every  int           // hits only each n-th operation; 0 is like 1
	Hits   int           // hits so many operations at most; 0 is no bound

	Victims []string // keys that must be evicted
	Policy  string   // a maxmemory-policy; "volatile-lru" if empty
}

// The parameters of a Fault, as FaultKind.Takes names them.
const (
	TakesDelay   = "delay"
	TakesJitter  = "jitter"
	TakesSeed    = "seed"
	TakesEvery   = "every"
	TakesHits    = "hits"
	TakesVictims = "victims"
	TakesPolicy  = "policy"
)

// given are the names of the parameters that are set.
func (f Fault) given() []string {
	var names []string
	for _, p := range []struct {
		name string
		set  bool
	}{
		{TakesDelay, f.Delay != 0},
		{TakesJitter, f.Jitter != 0},
		{TakesSeed, f.Seed != 0},
		{TakesEvery, f.Every != 0},
		{TakesHits, f.Hits != 0},
		{TakesVictims, len(f.Victims) > 0},
		{TakesPolicy, f.Policy != ""},
	} {
		if p.set {
			names = append(names, p.name)
		}
	}
	return names
}

// FaultKind is one row of FaultKinds. A kind is done either to operations on
// the connections of the client, or to the server. One operation is one
// command that can be a request to a limiter: a script, INCR, ZADD, EXEC and
// their like, however it is cut into writes. What sets connections up, and the
// Server's own questions, are none.
type FaultKind struct {
	Name string
	Doc  string // one line

	OnConnection bool      // it is done to operations; several such faults may be in force, and beside any other
	Instant      bool      // it has happened when Inject returns, and End changes nothing
	Loses        bool      // state of limiters is lost
	Takes        []string  // names of parameters
	Needs        []string  // those of them that must be given
	Flavours     []Flavour // that can do it

	check  func(Fault) error                                                            // what only this kind refuses; may be nil
	strike func(f Fault, operation int) verdict                                         // of a kind on connections
	done   string                                                                       // to an operation that was hit
	impose func(ctx context.Context, s *Server, i *Injection) (lift undoing, err error) // of other kinds; lift is nil if instant
}

// undoing undoes something. If it cannot, it may be tried again.
type undoing func(ctx context.Context) error

// FaultKinds is the table of all kinds, in the order in which lists show them.
var FaultKinds = []FaultKind{
	latency, connectionReset, lostReply, partialCommand, loading,
	scriptFlush, restart, outage, failover, stall, pause, readOnly, outOfMemory, eviction, accessList, password,
}

func faultKind(name string) (*FaultKind, error) {
	var names []string
	for i := range FaultKinds {
		if FaultKinds[i].Name == name {
			return &FaultKinds[i], nil
		}
		names = append(names, FaultKinds[i].Name)
	}
	return nil, fmt.Errorf("unknown kind: want one of %s", strings.Join(names, ", "))
}

// CheckFault says everything that is wrong with a fault on a Redis of that
// flavour. If the flavour cannot do it, the error wraps errors.ErrUnsupported.
func CheckFault(f Fault, flavour Flavour) error {
	kind, err := faultKind(f.Kind)
	if err != nil {
		return fmt.Errorf("fault %q: %w", f.Kind, err)
	}
	errs := kind.mistakes(f)
	if !slices.Contains(kind.Flavours, flavour) {
		errs = append(errs, kind.notOn(flavour))
	}
	for i := range errs {
		errs[i] = fmt.Errorf("fault %s: %w", f.Kind, errs[i])
	}
	return errors.Join(errs...)
}

func (k *FaultKind) mistakes(f Fault) (errs []error) {
	given := f.given()
	for _, name := range given {
		if !slices.Contains(k.Takes, name) {
			takes := "none"
			if len(k.Takes) > 0 {
				takes = strings.Join(k.Takes, ", ")
			}
			errs = append(errs, fmt.Errorf("parameter %s does not belong to it; it takes: %s", name, takes))
		}
	}
	for _, name := range k.Needs {
		if !slices.Contains(given, name) {
			errs = append(errs, fmt.Errorf("parameter %s is missing", name))
		}
	}
	for _, p := range []struct {
		name     string
		negative bool
		value    any
	}{
		{TakesDelay, f.Delay < 0, f.Delay},
		{TakesJitter, f.Jitter < 0, f.Jitter},
		{TakesEvery, f.Every < 0, f.Every},
		{TakesHits, f.Hits < 0, f.Hits},
	} {
		if p.negative {
			errs = append(errs, fmt.Errorf("parameter %s is negative: %v", p.name, p.value))
		}
	}
	if k.check != nil {
		if err := k.check(f); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func (k *FaultKind) notOn(flavour Flavour) error {
	switch flavour {
	case Live:
		return fmt.Errorf("%w on a live server: it is not ours", errors.ErrUnsupported)
	case Embedded:
		return fmt.Errorf("%w on the embedded server: it is no Redis and would answer in other ways", errors.ErrUnsupported)
	}
	return fmt.Errorf("%w on Redis of flavour %q", errors.ErrUnsupported, flavour)
}

// FaultError says that a fault could not be put in force, or not be lifted.
type FaultError struct {
	Kind  string
	State string // of the server now: a clause
	Err   error
}

func (e *FaultError) Error() string { return fmt.Sprintf("fault %s: %v; %s", e.Kind, e.Err, e.State) }

func (e *FaultError) Unwrap() error { return e.Err }

const untouched = "the server is as it was"

// leftover is an error that leaves a server in another state than it was in.
type leftover struct {
	state string
	err   error
}

func (e *leftover) Error() string { return e.err.Error() }

func (e *leftover) Unwrap() error { return e.err }

// leaving is err with the state that it leaves the server in; nil if err is.
func leaving(state string, err error) error {
	if err == nil {
		return nil
	}
	return &leftover{state, err}
}

// error tells of an error of this kind, and of the state that it leaves the
// server in: the given one, unless err knows of another.
func (k *FaultKind) error(err error, state string) error {
	if left, ok := errors.AsType[*leftover](err); ok {
		state = left.state
	}
	return &FaultError{Kind: k.Name, State: state, Err: err}
}
