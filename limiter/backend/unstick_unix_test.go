//go:build unix

package backend

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	idleLoop    = "while true do end"
	writingLoop = "redis.call('SET', KEYS[1], 1) while true do end"
	// stubborn takes no error for an answer, also not the one that ends a script.
	stubborn = "while true do pcall(function() while true do end end) end"
)

// hang puts the server into a script that never ends, and returns when it says
// that it is busy.
func hang(t *testing.T, s *Server, script string) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Client().Eval(context.WithoutCancel(t.Context()), script, []string{"written"}).Err()
	}()
	t.Cleanup(func() { <-ended })
	eventually(t, "the script runs", func() bool { return hasPrefix(s.Client().Ping(t.Context()).Err(), "BUSY") })
}

func TestUnstick(t *testing.T) {
	requireRedis(t)
	for _, row := range []struct {
		name, script string
		live         bool
		want         Remedy
		kept         int64 // keys from before
	}{
		{"managed, it has not written", idleLoop, false, RemedyKilled, 1},
		{"managed, it catches errors", stubborn, false, RemedyKilled, 1},
		{"managed, it has written", writingLoop, false, RemedyReplaced, 0},
		{"live, it has not written", idleLoop, true, RemedyKilled, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, "managed", Options{PoolSize: 4})
			s.patience = patient // the outcome must not depend on how busy this machine is
			if row.live {
				s = open(t, s.URL(), Options{PoolSize: 4})
				s.patience = patient
			}
			if err := s.Warm(t.Context(), 4); err != nil {
				t.Fatal(err)
			}
			do(t, s, []any{"SET", "before", 1})
			pid := processOf(t, s)
			hang(t, s, row.script)
			if remedy, err := s.Unstick(t.Context()); remedy != row.want || err != nil {
				t.Fatalf("got %q, %v", remedy, err)
			}
			// No connection of the old server is left in the pool.
			for range 8 {
				if n, err := s.Client().Exists(t.Context(), "before", "written").Result(); n != row.kept || err != nil {
					t.Errorf("%d keys, %v", n, err)
				}
			}
			if now := processOf(t, s); (now != pid) != (row.want == RemedyReplaced) || alive(pid) == (row.want == RemedyReplaced) {
				t.Errorf("process %d was %d, alive %t", now, pid, alive(pid))
			}
			if remedy, err := s.Unstick(t.Context()); remedy != RemedyNone || err != nil {
				t.Errorf("again: %q, %v", remedy, err)
			}
		})
	}
}

// Nothing is shut down on a live server that will not end its script. When its
// owner replaces it, its clients find the new one by themselves.
func TestUnstickLiveUnkillable(t *testing.T) {
	t.Parallel()
	requireRedis(t)
	owner := open(t, "managed", Options{})
	live := open(t, owner.URL(), Options{})
	owner.patience, live.patience = patient, patient
	pid := processOf(t, owner)
	hang(t, live, writingLoop)
	remedy, err := live.Unstick(t.Context())
	e, ok := errors.AsType[*StuckError](err)
	socket := live.Client().Options().Addr
	if remedy != RemedyNone || !ok || !errors.Is(err, errUnkillable) || !strings.Contains(e.Hint, "redis-cli -s "+socket+" shutdown nosave") {
		t.Errorf("got %q, %#v", remedy, err)
	}
	if !alive(pid) {
		t.Fatal("the server is gone")
	}
	if remedy, err := owner.Unstick(t.Context()); remedy != RemedyReplaced || err != nil {
		t.Fatalf("got %q, %v", remedy, err)
	}
	do(t, live, []any{"PING"})
	do(t, owner, []any{"PING"})
}

// Of several that notice, one replaces the server and the others find it well.
func TestUnstickTogether(t *testing.T) {
	t.Parallel()
	requireRedis(t)
	s := open(t, "managed", Options{})
	s.patience = patient
	hang(t, s, writingLoop)
	const callers = 4
	remedies := make([]Remedy, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			var err error
			if remedies[i], err = s.Unstick(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	count := map[Remedy]int{}
	for _, remedy := range remedies {
		count[remedy]++
	}
	if count[RemedyReplaced] != 1 || count[RemedyNone] != callers-1 {
		t.Errorf("got %v", count)
	}
}

// A managed server that is stopped or dead is replaced, with its arguments, and
// the new one goes with Close as the old one would have.
func TestUnstickReplaces(t *testing.T) {
	t.Parallel()
	requireRedis(t)
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			s := open(t, "managed", Options{Config: []string{"--maxmemory-policy", "allkeys-lru"}})
			pid, url := processOf(t, s), s.URL()
			if err := syscall.Kill(pid, signal); err != nil {
				t.Fatal(err)
			}
			s.patience = time.Second
			if remedy, err := s.Unstick(t.Context()); remedy != RemedyReplaced || err != nil {
				t.Fatalf("got %q, %v", remedy, err)
			}
			if d, err := s.Describe(t.Context()); d.MaxmemoryPolicy != "allkeys-lru" || err != nil {
				t.Errorf("got %+v, %v", d, err)
			}
			fresh, dir := processOf(t, s), filepath.Dir(s.Client().Options().Addr)
			if s.URL() != url || fresh == pid {
				t.Errorf("process %d was %d, URL %s was %s", fresh, pid, s.URL(), url)
			}
			if err := s.Close(); err != nil || alive(fresh) || exists(dir) {
				t.Errorf("after Close: alive %t, directory %t, %v", alive(fresh), exists(dir), err)
			}
		})
	}
}

// A server that cannot be replaced leaves nothing behind. It can be replaced
// later, but not once it is closed.
func TestReplaceFails(t *testing.T) {
	c := start(t, nil)
	p := newPrivate(c.dir+"/absent", nil, c)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.replace(cancelled); !errors.Is(err, context.Canceled) || !exists(c.socket) {
		t.Errorf("given up: %v, socket %t", err, exists(c.socket))
	}
	if err := p.replace(t.Context()); err == nil || !strings.Contains(err.Error(), "it ended at once") || exists(c.dir) {
		t.Errorf("no such program: %v, directory %t", err, exists(c.dir))
	}
	p.binary, _ = findServer()
	if err := p.replace(t.Context()); err != nil || !exists(c.socket) {
		t.Errorf("later: %v, socket %t", err, exists(c.socket))
	}
	if err := p.stop(); err != nil || exists(c.dir) {
		t.Errorf("stop: %v, directory %t", err, exists(c.dir))
	}
	if err := p.replace(t.Context()); !errors.Is(err, redis.ErrClosed) || exists(c.dir) {
		t.Errorf("after stop: %v, directory %t", err, exists(c.dir))
	}
}

// Dials wait while a server is being replaced, and no longer than they may.
func TestDialWaitsForReplacement(t *testing.T) {
	c := start(t, nil)
	p := newPrivate("", nil, c)
	p.turn <- struct{}{}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := p.dial(ctx, "unix", c.socket); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	dialled := make(chan error, 1)
	go func() {
		conn, err := p.dial(t.Context(), "unix", c.socket)
		dialled <- errors.Join(err, conn.Close())
	}()
	select {
	case err := <-dialled:
		t.Errorf("did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	<-p.turn
	if err := <-dialled; err != nil {
		t.Error(err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
