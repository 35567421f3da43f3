//go:build unix

package limiter_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// mortal is a managed server of a test's own, at an address that outlives it.
type mortal struct {
	t      testing.TB
	server *backend.Server
	port   string
	link   string // to its socket
}

func newMortal(t testing.TB) *mortal {
	t.Helper()
	needServer(t)
	m := &mortal{t: t, port: freePort(t), link: filepath.Join(t.TempDir(), "redis.sock")}
	m.live()
	t.Cleanup(m.die)
	return m
}

// live starts the server, afresh.
func (m *mortal) live() {
	m.t.Helper()
	server, err := backend.Open(context.Background(), "managed", backend.Options{
		Timeout: 10 * time.Second, Config: []string{"--bind", "127.0.0.1", "--port", m.port},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.server = server
	if err := os.Symlink(strings.TrimPrefix(server.URL(), "unix://"), m.link); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mortal) die() {
	if err := errors.Join(m.server.Close(), os.RemoveAll(m.link)); err != nil {
		m.t.Error(err)
	}
}

// signal stops or continues the process.
func (m *mortal) signal(s syscall.Signal, pid int) {
	m.t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mortal) pid() int {
	m.t.Helper()
	info := m.server.Client().InfoMap(m.t.Context(), "server")
	pid, err := strconv.Atoi(info.Item("Server", "process_id"))
	if err != nil {
		m.t.Fatal(err, info.Err())
	}
	return pid
}

// clients are one by TCP and one by the socket, each with few connections.
func (m *mortal) clients() map[string]*redis.Client {
	m.t.Helper()
	all := map[string]*redis.Client{}
	for name, url := range map[string]string{"tcp": "redis://127.0.0.1:" + m.port + "?", "unix": "unix://" + m.link + "?"} {
		c, err := limiter.Dial(url + "pool_size=5&read_timeout=1h&dial_timeout=1h&pool_timeout=1h")
		if err != nil {
			m.t.Fatal(err)
		}
		m.t.Cleanup(func() { c.Close() })
		all[name] = c
	}
	return all
}

// patientUntil polls something that has to come about.
func patientUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}

// TestRecovery: a server dies and another one takes its place. However many
// decisions failed meanwhile, the first one that is sent after that succeeds, and
// one is sent at the next probe.
func TestRecovery(t *testing.T) {
	m := newMortal(t)
	type row struct {
		name string
		*limiter.Redis
		circuit *limiter.Circuit
	}
	virtual := t0
	var rows []row
	for name, client := range m.clients() {
		for _, failures := range []int{-1, 0} {
			c := config(limiter.Fixed)
			c.Timeout = 10 * time.Second
			c.OnFailure, c.Circuit = limiter.FailClosed, &limiter.Circuit{Failures: failures, Now: func() time.Time { return virtual }}
			l, err := limiter.New(client, c)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row{name, l, c.Circuit})
		}
	}
	want := func(r row, source limiter.Source) {
		t.Helper()
		d, err := r.Allow(t.Context(), limiter.Request{Key: "k"})
		if err != nil || d.Source != source {
			t.Fatalf("%s, circuit %+v: got %+v, %v, want a decision by %s", r.name, r.circuit.Failures, d, err, source)
		}
	}
	for _, r := range rows {
		want(r, limiter.SourceRedis)
	}
	for range 2 { // and once more
		m.die()
		for _, r := range rows {
			for range 50 {
				want(r, limiter.SourceFailClosed)
			}
			if r.circuit.Open() != (r.circuit.Failures == 0) {
				t.Errorf("%s, failures %d: open %t", r.name, r.circuit.Failures, r.circuit.Open())
			}
		}
		m.live()
		for _, r := range rows {
			if r.circuit.Open() {
				want(r, limiter.SourceFailClosed)
			}
		}
		virtual = virtual.Add(limiter.DefaultProbe)
		for _, r := range rows {
			want(r, limiter.SourceRedis)
			want(r, limiter.SourceRedis)
		}
	}
}

// BenchmarkRecovery is how long it takes from the return of a server, after an
// outage that any number of callers noticed, to the first decision of Redis.
func BenchmarkRecovery(b *testing.B) {
	m := newMortal(b)
	client := m.clients()["tcp"]
	c := config(limiter.Fixed)
	c.OnFailure, c.Timeout = limiter.FailOpen, limiter.DefaultTimeout
	l, err := limiter.New(client, c)
	if err != nil {
		b.Fatal(err)
	}
	var all []time.Duration
	for b.Loop() {
		m.die()
		for range 1000 {
			if _, err := l.Allow(b.Context(), limiter.Request{Key: "k"}); err != nil {
				b.Fatal(err)
			}
		}
		m.live()
		start := time.Now()
		for {
			d, err := l.Allow(b.Context(), limiter.Request{Key: "k"})
			if err != nil {
				b.Fatal(err)
			}
			if d.Source == limiter.SourceRedis {
				break
			}
		}
		all = append(all, time.Since(start))
	}
	b.ReportMetric(float64(slices.Max(all).Milliseconds()), "longest-ms")
	b.ReportMetric(0, "ns/op")
}

// TestReadOnlyReplica: each READONLY answer is counted, and costs its connection,
// so that a name that leads to the new master is looked up again.
func TestReadOnlyReplica(t *testing.T) {
	needServer(t)
	server, err := backend.Open(t.Context(), "managed", backend.Options{Config: []string{
		"--replicaof", "127.0.0.1 " + freePort(t), "--replica-serve-stale-data", "yes",
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := limiter.Dial(server.URL() + "?read_timeout=10s")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := config(limiter.Log)
	c.OnFailure = limiter.FailClosed
	l, err := limiter.New(client, c)
	if err != nil {
		t.Fatal(err)
	}
	const asked = 10
	before := connections(t, server.Client())
	for range asked {
		if d, err := l.Allow(t.Context(), limiter.Request{Key: "k"}); err != nil || !limiter.Answered(d.Cause) {
			t.Fatalf("got %+v, %v", d, err)
		}
	}
	s := l.Counters().Snapshot()
	if n := connections(t, server.Client()) - before; n != asked || s.Answers["READONLY"] != asked || s.OpenCircuits != 0 {
		t.Errorf("%d connections and answers %v after %d requests, %d circuits open", n, s.Answers, asked, s.OpenCircuits)
	}
}

// TestConnectionsAreKept: a flood dials no more often than the pool is large.
func TestConnectionsAreKept(t *testing.T) {
	const pool, callers, each = 4, 32, 200
	server := managed(t)
	client, err := limiter.Dial(server.URL() + "?read_timeout=10s&pool_timeout=10s&pool_size=" + strconv.Itoa(pool))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := config(limiter.Fixed)
	c.Policy = "kept"
	l, err := limiter.New(client, c)
	if err != nil {
		t.Fatal(err)
	}
	before := connections(t, server.Client())
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				if _, err := l.Allow(t.Context(), limiter.Request{Key: "k"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := connections(t, server.Client()) - before; n > pool {
		t.Errorf("%d connections for a pool of %d", n, pool)
	}
}

// connections is how many the server has accepted since it started.
func connections(t *testing.T, client *redis.Client) int {
	t.Helper()
	n, err := strconv.Atoi(client.InfoMap(t.Context(), "stats").Item("Stats", "total_connections_received"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
