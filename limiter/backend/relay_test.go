package backend

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
)

// Only who knows the secret gets through, and then nothing is lost or added.
func TestRelay(t *testing.T) {
	addr := serve(t, func(c net.Conn) { _, _ = io.Copy(c, c) }) // the primary, an echo
	r, err := openRelay("secret", func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) })
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	ping, wrong, right := command("PING"), command("AUTH", "wrong!"), command("AUTH", "secret")
	const noAuth = "-NOAUTH Authentication required.\r\n"
	for _, row := range []struct {
		name, sent, want string
		open             bool
	}{
		{"nothing but the secret opens it", ping + wrong + command("AUTH", "x", "secret") + command("KEYS", "*"), strings.Repeat(noAuth, 4), true},
		{"what follows the secret goes through", ping + right + "anything\r\n", noAuth + "+OK\r\n" + "anything\r\n", true},
		{"no commands", "GET / HTTP/1.1\r\n", "", false},
		{"too much", strings.Repeat(ping, 300), strings.Repeat(noAuth, 3), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := net.Dial("tcp", net.JoinHostPort(r.host, r.port))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			go func() { _, _ = io.WriteString(c, row.sent) }()
			in := bufio.NewReader(c)
			b := make([]byte, len(row.want))
			if _, err := io.ReadFull(in, b); err != nil || string(b) != row.want {
				t.Errorf("got %q, %v", b, err)
			}
			if !row.open {
				if rest, err := io.ReadAll(in); strings.Contains(string(rest), "+OK") {
					t.Errorf("got %q, %v", rest, err)
				}
			}
		})
	}
}

// Close ends those who wait at the door and those who are through.
func TestRelayCloses(t *testing.T) {
	addr := serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	r, err := openRelay("secret", func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) })
	if err != nil {
		t.Fatal(err)
	}
	var all []net.Conn
	for _, sent := range []string{command("PING"), command("AUTH", "secret")} {
		c, err := net.Dial("tcp", net.JoinHostPort(r.host, r.port))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	r.close()
	for _, c := range all {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("still open")
		}
	}
}
