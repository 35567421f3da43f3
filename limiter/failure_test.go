package limiter_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlbench/rlbench/limiter"
	"github.com/rlbench/rlbench/limiter/backend"
)

// each makes one limiter for each failure policy.
func each(t *testing.T, client limiter.Processor, a limiter.Algorithm) map[limiter.Failure]*limiter.Redis {
	t.Helper()
	all := map[limiter.Failure]*limiter.Redis{}
	for _, f := range []limiter.Failure{limiter.FailOpen, limiter.FailClosed, limiter.FailError} {
		c := config(a)
		c.OnFailure = f
		l, err := limiter.New(client, c)
		if err != nil {
			t.Fatal(err)
		}
		all[f] = l
	}
	return all
}

// wantPolicies sends one request under each policy to a Redis that cannot answer.
func wantPolicies(t *testing.T, all map[limiter.Failure]*limiter.Redis, r limiter.Request, unknown bool) {
	t.Helper()
	for f, l := range all {
		d, err := l.Allow(t.Context(), r)
		cause := d.Cause
		if f == limiter.FailError {
			cause = err
		} else if err != nil {
			t.Errorf("policy %s: got the error %v, want a decision", f, err)
		}
		if cause == nil || errors.Is(cause, limiter.ErrUnknown) != unknown {
			t.Errorf("policy %s: the cause is %v, want one with ErrUnknown: %t", f, cause, unknown)
		}
		want := map[limiter.Failure]limiter.Decision{
			limiter.FailOpen:   {Allowed: true, Limit: 10, At: r.At, Source: limiter.SourceFailOpen},
			limiter.FailClosed: {Allowed: false, Limit: 10, At: r.At, Source: limiter.SourceFailClosed},
		}[f]
		d.Cause = nil
		if d != want {
			t.Errorf("policy %s: got %+v, want %+v", f, d, want)
		}
	}
}

// TestRefusedConnection: nobody listens, so nothing was counted for sure.
func TestRefusedConnection(t *testing.T) {
	client, err := limiter.Dial("redis://127.0.0.1:" + freePort(t))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all := each(t, client, limiter.Fixed)
	wantPolicies(t, all, limiter.Request{Key: "k", At: t0}, false)
	wantPolicies(t, all, limiter.Request{Key: "k"}, false)
	if err := all[limiter.FailOpen].Reset(t.Context(), limiter.Request{Key: "k"}); err == nil {
		t.Error("Reset reports success without a Redis")
	}
}

// TestReplyNeverSent: the server takes the command and hangs up.
func TestReplyNeverSent(t *testing.T) {
	client := redis.NewClient(limiter.Tune(&redis.Options{Addr: rude(t)}))
	defer client.Close()
	wantPolicies(t, each(t, client, limiter.Fixed), limiter.Request{Key: "k", At: t0}, true)
}

// rude is the address of a server that answers a handshake, and hangs up on any
// other command once it has read it.
func rude(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { listener.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			command := make([]byte, 4096)
			n, err := conn.Read(command)
			if err == nil && bytes.Contains(bytes.ToLower(command[:n]), []byte("hello")) {
				_, _ = conn.Write([]byte("-ERR unknown command\r\n"))
				_, _ = conn.Read(command)
			}
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

// TestRefusals: an error that Redis sends is proof that nothing was counted, and
// must be true.
func TestRefusals(t *testing.T) {
	needServer(t)
	for _, row := range []struct {
		why    string
		config []string
		before func(*redis.Client, string) error
	}{
		{"out of memory: no script may be half done, or grow past the bound", []string{"--maxmemory", "1", "--maxmemory-policy", "noeviction"}, nil},
		{"a replica that only reads", []string{"--replicaof", "127.0.0.1 " + freePort(t), "--replica-serve-stale-data", "yes"}, nil},
		{"the key holds something else", nil, func(c *redis.Client, key string) error {
			return c.HSet(context.Background(), key, "field", "value").Err()
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			server, err := backend.Open(t.Context(), "managed", backend.Options{Config: row.config})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			for _, a := range limiter.Algorithms {
				all := each(t, server.Client(), a)
				key := all[limiter.FailError].Keys("k")[0]
				if row.before != nil {
					if err := row.before(server.Client(), key); err != nil {
						t.Fatal(err)
					}
				}
				before, _ := server.Client().Type(t.Context(), key).Result()
				wantPolicies(t, all, limiter.Request{Key: "k", At: t0}, false)
				if after, err := server.Client().Type(t.Context(), key).Result(); after != before || err != nil {
					t.Errorf("%s: the key was a %s and is a %s, error %v", a.Name, before, after, err)
				}
			}
		})
	}
}

// TestForeignValue: a string that no script wrote is an error, not a zero.
func TestForeignValue(t *testing.T) {
	client := embedded(t).Client()
	for _, a := range []limiter.Algorithm{limiter.Fixed, limiter.Counter, limiter.GCRA} {
		c := config(a)
		c.Policy = "foreign"
		l, err := limiter.New(client, c)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"", "7", "1 2 3 4", "1 -2", "1 2.5", " 1 2", "nan nan nan"} {
			if err := client.Set(t.Context(), l.Keys("k")[0], value, time.Minute).Err(); err != nil {
				t.Fatal(err)
			}
			if d, err := l.Allow(t.Context(), limiter.Request{Key: "k", At: t0}); err == nil || errors.Is(err, limiter.ErrUnknown) {
				t.Errorf("%s: with %q in the key: got %+v, %v, want an error whose fate is known", a.Name, value, d, err)
			}
		}
	}
}

// TestCancelledCallers: nobody waits for an answer, so no policy makes one up.
func TestCancelledCallers(t *testing.T) {
	plain, cancel := context.WithCancel(t.Context())
	cancel()
	reasoned, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(errors.New("the client hung up"))
	for _, row := range []struct {
		why string
		ctx context.Context
	}{
		{"cancelled", plain},
		{"cancelled for a reason", reasoned},
	} {
		for f, l := range each(t, embedded(t).Client(), limiter.Fixed) {
			if d, err := l.Allow(row.ctx, limiter.Request{Key: "cancelled", At: t0}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, policy %s: got %+v, %v, want context.Canceled", row.why, f, d, err)
			}
		}
	}
}

// TestDeadline: a caller in a hurry still waits for an answer, and gets the
// policy's.
func TestDeadline(t *testing.T) {
	overdue, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for f, l := range each(t, embedded(t).Client(), limiter.Fixed) {
		d, err := l.Allow(overdue, limiter.Request{Key: "overdue", At: t0})
		if f == limiter.FailError {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("policy %s: got %+v, %v", f, d, err)
			}
			continue
		}
		if err != nil || d.Allowed != (f == limiter.FailOpen) || !errors.Is(d.Cause, context.DeadlineExceeded) {
			t.Errorf("policy %s: got %+v, %v", f, d, err)
		}
	}
}

// TestImpossibleRequests are the caller's fault, so no policy decides them.
func TestImpossibleRequests(t *testing.T) {
	for f, l := range each(t, embedded(t).Client(), limiter.Fixed) {
		for _, r := range []limiter.Request{{}, {Key: "k", Cost: -1}, {Key: "k", At: time.Unix(-1, 0)}} {
			if d, err := l.Allow(t.Context(), r); err == nil || d != (limiter.Decision{}) {
				t.Errorf("policy %s: request %+v: got %+v, %v, want an error", f, r, d, err)
			}
		}
	}
}
