//go:build unix

package limiter_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// stalls are ways in which a server or the network is there and does not answer.
// Each returns a client, and how to end the stall.
var stalls = []struct {
	name  string
	begin func(*testing.T) (client *redis.Client, end func())
}{
	{"stopped server", func(t *testing.T) (*redis.Client, func()) {
		m := newMortal(t)
		client, pid := m.clients()["tcp"], m.pid()
		warm(t, client)
		m.signal(syscall.SIGSTOP, pid)
		return client, func() { m.signal(syscall.SIGCONT, pid) }
	}},
	{"paused clients", func(t *testing.T) (*redis.Client, func()) {
		m := newMortal(t)
		client := m.clients()["unix"]
		warm(t, client)
		if err := client.Do(t.Context(), "client", "pause", "600000", "write").Err(); err != nil {
			t.Fatal(err)
		}
		return client, func() {
			if err := m.server.Client().ClientUnpause(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}
	}},
	{"listener that never answers", func(t *testing.T) (*redis.Client, func()) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return patientClient(t, &redis.Options{Addr: l.Addr().String()}), nil
	}},
	{"dial that never ends", func(t *testing.T) (*redis.Client, func()) {
		return patientClient(t, &redis.Options{Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
		}}), nil
	}},
	{"full pool", func(t *testing.T) (*redis.Client, func()) {
		client := patientClient(t, &redis.Options{Network: "unix", Addr: strings.TrimPrefix(managed(t).URL(), "unix://"), PoolSize: 1})
		held := client.Conn()
		if err := held.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		end := sync.OnceFunc(func() { held.Close() })
		t.Cleanup(end)
		return client, end
	}},
}

// patientClient has timeouts that never pass, so that only the limiter's does.
func patientClient(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	if o.PoolSize == 0 {
		o.PoolSize = 5
	}
	o.ReadTimeout, o.WriteTimeout, o.DialTimeout, o.PoolTimeout = time.Hour, time.Hour, time.Hour, time.Hour
	client := redis.NewClient(limiter.Tune(o))
	t.Cleanup(func() { client.Close() })
	return client
}

func warm(t *testing.T, client *redis.Client) {
	t.Helper()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// TestStalls: whatever stalls, a thousand callers get an answer from the policy,
// with few goroutines beside their own, and Redis decides again once the stall is
// over. All timeouts but the limiter's are an hour; TestDecisionsEndInTime holds
// that one to its word, on a clock that waits for no scheduler.
func TestStalls(t *testing.T) {
	const callers, timeout = 1000, 300 * time.Millisecond
	for _, stall := range stalls {
		t.Run(stall.name, func(t *testing.T) {
			client, end := stall.begin(t)
			c := config(limiter.Fixed)
			c.Limit.Max, c.OnFailure, c.Timeout = 10_000, limiter.FailOpen, timeout
			c.Policy = strings.ReplaceAll(stall.name, " ", "-")
			l, err := limiter.New(client, c)
			if err != nil {
				t.Fatal(err)
			}
			before := runtime.NumGoroutine()
			watched, most := make(chan struct{}), make(chan int)
			go func() {
				n := 0
				for {
					select {
					case <-watched:
						most <- n
						return
					case <-time.After(time.Millisecond):
						n = max(n, runtime.NumGoroutine())
					}
				}
			}()
			start := time.Now()
			var longest atomic.Int64
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					began := time.Now()
					d, err := l.Allow(t.Context(), limiter.Request{Key: "k"})
					for took := int64(time.Since(began)); ; {
						if old := longest.Load(); took <= old || longest.CompareAndSwap(old, took) {
							break
						}
					}
					if err != nil || d.Source != limiter.SourceFailOpen || !d.Allowed {
						t.Errorf("got %+v, %v", d, err)
					}
				})
			}
			all.Wait()
			took := time.Since(start)
			close(watched)
			if n := <-most; n > before+callers+callers/4 {
				t.Errorf("%d goroutines for %d callers and %d of before", n, callers, before)
			}
			if took > time.Minute {
				t.Errorf("took %s with a timeout of %s", took, timeout)
			}
			t.Logf("timeout %s, the longest of %d calls took %s", timeout, callers, time.Duration(longest.Load()))
			if s := l.Counters().Snapshot(); s.OpenCircuits != 1 || s.Policies[0].Admitted[limiter.SourceFailOpen] != callers {
				t.Errorf("%d circuits open, %v admitted", s.OpenCircuits, s.Policies[0].Admitted)
			}
			if end == nil {
				return
			}
			end()
			patientUntil(t, "Redis decides again", func() bool {
				d, err := l.Allow(t.Context(), limiter.Request{Key: "k"})
				return err == nil && d.Source == limiter.SourceRedis
			})
		})
	}
}

// TestFullPoolIsCertain: who found no connection knows that nothing was counted.
func TestFullPoolIsCertain(t *testing.T) {
	client, end := stalls[len(stalls)-1].begin(t)
	defer end()
	c := config(limiter.Fixed)
	c.Timeout = 20 * time.Millisecond
	l, err := limiter.New(client, c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Allow(t.Context(), limiter.Request{Key: "k"})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, limiter.ErrUnknown) || !strings.Contains(err.Error(), "no connection came free") {
		t.Errorf("got %v", err)
	}
	if n := l.Counters().Snapshot().Errors[limiter.TroubleNoConnection]; n != 1 {
		t.Errorf("counted %d", n)
	}
}
