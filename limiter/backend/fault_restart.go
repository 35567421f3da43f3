package backend

import (
	"context"
	"errors"
)

// ours are servers that may be done anything to.
var ours = []Flavour{Managed}

// host keeps the process of a managed server. Calls wait for each other; dials
// wait for those that end one process and start another.
type host interface {
	// replace ends the server and starts a fresh one.
	replace(ctx context.Context) error
	// leave ends the server, and has dials refused.
	leave(ctx context.Context) error
	// arrive starts a fresh server after leave.
	arrive(ctx context.Context) error

	// suspend stops the process with that id, and resume lets it go on.
	suspend(ctx context.Context, pid int) error
	resume(pid int) error

	// gone says that the server has ended by itself.
	gone() bool

	// attach starts a second, empty server, and returns its socket.
	attach(ctx context.Context) (socket string, err error)
	// detach ends the second server.
	detach() error
	// succeed ends the first server and puts the second in its place. It does
	// nothing if there is none.
	succeed(ctx context.Context) error
}

var scriptFlush = FaultKind{
	Name:     "script-flush",
	Doc:      "the server forgets all scripts, so EVALSHA is answered with NOSCRIPT",
	Instant:  true,
	Flavours: []Flavour{Managed, Embedded},
	impose: func(ctx context.Context, s *Server, _ *Injection) (undoing, error) {
		return nil, s.manager.ScriptFlush(ctx).Err()
	},
}

var restart = FaultKind{
	Name:     "restart",
	Doc:      "the server is killed, and a fresh, empty one takes its place at once",
	Instant:  true,
	Loses:    true,
	Flavours: ours,
	impose: func(ctx context.Context, s *Server, _ *Injection) (undoing, error) {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		ctx, cancel := s.afterwards(ctx) // no stopping halfway
		defer cancel()
		if err := s.host.replace(ctx); err != nil {
			return nil, leaving("the server may be gone", err)
		}
		return nil, leaving("a fresh server is there, but does not answer", s.settle(ctx))
	},
}

var outage = FaultKind{
	Name:     "outage",
	Doc:      "the server is killed and dials are refused; in the end a fresh, empty one takes its place",
	Loses:    true,
	Flavours: ours,
	impose: func(ctx context.Context, s *Server, _ *Injection) (undoing, error) {
		if err := s.host.leave(ctx); err != nil {
			return nil, leaving("the server may be gone", err)
		}
		return func(ctx context.Context) error {
			if err := s.host.arrive(ctx); err != nil {
				return leaving("the server is gone", err)
			}
			return leaving("a fresh server is there, but does not answer", s.settle(ctx))
		}, nil
	},
}

var stall = FaultKind{
	Name:     "stall",
	Doc:      "the server's process is stopped: it accepts connections and commands, and answers when it goes on",
	Flavours: ours,
	impose: func(ctx context.Context, s *Server, _ *Injection) (undoing, error) {
		pid, err := s.process(ctx)
		if err != nil {
			return nil, err
		}
		if err := s.host.suspend(ctx, pid); err != nil {
			return nil, errors.Join(err, s.host.resume(pid))
		}
		return func(ctx context.Context) error {
			if err := s.host.resume(pid); err != nil {
				return leaving("the server may still be stopped", err)
			}
			return leaving("the server goes on, but does not answer", s.settle(ctx))
		}, nil
	},
}
