package limiter_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

func TestMain(m *testing.M) {
	logging.Disable() // dial failures are what some tests are about
	goleak.VerifyTestMain(closing{m})
}

// closing ends the shared servers after the tests and before the search for
// leaks.
type closing struct{ *testing.M }

func (c closing) Run() int {
	code := c.M.Run()
	for _, end := range slices.Backward(ends) {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, "end a server of the tests:", err)
			code = max(code, 1)
		}
	}
	return code
}

var (
	opening sync.Mutex // guards ends and opened
	ends    []func() error
	opened  = map[string]any{}
)

// shared opens a thing once for all tests. Tests that open it skip loudly
// without a server, or fail if RLBENCH_REQUIRE_REDIS is set.
func shared[T any](t testing.TB, name string, open func() (T, func() error, error)) T {
	t.Helper()
	opening.Lock()
	defer opening.Unlock()
	if v, ok := opened[name]; ok {
		return v.(T)
	}
	v, end, err := open()
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	opened[name] = v
	ends = append(ends, end)
	return v
}

func needServer(t testing.TB) {
	t.Helper()
	for _, binary := range []string{"redis-server", "valkey-server"} {
		if _, err := exec.LookPath(binary); err == nil {
			return
		}
	}
	const missing = "no redis-server or valkey-server on PATH: NOTHING WAS TESTED ON A REAL REDIS"
	if os.Getenv("RLBENCH_REQUIRE_REDIS") != "" {
		t.Fatal(missing + ", and RLBENCH_REQUIRE_REDIS is set")
	}
	t.Skip(missing)
}

func openBackend(t testing.TB, spec string) (*backend.Server, func() error, error) {
	s, err := backend.Open(t.Context(), spec, backend.Options{Timeout: 10 * time.Second})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

func embedded(t testing.TB) *backend.Server {
	t.Helper()
	return shared(t, "embedded", func() (*backend.Server, func() error, error) { return openBackend(t, "embedded") })
}

func managed(t testing.TB) *backend.Server {
	t.Helper()
	needServer(t)
	return shared(t, "managed", func() (*backend.Server, func() error, error) { return openBackend(t, "managed") })
}

// dialled is the managed server once more, as a user reaches it: by its URL.
func dialled(t testing.TB) *redis.Client {
	t.Helper()
	server := managed(t)
	return shared(t, "dialled", func() (*redis.Client, func() error, error) {
		c, err := limiter.Dial(server.URL() + "?read_timeout=10s&pool_timeout=10s")
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	})
}

// cluster is a Redis Cluster of one node that owns all slots.
func cluster(t testing.TB) *redis.ClusterClient {
	t.Helper()
	needServer(t)
	return shared(t, "cluster", func() (*redis.ClusterClient, func() error, error) { return openCluster(t) })
}

func openCluster(t testing.TB) (*redis.ClusterClient, func() error, error) {
	// Cluster nodes announce a port, so a socket is not enough.
	port, bus := freePort(t), freePort(t)
	node, err := backend.Open(t.Context(), "managed", backend.Options{Config: []string{
		"--bind", "127.0.0.1", "--port", port, "--cluster-port", bus,
		"--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1",
	}})
	if err != nil {
		return nil, nil, err
	}
	if err := node.Client().ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		return nil, nil, errors.Join(err, node.Close())
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                 []string{net.JoinHostPort("127.0.0.1", port)},
		Protocol:              2,
		DisableIdentity:       true,
		ContextTimeoutEnabled: true,
	})
	end := func() error { return errors.Join(client.Close(), node.Close()) }
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		info, err := node.Client().ClusterInfo(t.Context()).Result()
		if err == nil && strings.Contains(info, "cluster_state:ok") {
			return client, end, nil
		}
		if time.Now().After(deadline) {
			return nil, nil, errors.Join(errors.New("the cluster does not get ready"), err, end())
		}
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
