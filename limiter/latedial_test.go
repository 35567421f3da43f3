package limiter

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestLateDial: the dial is part of the first write, and a failed one proves that
// nothing was sent, whichever error it ends with.
func TestLateDial(t *testing.T) {
	odd := errors.New("tls: certificate of somebody else")
	for _, row := range []struct {
		why  string
		dial func(context.Context) error
		want error
	}{
		{"refused", func(context.Context) error { return refused.error }, refused.error},
		{"an error of no known kind", func(context.Context) error { return odd }, odd},
		{"never answered", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, context.DeadlineExceeded},
	} {
		for _, pool := range []int{1, 3} {
			dials := 0
			client := redis.NewClient(Tune(&redis.Options{
				PoolSize: pool, DialTimeout: time.Hour, ReadTimeout: time.Hour, WriteTimeout: time.Hour,
				Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { dials++; return nil, row.dial(ctx) },
			}))
			l, err := New(client, Config{
				Algorithm: Fixed, Limit: Limit{1, time.Minute}, OnFailure: FailError,
				Timeout: 20 * time.Millisecond, Circuit: &Circuit{Failures: -1},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 5 {
				_, err := l.Allow(t.Context(), Request{Key: "k"})
				if !errors.Is(err, row.want) || errors.Is(err, ErrUnknown) {
					t.Errorf("%s: got %v, want %v, and that nothing was counted", row.why, err, row.want)
				}
				if dials != i+1 {
					t.Fatalf("%s, a pool of %d: %d dials in %d requests: the pool answers by itself", row.why, pool, dials, i+1)
				}
			}
			if n := l.Counters().Snapshot().Errors[TroubleDial]; n != 5 {
				t.Errorf("%s: counted %d failed dials", row.why, n)
			}
			client.Close()
		}
	}
}

// late is a late connection to an echo, and how often it was dialled.
func late(t *testing.T) (conn net.Conn, dials *int) {
	t.Helper()
	dials = new(int)
	dial := dialLate(&redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		*dials++
		near, far := net.Pipe()
		go func() { _, _ = io.Copy(far, far); far.Close() }()
		return near, nil
	}})
	conn, err := dial(t.Context(), "tcp", "redis.example:6379")
	if err != nil {
		t.Fatal(err)
	}
	return conn, dials
}

// TestLateConn: a connection like any other, but for when it dials.
func TestLateConn(t *testing.T) {
	conn, dials := late(t)
	defer conn.Close()
	if conn.RemoteAddr().String() != "redis.example:6379" || conn.LocalAddr().Network() != "tcp" || *dials != 0 {
		t.Errorf("%s from %s, dialled %d times before use", conn.RemoteAddr(), conn.LocalAddr(), *dials)
	}
	if err := conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Write([]byte("ping")); n != 4 || err != nil || *dials != 1 {
		t.Fatalf("wrote %d, %v after %d dials", n, err, *dials)
	}
	if _, err := conn.Read(make([]byte, 4)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("forgot a deadline of before the dial: got %v", err)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(conn, b); err != nil || string(b) != "ping" {
		t.Errorf("read %q, %v", b, err)
	}

	conn, _ = late(t)
	conn.Close()
	if _, err := conn.Write([]byte("ping")); !errors.Is(err, net.ErrClosed) || !undialled(err) {
		t.Errorf("write after close: got %v", err)
	}
}

// TestCloseEndsALateDial: closing a client does not wait for a dial.
func TestCloseEndsALateDial(t *testing.T) {
	dialling := make(chan struct{})
	dial := dialLate(&redis.Options{DialTimeout: time.Hour, Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	conn, err := dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-dialling; conn.Close() }()
	if _, err := conn.Write([]byte("ping")); !undialled(err) {
		t.Errorf("got %v", err)
	}
}
