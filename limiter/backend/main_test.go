package backend

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asHelper, in the environment, makes the test binary open a managed server,
// print its URL, and wait to be killed; or if it is "stuck", hang the embedded
// server; or if it is a kind of fault, put that in force before it waits.
const asHelper = "RLBENCH_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(asHelper) {
	case "":
	case "stuck":
		hangEmbedded()
		os.Exit(0)
	default:
		s, err := Open(context.Background(), "managed", Options{Injectable: true})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if _, err := faultKind(os.Getenv(asHelper)); err == nil {
			fmt.Println(s.process(context.Background()))
			if _, err := s.Inject(context.Background(), Fault{Kind: os.Getenv(asHelper)}); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		fmt.Println(s.URL())
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	// A pool that could not dial asks once more after a second, closed or not.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// requireRedis skips the test when no Redis server is installed, or fails it
// where RLBENCH_REQUIRE_REDIS says that one should be.
func requireRedis(t *testing.T) {
	t.Helper()
	if _, err := findServer(); err == nil {
		return
	}
	if os.Getenv("RLBENCH_REQUIRE_REDIS") != "" {
		t.Fatal("RLBENCH_REQUIRE_REDIS is set, but no Redis server is installed")
	}
	t.Skip("SKIPPED, NOT TESTED: no Redis server is installed")
}

// patient is a timeout that does not pass on a busy machine.
const patient = 30 * time.Second

// open opens a server for the length of the test.
func open(t *testing.T, spec string, o Options) *Server {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = patient
	}
	s, err := Open(t.Context(), spec, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve listens on a loopback port and hands every connection to handle.
func serve(t *testing.T, handle func(net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return l.Addr().String()
}

// freePort is a port on which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !check(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}
