package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Injection is a fault in force. It is safe for concurrent use.
type Injection struct {
	fault  Fault
	kind   *FaultKind
	server *Server
	since  time.Time
	lift   undoing // nil when there is nothing to undo, or no more; guarded by Server.governing

	mu         sync.Mutex
	operations int
	hits       []Hit
	evicted    Eviction
}

// Hit is an operation that a fault on connections was done to.
type Hit struct {
	Connection int           // its number, counted from 1 in the order of dialling
	Operation  int           // its number among the operations on that connection, counted from 1
	Command    string        // in upper case
	At         time.Time     // when the client had written the command
	Done       string        // what was done to it: "held", "reset", ...
	Delay      time.Duration // that its reply was held
}

// Inject puts a fault in force, and returns when it is. The Server must have
// been opened with Options.Injectable. Of the kinds that are done to the server
// only one is in force at a time.
//
// ctx bounds only the putting in force. Every error but those of CheckFault is a
// *FaultError; unless that says otherwise, no part of the fault is in force.
func (s *Server) Inject(ctx context.Context, f Fault) (*Injection, error) {
	if err := CheckFault(f, s.flavour); err != nil {
		return nil, err
	}
	kind, err := faultKind(f.Kind)
	if err != nil {
		return nil, err
	}
	f.Victims = slices.Clone(f.Victims)
	i := &Injection{fault: f, kind: kind, server: s}
	switch {
	case s.injector == nil:
		return nil, kind.error(fmt.Errorf("%w: the server was opened without Options.Injectable", errors.ErrUnsupported), untouched)
	case kind.OnConnection:
		if err := context.Cause(ctx); err != nil {
			return nil, kind.error(err, untouched)
		}
		if s.life.Err() != nil {
			return nil, kind.error(redis.ErrClosed, untouched)
		}
		s.injector.add(i)
		return i, nil
	}
	ctx, release, err := s.govern(ctx)
	if err != nil {
		return nil, kind.error(err, untouched)
	}
	defer release()
	if s.inForce != nil {
		return nil, kind.error(fmt.Errorf("fault %s is in force, and must be ended first", s.inForce.kind.Name), "the server is as that one has left it")
	}
	if i.lift, err = kind.impose(ctx, s, i); err != nil {
		if s.life.Err() != nil {
			err = errors.Join(redis.ErrClosed, err)
		}
		return nil, kind.error(err, untouched)
	}
	if i.since.IsZero() {
		i.since = s.injector.now()
	}
	if i.lift != nil {
		s.inForce = i
	}
	return i, nil
}

// End lifts the fault, and returns when the server is well again. Operations
// that were hit before are dealt with as was decided then. After an error, which
// is a *FaultError, it may be called again; after success, or after Close of the
// Server, it does nothing. A server that has died by itself stays dead: Unstick
// replaces it.
func (i *Injection) End(ctx context.Context) error {
	s := i.server
	if i.kind.OnConnection {
		s.injector.remove(i)
		return nil
	}
	ctx, release, err := s.govern(ctx)
	switch {
	case errors.Is(err, redis.ErrClosed):
		return nil
	case err != nil:
		return i.kind.error(err, "the fault may still be in force")
	}
	defer release()
	if i.lift == nil {
		return nil
	}
	err = i.lift(ctx)
	switch {
	case err == nil:
		i.lift, s.inForce = nil, nil
		return nil
	case s.life.Err() != nil:
		return nil
	case s.host.gone():
		i.lift, s.inForce = nil, nil
		s.secret.Store(nil)
		return i.kind.error(leaving("the server has ended by itself, and the fault with it", err), "")
	}
	return i.kind.error(err, "the fault may still be in force")
}

// Fault is what was injected.
func (i *Injection) Fault() Fault { return i.fault }

// Since is the instant from which the fault is in force. For a failover it is
// the last one of which the writes are kept.
func (i *Injection) Since() time.Time { return i.since }

// Hits are the operations that the fault was done to so far, in that order. Of
// kinds that are done to the server there are none.
func (i *Injection) Hits() []Hit {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.hits)
}

// count counts an operation, and says whether it is to be hit.
func (i *Injection) count() (number int, hit bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.operations++
	due := i.operations%max(i.fault.Every, 1) == 0
	return i.operations, due && (i.fault.Hits == 0 || len(i.hits) < i.fault.Hits)
}

func (i *Injection) record(h Hit) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hits = append(i.hits, h)
}

// govern waits for the turn to do something to the server. The context that it
// returns ends with the server, too; release ends the turn.
func (s *Server) govern(ctx context.Context) (governing context.Context, release func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(s.life, func() { cancel(redis.ErrClosed) })
	end := func() { detach(); cancel(nil) }
	select {
	case s.governing <- struct{}{}:
		if ctx.Err() == nil && s.life.Err() == nil {
			return ctx, func() { end(); <-s.governing }, nil
		}
		<-s.governing
	case <-ctx.Done():
	}
	defer end()
	return nil, nil, s.cause(ctx)
}

// afterwards is a context for putting things right after ctx may have ended.
func (s *Server) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	detach := context.AfterFunc(s.life, cancel)
	return ctx, func() { detach(); cancel() }
}

// Dialer opens connections as the Server's client does, for other clients. They
// pass through the injector, too, if Options.Injectable is set. Network and
// address are those of Client().Options(); TLS is included.
func (s *Server) Dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.injector == nil {
		return s.direct
	}
	return s.injector.dial
}
