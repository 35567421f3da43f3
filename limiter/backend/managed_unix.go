//go:build unix

package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"time"

	"github.com/redis/go-redis/v9"
)

// findServer returns the path of the server to start.
func findServer() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", &OpenError{
		Err:  errors.New("no redis-server or valkey-server on PATH"),
		Hint: "install one: apt-get install redis-server, or brew install redis; or use --redis embedded",
	}
}

func openManaged(ctx context.Context, _ string, o Options) (*Server, error) {
	binary, err := findServer()
	if err != nil {
		return nil, err
	}
	c, err := startChild(binary, o.Config)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	if err := c.await(ctx); err != nil {
		_ = c.stop()
		return nil, &OpenError{
			Err:  fmt.Errorf("start %s: %w%s", binary, err, c.log.quote()),
			Hint: fmt.Sprintf("try it by hand: %s --port 0 --unixsocket /tmp/redis.sock; or use --redis embedded", binary),
		}
	}
	p := newPrivate(binary, o.Config, c)
	connection, err := connect(ctx, &redis.Options{Network: "unix", Addr: c.socket, Dialer: p.dial}, o)
	if err != nil {
		_ = p.stop()
		return nil, err
	}
	address := url.URL{Scheme: "unix", Path: c.socket}
	s := newServer(Managed, address.String(), connection, p.stop)
	s.host = p
	return s, nil
}

// await returns when the server accepts connections. The client must not find
// that out by trying: its pool remembers failed dials.
func (c *child) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		if conn, err := net.Dial("unix", c.socket); err == nil {
			return conn.Close()
		}
		select {
		case <-c.gone:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}
