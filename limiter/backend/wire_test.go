package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

// wireTo is a wire, and the server's end of it. Writes do not wait for the
// server.
func wireTo(t interface {
	Helper()
	Fatal(...any)
},
) (w net.Conn, in *injector, server net.Conn) {
	t.Helper()
	ours, server := net.Pipe()
	in = &injector{now: time.Now, direct: func(context.Context, string, string) (net.Conn, error) { return &eager{Conn: ours}, nil }}
	w, err := in.dial(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return w, in, server
}

// socketWireTo is the same over a socket, whose bytes outlive a close.
func socketWireTo(t *testing.T) (w net.Conn, in *injector, server net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	in = &injector{now: time.Now, direct: new(net.Dialer).DialContext}
	if w, err = in.dial(t.Context(), "unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return w, in, server
}

func impose(t *testing.T, in *injector, f Fault) *Injection {
	t.Helper()
	kind, err := faultKind(f.Kind)
	if err != nil {
		t.Fatal(err)
	}
	i := &Injection{fault: f, kind: kind}
	in.add(i)
	return i
}

func command(words ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	return text
}

// Whatever the pieces, the server gets every byte but those of commands that
// are answered for it, and the client gets every byte of the server's, with the
// answers in the places of those commands.
func TestWireKeepsBytesAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := rapid.IntRange(0, 4).Draw(t, "every") // is answered with LOADING; 0 is none
		var sent, forwarded, replies, received string
		operations, hits := 0, 0
		for range rapid.IntRange(1, 12).Draw(t, "commands") {
			name := rapid.SampledFrom([]string{"evalsha", "GET", "Incr", "PING"}).Draw(t, "name")
			c := command(name, rapid.StringOfN(rapid.RuneFrom([]rune("a\r\n$*")), 0, 30, -1).Draw(t, "argument"))
			sent += c
			if name == "evalsha" || name == "Incr" {
				operations++
				if every > 0 && operations%every == 0 {
					hits++
					received += loadingReply
					continue
				}
			}
			forwarded += c
			reply := string(write(t, nil, 2))
			if reply[0] == '>' {
				reply += "+OK\r\n" // the push is unasked, and a reply must follow
			}
			replies += reply
			received += reply
		}
		w, in, server := wireTo(t)
		defer w.Close()
		i := &Injection{fault: Fault{Every: every}, kind: &loading}
		if every > 0 {
			in.add(i)
		}
		// Commands go out in pieces, all replies after them, in pieces, too.
		for rest := sent; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "written")
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got := make([]byte, len(forwarded))
		if _, err := io.ReadFull(server, got); err != nil || string(got) != forwarded {
			t.Fatalf("the server got %q, %v; want %q", got, err, forwarded)
		}
		go func() {
			for _, b := range pieces(replies) {
				_, _ = server.Write(b)
			}
		}()
		back := make([]byte, len(received))
		if _, err := io.ReadFull(w, back); err != nil || string(back) != received {
			t.Fatalf("the client got %q, %v; want %q", back, err, received)
		}
		if len(i.Hits()) != hits {
			t.Fatalf("%d hits, want %d", len(i.Hits()), hits)
		}
	})
}

func pieces(text string) (all [][]byte) {
	for n := 1; text != ""; n = n%7 + 1 {
		n := min(n, len(text))
		all = append(all, []byte(text[:n]))
		text = text[n:]
	}
	return all
}

// The fate of each command of one pipeline.
func TestWirePipeline(t *testing.T) {
	three := command("EVALSHA", "1") + command("EVALSHA", "2") + command("EVALSHA", "3")
	one := len(command("EVALSHA", "1"))
	for _, row := range []struct {
		name, kind    string
		wrote         bool // the client's write went well
		server, reads string
	}{
		{"lost: all run, the first reply arrives", "lost-reply", true, three, "+1\r\n"},
		{"answered: the others run", "loading", true, three[:one] + three[2*one:], "+1\r\n" + loadingReply + "+3\r\n"},
		{"reset: only the first is sent", "reset", false, three[:one], ""},
		{"torn: half of the second is sent, too", "partial", false, three[:one+one/2], ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, in, server := socketWireTo(t)
			i := impose(t, in, Fault{Kind: row.kind, Every: 2, Hits: 1})
			_, err := io.WriteString(w, three)
			if (err == nil) != row.wrote || err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("write: %v", err)
			}
			got := make([]byte, len(row.server))
			if _, err := io.ReadFull(server, got); err != nil || string(got) != row.server {
				t.Errorf("the server got %q, %v; want %q", got, err, row.server)
			}
			for n := 1; row.wrote && n <= 3; n++ {
				if n != 2 || row.kind != "loading" {
					_, _ = fmt.Fprintf(server, "+%d\r\n", n)
				}
			}
			read := make([]byte, len(row.reads))
			if _, err := io.ReadFull(w, read); err != nil || string(read) != row.reads {
				t.Errorf("read %q, %v", read, err)
			}
			if row.kind != "loading" {
				if _, err := w.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("then %v", err)
				}
				if _, err := w.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("then %v", err)
				}
				if n, err := server.Read(make([]byte, 1)); n > 0 || err == nil {
					t.Errorf("the server got %d bytes more, %v", n, err)
				}
			}
			if hits := i.Hits(); len(hits) != 1 || hits[0].Operation != 2 {
				t.Errorf("hits %v", hits)
			}
		})
	}
}

// A read that began before the command, as of clients that read and write at the
// same time, gets the injector's answer, and keeps its deadline.
func TestWireAnswersWaitingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in, server := wireTo(t)
		defer server.Close()
		defer w.Close()
		impose(t, in, Fault{Kind: "loading"})
		if err := w.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		read := make(chan string)
		go func() {
			b := make([]byte, len(loadingReply))
			_, _ = io.ReadFull(w, b)
			read <- string(b)
		}()
		synctest.Wait()
		if _, err := io.WriteString(w, command("EVAL", "return 1", "0")); err != nil {
			t.Fatal(err)
		}
		if text := <-read; text != loadingReply {
			t.Errorf("read %q", text)
		}
		began := time.Now()
		if _, err := w.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

// A held reply comes exactly when it is due, to a reader whose deadline is
// later, and one whose deadline was moved on meanwhile.
func TestWireHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, in, server := wireTo(t)
		defer server.Close()
		defer w.Close()
		impose(t, in, Fault{Kind: "latency", Delay: time.Minute})
		// Two in one pipeline are held together.
		if _, err := io.WriteString(w, command("INCR", "a")+command("INCR", "a")); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.ReadFull(server, make([]byte, 2*len(command("INCR", "a"))))
			time.Sleep(time.Second)
			_, _ = io.WriteString(server, ":1\r\n:2\r\n")
		}()
		began := time.Now()
		_ = w.SetReadDeadline(began.Add(2 * time.Second))
		go func() {
			time.Sleep(1500 * time.Millisecond)
			_ = w.SetReadDeadline(began.Add(30 * time.Second))
		}()
		b := make([]byte, 8)
		if _, err := w.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 30*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		_ = w.SetReadDeadline(time.Time{})
		if _, err := io.ReadFull(w, b); err != nil || string(b) != ":1\r\n:2\r\n" || time.Since(began) != 61*time.Second {
			t.Errorf("after %s: %q, %v", time.Since(began), b, err)
		}
	})
}

// What cannot be matched passes, for good, and nothing of it is hit.
func TestWireLetsOthersPass(t *testing.T) {
	for _, row := range []struct{ name, sent string }{
		{"inline commands", "PING\r\n" + command("EVAL", "1")},
		{"no command", "*0\r\n" + command("EVAL", "1")},
		{"cut off", command("SUBSCRIBE", "a") + "*2\r\n$3"},
		{"replies off", command("CLIENT", "reply", "off") + command("EVAL", "1")},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, in, server := wireTo(t)
			defer server.Close()
			defer w.Close()
			i := impose(t, in, Fault{Kind: "reset"})
			if _, err := io.WriteString(w, row.sent); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(row.sent))
			if _, err := io.ReadFull(server, got); err != nil || string(got) != row.sent {
				t.Errorf("the server got %q, %v", got, err)
			}
			const unframed = "anything\nat all"
			go func() { _, _ = io.WriteString(server, unframed) }()
			back := make([]byte, len(unframed))
			if _, err := io.ReadFull(w, back); err != nil || string(back) != unframed {
				t.Errorf("the client got %q, %v", back, err)
			}
			if hits := i.Hits(); len(hits) > 0 {
				t.Errorf("hit: %v", hits)
			}
		})
	}
}

// A server that talks nonsense is passed on, also when a reply was to be held.
func TestWireNonsenseReply(t *testing.T) {
	w, in, server := wireTo(t)
	defer server.Close()
	defer w.Close()
	impose(t, in, Fault{Kind: "lost-reply"})
	if _, err := io.WriteString(w, command("INCR", "a")); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = io.ReadFull(server, make([]byte, len(command("INCR", "a"))))
		_, _ = io.WriteString(server, "HTTP/1.1 400\r\n")
	}()
	b := make([]byte, 14)
	if _, err := io.ReadFull(w, b); err != nil || string(b) != "HTTP/1.1 400\r\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

// Pub/sub works through an injector, and a command longer than any buffer, and
// the client sees through it that a server has hung up.
func TestWireUnderClient(t *testing.T) {
	s := injectable(t, Managed, Options{})
	inject(t, s, Fault{Kind: "latency", Delay: time.Millisecond})
	ctx := t.Context()
	sub := s.Client().Subscribe(ctx, "news")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Client().Publish(ctx, "news", "x").Err(); err != nil {
		t.Fatal(err)
	}
	if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "x" {
		t.Errorf("got %v, %v", m, err)
	}
	long := strings.Repeat("v", 5<<20)
	if err := s.Client().Set(ctx, "long", long, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Client().Get(ctx, "long").Bytes(); err != nil || !bytes.Equal(got, []byte(long)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := s.Warm(ctx, 3); err != nil {
		t.Fatal(err)
	}
	if err := s.manager.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if err := s.Client().Get(ctx, "absent").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("a dead connection was used: %v", err)
		}
	}
}
