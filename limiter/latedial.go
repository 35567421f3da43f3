package limiter

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// dialLate is a Dialer whose connections dial when they are first used. It does
// what the options say at that time, by their own Dialer if they have one.
//
// go-redis dials without the request's deadline, and its pool counts failed
// dials: after PoolSize of them it answers from the last error and looks once a
// second whether that still holds. Here a dial is a part of the first write, so
// it ends with the request, and the next request tries again.
func dialLate(o *redis.Options) func(context.Context, string, string) (net.Conn, error) {
	dial := o.Dialer
	if dial == nil {
		dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			plain := &net.Dialer{KeepAliveConfig: keepAlive}
			if o.TLSConfig == nil {
				return plain.DialContext(ctx, network, addr)
			}
			return (&tls.Dialer{NetDialer: plain, Config: o.TLSConfig}).DialContext(ctx, network, addr)
		}
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		life, end := context.WithCancel(context.WithoutCancel(ctx))
		c := &lateConn{addr: lateAddr{network, addr}, life: life, end: end}
		c.dial = func(ctx context.Context) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, cmp.Or(max(o.DialTimeout, 0), DefaultTimeout))
			defer cancel()
			return dial(ctx, network, addr)
		}
		return c, nil
	}
}

// keepAlive notices a dead peer of an idle connection within 45 s.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}

// lateConn is a connection that dials on first use. Like any net.Conn it is safe
// for concurrent use.
type lateConn struct {
	addr lateAddr
	dial func(context.Context) (net.Conn, error)
	life context.Context // ends when the connection is closed
	end  context.CancelFunc

	conn atomic.Pointer[net.Conn] // nil until it is dialled

	dialling sync.Mutex // held while dialling; guards failed
	failed   error      // why there will be no connection

	waiting          sync.Mutex // guards the deadlines while there is no connection
	reading, writing time.Time
}

// dialError is a failed dial: nothing was sent. It is nested, because go-redis
// takes one layer off what ends a handshake.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// Timeout makes it a net.Error.
func (e *dialError) Timeout() bool {
	t, ok := e.error.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// Temporary makes it a net.Error.
func (e *dialError) Temporary() bool { return false }

var _ net.Error = (*dialError)(nil)

// dialled is the connection, dialled by the deadline if need be.
func (c *lateConn) dialled(deadline *time.Time) (net.Conn, error) {
	if conn := c.conn.Load(); conn != nil {
		return *conn, nil
	}
	c.dialling.Lock()
	defer c.dialling.Unlock()
	if conn := c.conn.Load(); conn != nil {
		return *conn, nil
	}
	if c.failed == nil {
		c.failed = c.connect(deadline)
	}
	if c.failed != nil {
		return nil, c.failed
	}
	return *c.conn.Load(), nil
}

func (c *lateConn) connect(deadline *time.Time) error {
	c.waiting.Lock()
	until := *deadline
	c.waiting.Unlock()
	ctx, cancel := c.life, context.CancelFunc(func() {})
	if !until.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, until)
	}
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return &dialError{&dialError{err}}
	}
	c.waiting.Lock()
	defer c.waiting.Unlock()
	if c.life.Err() != nil {
		_ = conn.Close()
		return &dialError{&dialError{net.ErrClosed}}
	}
	_, _ = conn.SetReadDeadline(c.reading), conn.SetWriteDeadline(c.writing)
	c.conn.Store(&conn)
	return nil
}

func (c *lateConn) Read(b []byte) (int, error) {
	conn, err := c.dialled(&c.reading)
	if err != nil {
		return 0, err
	}
	return conn.Read(b)
}

func (c *lateConn) Write(b []byte) (int, error) {
	conn, err := c.dialled(&c.writing)
	if err != nil {
		return 0, err
	}
	return conn.Write(b)
}

// Close also ends a dial that is under way.
func (c *lateConn) Close() error {
	c.waiting.Lock()
	defer c.waiting.Unlock()
	c.end()
	if conn := c.conn.Load(); conn != nil {
		return (*conn).Close()
	}
	return nil
}

func (c *lateConn) SetDeadline(t time.Time) error {
	return c.setDeadlines(t, &c.reading, &c.writing, net.Conn.SetDeadline)
}

func (c *lateConn) SetReadDeadline(t time.Time) error {
	return c.setDeadlines(t, &c.reading, &c.reading, net.Conn.SetReadDeadline)
}

func (c *lateConn) SetWriteDeadline(t time.Time) error {
	return c.setDeadlines(t, &c.writing, &c.writing, net.Conn.SetWriteDeadline)
}

// setDeadlines sets them on the connection, or keeps them for it.
func (c *lateConn) setDeadlines(t time.Time, one, other *time.Time, set func(net.Conn, time.Time) error) error {
	if conn := c.conn.Load(); conn != nil {
		return set(*conn, t)
	}
	c.waiting.Lock()
	defer c.waiting.Unlock()
	if conn := c.conn.Load(); conn != nil {
		return set(*conn, t)
	}
	*one, *other = t, t
	return nil
}

func (c *lateConn) LocalAddr() net.Addr {
	if conn := c.conn.Load(); conn != nil {
		return (*conn).LocalAddr()
	}
	return lateAddr{network: c.addr.network}
}

func (c *lateConn) RemoteAddr() net.Addr {
	if conn := c.conn.Load(); conn != nil {
		return (*conn).RemoteAddr()
	}
	return c.addr
}

// SyscallConn is what the pool looks at to see whether an idle connection is
// alive. One that was not dialled yet, or that hides its socket as TLS does, is
// taken for alive.
func (c *lateConn) SyscallConn() (syscall.RawConn, error) {
	if conn := c.conn.Load(); conn != nil {
		if s, ok := (*conn).(syscall.Conn); ok {
			return s.SyscallConn()
		}
	}
	return unseen{}, nil
}

var _ syscall.Conn = (*lateConn)(nil)

// unseen is a socket that cannot be looked at.
type unseen struct{}

func (unseen) Control(func(fd uintptr)) error    { return nil }
func (unseen) Read(func(fd uintptr) bool) error  { return nil }
func (unseen) Write(func(fd uintptr) bool) error { return nil }

// lateAddr is an address that may have to be looked up yet.
type lateAddr struct{ network, addr string }

func (a lateAddr) Network() string { return a.network }
func (a lateAddr) String() string  { return a.addr }
