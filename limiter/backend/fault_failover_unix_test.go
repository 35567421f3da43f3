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
	l, err := limiter.New(s.Client(), limiter.Config{
		Algorithm: limiter.Fixed, Limit: limiter.Limit{Max: 1_000_000, Window: time.Hour}, OnFailure: limiter.FailError,
	})
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for round := range 2 {
		stop, sums := make(chan struct{}), make(chan [3]int64)
		var cut time.Time
		known := make(chan struct{})
		go func() {
			type done struct{ sent, replied time.Time }
			var all []done
			for {
				select {
				case <-stop:
					<-known
					var sum [3]int64 // replied before the cut, sent after it, other
					for _, d := range all {
						switch {
						case d.replied.Before(cut):
							sum[0]++
						case d.sent.After(cut):
							sum[1]++
						default:
							sum[2]++
						}
					}
					sums <- sum
					return
				default:
				}
				sent := time.Now()
				if _, err := l.Allow(t.Context(), limiter.Request{Key: "a", At: at}); err != nil {
					t.Error(err)
				}
				all = append(all, done{sent, time.Now()})
			}
		}()
		i := inject(t, s, Fault{Kind: "failover"})
		cut = i.Since()
		for range 50 { // so that some are lost
			if _, err := l.Allow(t.Context(), limiter.Request{Key: "b", At: at}); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		close(known)
		sum := <-sums
		end(t, i)
		d, err := l.Peek(t.Context(), limiter.Request{Key: "a", At: at})
		if err != nil {
			t.Fatal(err)
		}
		now := 1_000_000 - 1 - d.Remaining
		if kept := now - total; kept < sum[0] || kept > sum[0]+sum[2] || sum[1] == 0 {
			t.Errorf("round %d: kept %d; %v before, after, and at the cut", round, kept, sum)
		}
		total = now
		if d, err := l.Peek(t.Context(), limiter.Request{Key: "b", At: at}); err != nil || d.Remaining != 999_999 {
			t.Errorf("round %d: another key has %d left, %v", round, d.Remaining, err)
		}
		if next := processOf(t, s); next == pid || alive(pid) {
			t.Errorf("process %d was %d, alive %t", next, pid, alive(pid))
		} else {
			pid = next
		}
	}
	do(t, open(t, url, Options{}), []any{"PING"})
	if s.URL() != url {
		t.Errorf("URL %s was %s", s.URL(), url)
	}
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
