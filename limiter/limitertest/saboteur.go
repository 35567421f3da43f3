package limitertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// saboteur breaks the connections of one client on demand. The server has run
// the command by then: the fault hits when its reply arrives.
type saboteur struct {
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	cut    atomic.Bool // the next reply is lost, and its connection with it
	silent atomic.Bool // no reply arrives
}

// sabotaged is a client for the same server that has one connection, sends again
// what fails, and can be broken.
func sabotaged(client redis.UniversalClient) (redis.UniversalClient, *saboteur, error) {
	s := &saboteur{dial: (&net.Dialer{Timeout: 5 * time.Second}).DialContext}
	switch c := client.(type) {
	case *redis.Client:
		o := *c.Options()
		s.dial = o.Dialer
		o.Dialer, o.MaxRetries, o.PoolSize, o.MinIdleConns, o.ContextTimeoutEnabled = s.open, 3, 1, 0, true
		return redis.NewClient(&o), s, nil
	case *redis.ClusterClient:
		o := *c.Options()
		if o.Dialer != nil {
			s.dial = o.Dialer
		}
		o.Dialer, o.MaxRedirects, o.PoolSize, o.MinIdleConns, o.ContextTimeoutEnabled = s.open, 3, 1, 0, true
		return redis.NewClusterClient(&o), s, nil
	default:
		return nil, nil, Skip(fmt.Sprintf("cannot break the connections of a %T", client))
	}
}

func (s *saboteur) open(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := s.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &sabotagedConn{conn, s}, nil
}

type sabotagedConn struct {
	net.Conn
	by *saboteur
}

func (c *sabotagedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && c.by.cut.CompareAndSwap(true, false) {
		return 0, errors.Join(io.EOF, c.Conn.Close())
	}
	for err == nil && c.by.silent.Load() {
		n, err = c.Conn.Read(p) // until the deadline
	}
	return n, err
}

// trapWorks proves with a plain INCR that the client does send twice.
func trapWorks(ctx context.Context, client redis.UniversalClient, s *saboteur, key string) error {
	if err := client.Set(ctx, key, 0, time.Minute).Err(); err != nil {
		return err
	}
	s.cut.Store(true)
	n, err := client.Incr(ctx, key).Result()
	if err == nil && n != 2 {
		err = fmt.Errorf("an INCR whose reply was lost was run %d times, want 2", n)
	}
	if err != nil {
		return fmt.Errorf("the check itself is broken: %w", err)
	}
	return nil
}
