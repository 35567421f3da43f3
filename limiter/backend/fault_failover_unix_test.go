//go:build unix

package backend

import (
	"context"
	"errors"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
)

// The replica has all that was decided before the cut and nothing from after,
// with requests under way all the time; two failovers in a row work.
func TestFailoverCut(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{PoolSize: 4})
	url, pid := s.URL(), processOf(t, s)
	const budget = 1_000_000
	l, err := limiter.New(s.Client(), limiter.Config{
		Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: budget, Window: time.Hour}, OnFailure: limiter.FailError,
	})
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for round := range 2 {
		var senders []*sender
		for range 3 {
			senders = append(senders, send(t, l, "a"))
		}
		i := inject(t, s, Fault{Kind: "failover"})
		for range 50 { // so that some are lost
			if _, err := l.Allow(t.Context(), limiter.Request{Key: "b", At: at}); err != nil {
				t.Fatal(err)
			}
		}
		var before, across, after int64
		for _, sender := range senders {
			for _, d := range sender.stop() {
				switch {
				case d.replied.Before(i.Since()):
					before++
				case d.sent.After(i.Since()):
					after++
				default:
					across++
				}
			}
		}
		end(t, i)
		d, err := l.Peek(t.Context(), limiter.Request{Key: "a", At: at})
		if err != nil {
			t.Fatal(err)
		}
		now := budget - 1 - d.Remaining
		if kept := now - total; kept < before || kept > before+across || after == 0 {
			t.Errorf("round %d: kept %d of %d from before, %d at the cut, %d after", round, kept, before, across, after)
		}
		total = now
		if d, err := l.Peek(t.Context(), limiter.Request{Key: "b", At: at}); err != nil || d.Remaining != budget-1 {
			t.Errorf("round %d: another key has %d left, %v", round, d.Remaining, err)
		}
		next := processOf(t, s)
		if next == pid || alive(pid) {
			t.Errorf("process %d was %d, alive %t", next, pid, alive(pid))
		}
		pid = next
	}
	do(t, open(t, url, Options{}), []any{"PING"})
	if s.URL() != url {
		t.Errorf("URL %s was %s", s.URL(), url)
	}
}

// sender sends one request after the other.
type sender struct {
	quit chan struct{}
	sent chan []decided
}

type decided struct{ sent, replied time.Time }

func send(t *testing.T, l *limiter.Redis, key string) *sender {
	s := &sender{quit: make(chan struct{}), sent: make(chan []decided, 1)}
	go func() {
		var all []decided
		for {
			select {
			case <-s.quit:
				s.sent <- all
				return
			default:
			}
			began := time.Now()
			if err := ask(t, l, key); err != nil {
				t.Error(err)
			}
			all = append(all, decided{began, time.Now()})
		}
	}()
	return s
}

func (s *sender) stop() []decided {
	close(s.quit)
	return <-s.sent
}

// A failover that is given up leaves no replica, no pause and no port.
func TestFailoverGivenUp(t *testing.T) {
	requireRedis(t)
	s := injectable(t, Managed, Options{})
	l := limiterOn(t, s, limiter.Log)
	before := stateOf(t, s)
	for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 100 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		i, err := s.Inject(ctx, Fault{Kind: "failover"})
		cancel()
		if err == nil {
			end(t, i)
			continue
		}
		if e, ok := errors.AsType[*FaultError](err); !ok || e.State != untouched {
			t.Errorf("after %s: %v", after, err)
		}
		if p := s.host.(*private); p.standby != nil {
			t.Error("a replica is left")
		}
		if now := stateOf(t, s); !maps.Equal(before, now) {
			t.Errorf("the server is now %v\nand was %v", now, before)
		}
		if err := ask(t, l, "a"); err != nil {
			t.Errorf("after %s: %v", after, err)
		}
	}
}

// Close in the middle of a failover ends it, and leaves no server and no directory.
func TestCloseDuringFailover(t *testing.T) {
	requireRedis(t)
	temp, err := os.MkdirTemp("/tmp", "t") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	t.Setenv("TMPDIR", temp)
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond} {
		s := injectable(t, Managed, Options{})
		injected := make(chan error)
		go func() {
			i, err := s.Inject(t.Context(), Fault{Kind: "failover"})
			if err == nil {
				err = i.End(t.Context())
			}
			injected <- err
		}()
		time.Sleep(after) // somewhere in the middle; the outcome is the same wherever
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-injected; err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Errorf("after %s: %v", after, err)
		}
		if left, _ := os.ReadDir(temp); len(left) > 0 {
			t.Errorf("after %s: left behind: %v", after, left)
		}
	}
}
