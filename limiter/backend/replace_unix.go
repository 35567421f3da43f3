//go:build unix

package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// private is the child of a managed server, which another one may replace.
type private struct {
	binary string
	config []string
	dir    string // of the child, whichever it is

	// turn holds a token while somebody starts or ends a child, and only they
	// touch what follows.
	turn    chan struct{}
	child   *child // nil if there is none
	standby *child // may take the place of the child; nil if there is none
	away    bool   // there is no child on purpose
	ended   bool
}

var _ host = (*private)(nil)

func newPrivate(binary string, config []string, c *child) *private {
	return &private{binary: binary, config: config, dir: c.dir, turn: make(chan struct{}, 1), child: c}
}

// dial waits while the child is being replaced: a pool counts failed dials, and
// after some refuses to dial for a second.
func (p *private) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	away := false
	select {
	case p.turn <- struct{}{}:
		away = p.away
		<-p.turn
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if away {
		err := os.NewSyscallError("connect", syscall.ECONNREFUSED)
		return nil, &net.OpError{Op: "dial", Net: network, Addr: &net.UnixAddr{Name: addr, Net: network}, Err: err}
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// alone does something to the children when nobody else does.
func (p *private) alone(ctx context.Context, do func() error) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.ended {
		return redis.ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return do()
}

func (p *private) replace(ctx context.Context) error {
	return p.alone(ctx, func() error {
		if err := p.end(); err != nil {
			return fmt.Errorf("end the old one: %w", err)
		}
		return p.start(ctx)
	})
}

func (p *private) leave(ctx context.Context) error {
	return p.alone(ctx, func() error {
		if err := p.end(); err != nil {
			return err
		}
		p.away = true
		return nil
	})
}

func (p *private) arrive(ctx context.Context) error {
	return p.alone(ctx, func() error {
		if !p.away {
			return nil
		}
		return p.start(ctx)
	})
}

// start starts a child where the last one was.
func (p *private) start(ctx context.Context) error {
	// The directory went with the old one. In a directory that all may write to,
	// another user can be faster: then this is an error, and no socket is theirs.
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return err
	}
	c, err := startChildIn(p.dir, p.binary, p.config)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.binary, err)
	}
	if err := c.ready(ctx, p.binary); err != nil {
		return err
	}
	p.child, p.away = c, false
	return nil
}

// ready returns when a new child accepts connections, or has ended it.
func (c *child) ready(ctx context.Context, binary string) error {
	if err := c.await(ctx); err != nil {
		_ = c.stop()
		return fmt.Errorf("start %s: %w%s", binary, err, c.log.quote())
	}
	return nil
}

func (p *private) attach(ctx context.Context) (socket string, err error) {
	err = p.alone(ctx, func() error {
		// It must not want a port that the first one has.
		c, err := startChild(p.binary, append(slices.Clone(p.config), "--port", "0"))
		if err != nil {
			return fmt.Errorf("start %s: %w", p.binary, err)
		}
		if err := c.ready(ctx, p.binary); err != nil {
			return err
		}
		p.standby, socket = c, c.socket
		return nil
	})
	return socket, err
}

func (p *private) detach() error {
	p.turn <- struct{}{} // whoever has it is soon done
	defer func() { <-p.turn }()
	return endOf(&p.standby)
}

func (p *private) succeed(ctx context.Context) error {
	return p.alone(ctx, func() error {
		if p.standby == nil {
			return nil
		}
		if err := p.end(); err != nil {
			return fmt.Errorf("end the old one: %w", err)
		}
		if err := p.standby.move(p.dir); err != nil {
			return errors.Join(err, endOf(&p.standby))
		}
		p.child, p.standby = p.standby, nil
		return nil
	})
}

func (p *private) gone() bool {
	p.turn <- struct{}{} // whoever has it is soon done
	defer func() { <-p.turn }()
	if p.child == nil {
		return false
	}
	select {
	case <-p.child.gone:
		return true
	default:
		return false
	}
}

// stop ends all for good. Whoever replaces a child must have been told to give
// up, so this waits for little.
func (p *private) stop() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.ended = true
	return errors.Join(p.end(), endOf(&p.standby))
}

func (p *private) end() error { return endOf(&p.child) }

// endOf ends a child if there is one.
func endOf(c **child) error {
	if *c == nil {
		return nil
	}
	err := (*c).stop()
	*c = nil
	return err
}
