package backend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func testUnstickNothing(t *testing.T, s *Server) {
	do(t, s, []any{"SET", "kept", 1})
	if remedy, err := s.Unstick(t.Context()); remedy != RemedyNone || err != nil {
		t.Errorf("got %q, %v", remedy, err)
	}
	if n := s.Client().Exists(t.Context(), "kept").Val(); n != 1 {
		t.Error("the data is gone")
	}
}

// The embedded server cannot interrupt a script, but nothing else waits for it.
// It runs in a process of its own, as the script lasts as long as that.
func TestUnstickEmbedded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patient)
	defer cancel()
	stuck := exec.CommandContext(ctx, os.Args[0])
	stuck.Env = append(os.Environ(), asHelper+"=stuck")
	out, err := stuck.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{
		"unstick: none, unsupported true, hint true",
		"inspect: timeout true",
		"warm: timeout true",
		"close: close embedded Redis: a script still runs",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// hangEmbedded does everything to an embedded server that hangs in a script,
// and prints what came of it.
func hangEmbedded() {
	ctx := context.Background()
	s, err := Open(ctx, "embedded", Options{Timeout: 200 * time.Millisecond, PoolSize: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("eval:", s.Client().Eval(ctx, "while true do end", nil).Err())
	remedy, err := s.Unstick(ctx)
	e, _ := errors.AsType[*StuckError](err)
	fmt.Printf("unstick: %s, unsupported %t, hint %t\n", remedy, errors.Is(err, errors.ErrUnsupported), e != nil && e.Hint != "")
	_, err = s.Inspect(ctx, []string{"a"})
	fmt.Printf("inspect: timeout %t %v\n", isTimeout(err), err)
	err = s.Warm(ctx, 2)
	fmt.Printf("warm: timeout %t %v\n", isTimeout(err), err)
	fmt.Println("close:", s.Close())
}

// mutable is a server that answers PING and SCRIPT until it is told to hush, or
// to answer otherwise.
type mutable struct {
	ping, kill atomic.Pointer[string] // "" says nothing
	killed     func()                 // after SCRIPT was answered
	addr       string
}

func newMutable(t *testing.T) *mutable {
	t.Helper()
	m := &mutable{killed: func() {}}
	m.set("+PONG", "-NOTBUSY No scripts in execution right now.")
	m.addr = serve(t, func(c net.Conn) {
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			reply := ""
			switch strings.ToLower(lines.Text()) {
			case "hello":
				reply = "-ERR unknown command 'HELLO'"
			case "ping":
				reply = *m.ping.Load()
			case "script":
				reply = *m.kill.Load()
			}
			if reply != "" {
				fmt.Fprintf(c, "%s\r\n", reply)
			}
			if strings.EqualFold(lines.Text(), "script") {
				m.killed()
			}
		}
	})
	return m
}

func (m *mutable) set(ping, kill string) { m.ping.Store(&ping); m.kill.Store(&kill) }

// What a live server may answer, and what is made of it.
func TestUnstickLiveAnswers(t *testing.T) {
	const busy = "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	m := newMutable(t)
	s := open(t, "redis://"+m.addr, Options{Timeout: time.Second})
	cli := "redis-cli -u redis://" + m.addr
	for _, row := range []struct {
		name, ping, kill string
		patience         time.Duration
		want, hint       string
	}{
		{"written", busy, "-UNKILLABLE Sorry.", patient, "the script has written", cli + " shutdown nosave"},
		{"may not kill", busy, "-NOPERM this user has no permissions", patient, "refuses SCRIPT KILL: NOPERM", cli + " script kill"},
		{"runs a function", busy, busy, 200 * time.Millisecond, "not even to SCRIPT KILL", cli + " script kill"},
		{"kills and stays busy", busy, "+OK", 200 * time.Millisecond, "not even to SCRIPT KILL", cli + " script kill"},
		{"silent", "", "", 200 * time.Millisecond, "not even to SCRIPT KILL", cli + " script kill"},
		{"another refusal", "-LOADING Redis is loading the dataset in memory", "+OK", patient, "free Redis from a script: LOADING", ""},
	} {
		m.set(row.ping, row.kill)
		s.patience = row.patience
		remedy, err := s.Unstick(t.Context())
		if remedy != RemedyNone || err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %q, %v", row.name, remedy, err)
		}
		e, ok := errors.AsType[*StuckError](err)
		if ok != (row.hint != "") || ok && !strings.Contains(e.Hint, row.hint) {
			t.Errorf("%s: %#v, want the hint %q", row.name, err, row.hint)
		}
	}
	// One slow answer is no script.
	m.set("+PONG", "-NOTBUSY No scripts in execution right now.")
	if remedy, err := s.Unstick(t.Context()); remedy != RemedyNone || err != nil {
		t.Errorf("awake again: %q, %v", remedy, err)
	}
}

// A script that has not had its time: the server answers nothing, until it
// comes to read SCRIPT KILL.
func TestUnstickYoungScript(t *testing.T) {
	m := newMutable(t)
	s := open(t, "redis://"+m.addr, Options{Timeout: time.Second})
	m.killed = func() { m.set("+PONG", "-NOTBUSY") }
	m.set("", "+OK")
	s.patience = patient
	if remedy, err := s.Unstick(t.Context()); remedy != RemedyKilled || err != nil {
		t.Errorf("got %q, %v", remedy, err)
	}
}

// Whoever waits can give up, and Close ends the wait.
func TestUnstickGivesUp(t *testing.T) {
	m := newMutable(t)
	s := open(t, "redis://"+m.addr, Options{})
	m.set("", "")
	s.patience = time.Hour

	gone := errors.New("gone")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, gone)
	defer cancel()
	if remedy, err := s.Unstick(ctx); remedy != RemedyNone || !errors.Is(err, gone) {
		t.Errorf("got %q, %v", remedy, err)
	}

	first, second := make(chan error, 1), make(chan error, 1)
	for _, ended := range []chan error{first, second} { // one of them waits for the other
		go func() {
			_, err := s.Unstick(t.Context())
			ended <- err
		}()
	}
	eventually(t, "one of them is asking", func() bool { return len(s.governing) == 1 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{<-first, <-second} {
		if !errors.Is(err, redis.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// A dial that comes too late does not bring the emulator back.
func TestEmbeddedDialAfterClose(t *testing.T) {
	s := open(t, "embedded", Options{})
	dial := s.Client().Options().Dialer
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := dial(t.Context(), "tcp", "embedded")
	if err == nil {
		_, err = conn.Write([]byte("PING\r\n")) // tuned clients dial now
	}
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
