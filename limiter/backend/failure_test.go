package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// secret is the password in every URL that has one.
const secret = "pa55-w0rd"

// Every way in which opening a URL fails has one line that says why, and one
// that says what to do.
func TestOpenLiveFails(t *testing.T) {
	t.Parallel()
	guarded := miniredis.RunT(t)
	guarded.RequireAuth("another")
	loading := miniredis.RunT(t)
	loading.SetError("LOADING Redis is loading the dataset in memory")
	plain := miniredis.RunT(t).Addr()
	secure := tlsServer(t)
	web, secureWeb := httptest.NewUnstartedServer(nil), httptest.NewUnstartedServer(nil)
	for _, s := range []*httptest.Server{web, secureWeb} {
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		t.Cleanup(s.Close)
	}
	web.Start()
	secureWeb.StartTLS()
	nothing := "127.0.0.1:" + freePort(t)
	mute := serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	echo := serve(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
	ssh := serve(t, func(c net.Conn) { say(c, "SSH-2.0-OpenSSH_9.2\r\n") })
	rude := serve(t, func(net.Conn) {})
	protected := serve(t, func(c net.Conn) { say(c, "-DENIED Redis is running in protected mode. Do this. Or that.\r\n") })
	full := serve(t, func(c net.Conn) { say(c, "-ERR max number of clients reached\r\n") })
	old := refusing(t, "ERR Client sent AUTH, but no password is set")
	proxy := refusing(t, "ERR unknown command 'AUTH', with args beginning with: '"+secret+"'")
	restricted := refusing(t, "NOPERM this user has no permissions to run the 'ping' command")
	socket := t.TempDir() + "/absent.sock"

	for _, row := range []struct{ name, url, want, hint string }{
		{"nobody listens", "redis://" + nothing, "nothing listens there: dial tcp " + nothing, "redis-server --port "},
		{"no socket", "unix://" + socket, "no server listens on that socket", "--unixsocket " + socket},
		{"unknown host", "redis://no-such-host.invalid:6379", "no address found for the host name", "redis://127.0.0.1:6379"},
		{"accepts and says nothing", "redis://" + mute, "connected, but no answer in time", "?read_timeout=5s"},
		{"says nothing to TLS either", "rediss://" + mute, "connected, but no answer in time", "?read_timeout=5s"},
		{"hangs up", "redis://" + rude, "connected, but the connection broke", "redis-cli -u redis://" + rude + " ping"},
		{"password missing", "redis://" + guarded.Addr(), "the server wants a password: NOAUTH", "redis://:PASSWORD@" + guarded.Addr()},
		{"password wrong", "redis://:" + secret + "@" + guarded.Addr(), "wrong user or password", "redis://:PASSWORD@" + guarded.Addr()},
		{"user wrong", "redis://eve:" + secret + "@" + guarded.Addr(), "wrong user or password", "USER:PASSWORD"},
		{"password where none is set", "redis://:" + secret + "@" + old, "the URL has a password, but the server has none", "redis://" + old},
		{"password echoed", "redis://:" + secret + "@" + proxy, "args beginning with: '***'", "redis-cli"},
		{"still loading", "redis://" + loading.Addr(), "still loading its data: LOADING", "info persistence"},
		{"not even PING", "redis://" + restricted, "this user may not use PING: NOPERM", "acl setuser"},
		{"protected mode", "redis://" + protected, "protected mode", "requirepass"},
		{"too many clients", "redis://" + full, "no connection left", "maxclients"},
		{"TLS to a plain server", "rediss://" + plain, "does not speak it", "use redis://" + plain},
		{"plain to a TLS server", "redis://" + secure, "the server speaks TLS", "use rediss://" + secure},
		{"certificate of no known CA", "rediss://" + secure, "certificate is not trusted", "?skip_verify=true"},
		{"web server", "redis://:" + secret + "@" + web.Listener.Addr().String(), "an HTTP server answers there, not Redis", "6379"},
		{"web server, by TLS", "rediss://" + web.Listener.Addr().String(), "an HTTP server answers there, not Redis", "6379"},
		{"secure web server", "rediss://" + secureWeb.Listener.Addr().String() + "?skip_verify=true", "an HTTP server", "6379"},
		{"some other server", "redis://" + ssh, `it answers PING with "SSH-2.0-OpenSSH_9.2"`, "6379"},
		{"echo", "redis://:" + secret + "@" + echo, `it answers PING with "*1"`, "6379"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			timeout := patient
			if strings.Contains(row.url, mute) {
				timeout = 200 * time.Millisecond // will pass, whatever it is
			}
			wantOpenError(t, row.url, timeout, row.want, row.hint)
		})
	}
}

// Specs that are wrong by themselves. No part of a password may show, however
// badly it is escaped.
func TestOpenRefusesSpec(t *testing.T) {
	for _, row := range []struct{ name, spec, want, hint string }{
		{"empty", "", `open Redis "": unknown kind of Redis: want one of auto, redis://, rediss://, unix://, managed, embedded`, "--redis auto"},
		{"unknown name", "memory", "open Redis memory: unknown kind", "--redis auto"},
		{"unknown scheme", "http://localhost:6379", "unknown kind", "redis://localhost:6379"},
		{"no scheme", "localhost:6379", "unknown kind", "redis://localhost:6379"},
		{"no scheme, password", "u:" + secret + "@localhost:6379", "unknown kind", "redis://u:***@localhost:6379"},
		{"a path", "/run/redis.sock", "unknown kind", "unix:///run/redis.sock"},
		{"unknown scheme, password", "mongo://" + secret + "@localhost:6379", "unknown kind", "redis://localhost:6379"},
		{"two slashes", "unix://tmp/redis.sock", "starts with a slash", "unix:///path"},
		{"bad parameter", "redis://:" + secret + "@localhost?reed_timeout=1s", "unexpected option: reed_timeout", "?read_timeout=5s"},
		{"password as parameter", "redis://localhost?password=" + secret, "unexpected option: password", "USER:PASSWORD@"},
		{"bad database", "redis://:" + secret + "@localhost/x", `invalid database number: "x"`, "/DATABASE"},
		{"slash in password", "redis://u:0/" + secret + "@localhost:6379", "not a valid URL", "%2F"},
		{"question mark in password", "redis://u:0?" + secret + "@localhost:6379", "not a valid URL", "%3F"},
		{"hash in password", "redis://u:0#" + secret + "@localhost:6379", "not a valid URL", "%23"},
		{"slash in first place", "redis://:/" + secret + "@localhost:6379", "not a valid URL", "%2F"},
		{"percent in password", "redis://:%" + secret + "@localhost:6379", "not a valid URL", "%25"},
		{"slash in password of a socket", "unix://u:0/" + secret + "@/run/redis.sock", "not a valid URL", "%2F"},
	} {
		t.Run(row.name, func(t *testing.T) { wantOpenError(t, row.spec, patient, row.want, row.hint) })
	}
}

func TestOpenRefusesOptions(t *testing.T) {
	_, err := Open(t.Context(), "embedded", Options{Timeout: -1, PoolSize: -1})
	if err == nil || !strings.Contains(err.Error(), "timeout -1ns is negative") || !strings.Contains(err.Error(), "pool size -1 is negative") {
		t.Errorf("got %v", err)
	}
}

func TestOpenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, spec := range []string{"embedded", "managed", "redis://localhost:1"} {
		_, err := Open(ctx, spec, Options{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// A deadline of the caller ends the wait for a server that says nothing, and
// there is no looking who that is.
func TestOpenDeadline(t *testing.T) {
	mute := serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, "redis://"+mute, Options{Timeout: time.Hour})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "gave up") {
		t.Errorf("got %v", err)
	}
}

// What cannot be staged on a loopback interface.
func TestDialAdvice(t *testing.T) {
	for _, row := range []struct {
		err  error
		want advice
	}{
		{os.ErrDeadlineExceeded, blackHole},
		{syscall.EHOSTUNREACH, unreachable},
		{syscall.EACCES, forbidden},
	} {
		if got := diagnose(t.Context(), &redis.Options{Addr: "192.0.2.1:6379"}, &net.OpError{Op: "dial", Err: row.err}); !strings.HasPrefix(got.Err.Error(), row.want.what) {
			t.Errorf("%v: %v", row.err, got.Err)
		}
	}
}

// What a URL says about timeouts and the pool wins over the options.
func TestURLParametersWin(t *testing.T) {
	url := "redis://" + miniredis.RunT(t).Addr() + "?read_timeout=7s&pool_size=2"
	o := open(t, url, Options{Timeout: 3 * time.Second, PoolSize: 9}).Client().Options()
	if o.ReadTimeout != 7*time.Second || o.PoolSize != 2 || o.WriteTimeout != 3*time.Second {
		t.Errorf("read %s, write %s, %d connections", o.ReadTimeout, o.WriteTimeout, o.PoolSize)
	}
}

func wantOpenError(t *testing.T, spec string, timeout time.Duration, want, hint string) {
	t.Helper()
	s, err := Open(t.Context(), spec, Options{Timeout: timeout})
	if err == nil {
		s.Close()
		t.Fatal("opened")
	}
	e, ok := errors.AsType[*OpenError](err)
	if !ok {
		t.Fatalf("a %T: %v", err, err)
	}
	if !strings.HasPrefix(err.Error(), "open Redis ") || !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want %q", err, want)
	}
	if !strings.Contains(e.Hint, hint) {
		t.Errorf("hint %q, want %q", e.Hint, hint)
	}
	if text := err.Error() + e.Hint; strings.ContainsAny(text, "\r\n$") {
		t.Errorf("not one plain line: %q", text)
	}
	for err := error(e); err != nil; err = errors.Unwrap(err) {
		if text := fmt.Sprintf("%+v %#v", err, e); strings.Contains(text, secret) {
			t.Errorf("the password shows: %s", text)
		}
	}
	t.Logf("%v\nhint: %s", err, e.Hint)
}

// refusing is a server without HELLO that answers everything else with an error.
func refusing(t *testing.T, reply string) (addr string) {
	t.Helper()
	s, err := server.NewServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd == "HELLO" {
			c.WriteError("ERR unknown command 'HELLO'")
		} else {
			c.WriteError(reply)
		}
		return true
	})
	return s.Addr().String()
}

// say says it at once, and hangs up when the other side has said something.
func say(c net.Conn, text string) {
	_, _ = io.WriteString(c, text)
	_, _ = c.Read(make([]byte, 512))
}

func tlsServer(t *testing.T) (addr string) {
	t.Helper()
	m := miniredis.NewMiniRedis()
	certificate, err := tls.X509KeyPair(newCertificate(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.StartTLS(&tls.Config{Certificates: []tls.Certificate{certificate}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m.Addr()
}
