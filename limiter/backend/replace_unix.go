//go:build unix

package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

// private is the child of a managed server, which another one may replace.
type private struct {
	binary string
	config []string

	// turn holds a token while somebody starts or ends the child, and only they
	// touch what follows.
	turn  chan struct{}
	child *child // nil if there is none
	ended bool
}

func newPrivate(binary string, config []string, c *child) *private {
	return &private{binary: binary, config: config, turn: make(chan struct{}, 1), child: c}
}

// dial waits while the child is being replaced: a pool counts failed dials, and
// after some refuses to dial for a second.
func (p *private) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case p.turn <- struct{}{}:
		<-p.turn
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// replace ends the child and starts another one on the same socket.
func (p *private) replace(ctx context.Context, dir string) error {
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
	if err := p.end(); err != nil {
		return fmt.Errorf("end the old one: %w", err)
	}
	// The directory went with the old one. In a directory that all may write to,
	// another user can be faster: then this is an error, and no socket is theirs.
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	c, err := startChildIn(dir, p.binary, p.config)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.binary, err)
	}
	if err := c.await(ctx); err != nil {
		_ = c.stop()
		return fmt.Errorf("start %s: %w%s", p.binary, err, c.log.quote())
	}
	p.child = c
	return nil
}

// stop ends the child for good. Whoever replaces it must have been told to give
// up, so this waits for little.
func (p *private) stop() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.ended = true
	return p.end()
}

func (p *private) end() error {
	if p.child == nil {
		return nil
	}
	err := p.child.stop()
	p.child = nil
	return err
}

// settle returns when the client of a replaced server has found the new one.
func settle(ctx context.Context, client *redis.Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("the client does not find the new server"))
	defer cancel()
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(askAgain):
		}
	}
}
