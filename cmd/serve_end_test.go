package cmd

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// gate passes bytes on to a Redis, until it is shut: then it says that something
// arrived, and keeps it until it is opened.
type gate struct {
	listener net.Listener
	network  string
	redis    string
	arrived  chan struct{} // once something was held
	open     chan struct{} // closed: everything passes

	mu    sync.Mutex
	shut  bool
	conns []net.Conn
}

func newGate(t *testing.T, network, redis string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{listener: l, network: network, redis: redis, arrived: make(chan struct{}, 1), open: make(chan struct{})}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, err := net.Dial(network, redis)
			if err != nil {
				c.Close()
				continue
			}
			g.mu.Lock()
			g.conns = append(g.conns, c, r)
			g.mu.Unlock()
			all.Go(func() { g.pass(r, c, true) })
			all.Go(func() { g.pass(c, r, false) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		g.release()
		g.mu.Lock()
		for _, c := range g.conns {
			c.Close()
		}
		g.mu.Unlock()
		all.Wait()
	})
	return g
}

func (g *gate) pass(to, from net.Conn, held bool) {
	defer to.Close()
	for b := make([]byte, 4096); ; {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if held && shut {
			select {
			case g.arrived <- struct{}{}:
			default:
			}
			<-g.open
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// underWay starts a program with a request that waits for Redis, interrupts the
// program, and returns when it takes no connections any more.
func underWay(t *testing.T) (*serving, *gate, <-chan reply) {
	t.Helper()
	g := newGate(t, "unix", strings.TrimPrefix(specOf(t, "live"), "unix://"))
	s := serve(t, "--redis", "redis://"+g.listener.Addr().String(), "--timeout", "1m")
	g.close()
	answer := make(chan reply, 1)
	go func() {
		defer close(answer)
		if r, err := s.try(search, ""); err == nil {
			answer <- r
		}
	}()
	<-g.arrived
	s.interrupt(t)
	eventually(t, "nobody listens", func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	return s, g, answer
}

// What is under way when the interrupt comes is finished.
func TestServeFinishesWhatItBegan(t *testing.T) {
	s, g, answer := underWay(t)
	g.release()
	if r, ok := <-answer; !ok || r.status != http.StatusOK || !strings.Contains(r.body, `"videos"`) {
		t.Errorf("answered %d %q", r.status, r.body)
	}
	if code := s.wait(t); code != exitOK {
		t.Errorf("exit %d\n%s", code, s.errs.String())
	}
}

// Who interrupts twice does not wait: Redis never answers here.
func TestServeSecondInterruptEnds(t *testing.T) {
	s, _, answer := underWay(t)
	s.interrupt(t)
	if code := s.wait(t); code != exitInterrupt {
		t.Errorf("exit %d\n%s", code, s.errs.String())
	}
	if r, ok := <-answer; ok && r.status == http.StatusOK {
		t.Error("answered all the same")
	}
}

// Two interrupts before anybody waits for the second are two all the same.
func TestServeTwoInterruptsAtOnce(t *testing.T) {
	signals := make(chan os.Signal, 2)
	a := &app{Host: Host{Signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}}
	stop := a.watchSignals()
	defer stop.stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked, gone := make(chan struct{}), make(chan error, 1)
	server := newServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}), slog.New(slog.DiscardHandler))
	go func() {
		_, err := http.Get("http://" + l.Addr().String())
		gone <- err
	}()
	ended := make(chan error, 1)
	starts := make(chan struct{})
	go func() {
		<-starts
		ended <- answer(stop, l, server)
	}()
	go func() { _ = server.Serve(l) }() // until answer does
	<-asked
	signals <- os.Interrupt
	signals <- os.Interrupt
	eventually(t, "both have come", stop.twice)
	close(starts)
	eventually(t, "nothing is waited for", func() bool { return len(ended) == 1 })
	<-gone
	http.DefaultClient.CloseIdleConnections()
}

// SIGTERM is how services are ended.
func TestServeEndsByTerm(t *testing.T) {
	s := serve(t, "--redis", "embedded")
	if err := s.program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != exitOK {
		t.Errorf("exit %d\n%s", code, s.errs.String())
	}
}

// A port that is taken is a mistake of the command line, whose hint works.
func TestServePortInUse(t *testing.T) {
	s := serve(t, "--redis", "embedded")
	address := strings.TrimPrefix(s.url, "http://")
	var out, errs bytes.Buffer
	c := exec.Command("rlbench", "serve", "--redis", "embedded", "--videos", "50", "--listen", address)
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run()
	if code := c.ProcessState.ExitCode(); code != exitUsage || out.Len() > 0 {
		t.Errorf("exit %d, printed %q", code, out.String())
	}
	if want := "hint: rlbench serve --listen 127.0.0.1:0\n"; !strings.HasPrefix(errs.String(), "rlbench: error: listen at "+address+": ") || !strings.HasSuffix(errs.String(), want) {
		t.Errorf("stderr is %q", errs.String())
	}
	serve(t, "--redis", "embedded", "--listen", "127.0.0.1:0")
}

// A handler that panics is logged, and who asked it is not.
func TestServeComplainsWithoutAddresses(t *testing.T) {
	var text transcript
	server := httptest.NewUnstartedServer(nil)
	server.Config = newServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }),
		slog.New(slog.NewTextHandler(&text, nil)))
	server.Start()
	if _, err := server.Client().Get(server.URL); err == nil {
		t.Error("it answered")
	}
	server.Close()
	if got := text.String(); !strings.Contains(got, "panic serving a client: boom") || ourAddresses.MatchString(got) {
		t.Errorf("logged %q", got)
	}
}

// A key file is made for its owner alone, and names clients as before in the next
// process: budgets go on. Without it they begin afresh.
func TestServeKeyFile(t *testing.T) {
	t.Parallel()
	redis := specOf(t, "live")
	file := t.TempDir() + "/key"
	args := []string{"--redis", redis, "--window", calm(), "--trust", "127.0.0.1/32", "--key-file", file}
	s := serve(t, args...)
	if ok := len(with(200, s.burst(t, 7, search, clientAddress(1)))); ok != 7 {
		t.Fatalf("%d admitted", ok)
	}
	s.stop(t)
	made, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	s = serve(t, args...)
	if ok := len(with(200, s.burst(t, 15, search, clientAddress(1)))); ok != 3 {
		t.Errorf("%d admitted, 3 are left", ok)
	}
	s.stop(t)
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(made, again) {
		t.Errorf("the key file changed (%v)", err)
	}
	for _, line := range strings.Fields(string(made)) {
		if len(line) > 20 && strings.Contains(s.errs.String(), line) {
			t.Error("stderr has the key")
		}
	}
	s = serve(t, args[:len(args)-2]...)
	if ok := len(with(200, s.burst(t, 15, search, clientAddress(1)))); ok != 10 {
		t.Errorf("%d admitted with another key", ok)
	}
}
