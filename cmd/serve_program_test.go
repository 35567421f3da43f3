package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// serving is a program "rlbench serve" that runs.
type serving struct {
	url    string
	tmp    string // its temporary files, and nobody else's
	client *http.Client

	program *exec.Cmd
	out     *bufio.Reader
	errs    transcript
	ended   bool
}

// transcript is what a program writes while others read it.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *transcript) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *transcript) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// startLine is all that serve writes to stdout: it is the result, for whoever
// starts it with port 0.
var startLine = regexp.MustCompile(`^serving (http://127\.0\.0\.1:\d+)/api/v1/trending with [\w-]+ on \w+ Redis; on failure \w+\n$`)

// serve starts the program on a free port. At the end it is interrupted, has to
// end with 0, and must have left nothing.
func serve(t *testing.T, args ...string) *serving {
	t.Helper()
	tmp, err := os.MkdirTemp("/tmp", "rl") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	s := &serving{tmp: tmp, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	s.program = exec.Command("rlbench", append([]string{"serve", "--listen", "127.0.0.1:0", "--videos", "50", "--timeout", "30s"}, args...)...)
	s.program.Env = append(os.Environ(), "TMPDIR="+tmp)
	s.program.Stderr = &s.errs
	out, err := s.program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(t) })
	s.out = bufio.NewReader(out)
	line, _ := s.out.ReadString('\n')
	m := startLine.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("%v printed %q\n%s", args, line, s.errs.String())
	}
	s.url = m[1]
	return s
}

// stop interrupts the program if nobody has, and looks at what it left.
func (s *serving) stop(t *testing.T) {
	t.Helper()
	if s.ended {
		return
	}
	s.interrupt(t)
	if code := s.wait(t); code != exitOK && !t.Failed() {
		t.Errorf("exit %d\n%s", code, s.errs.String())
	}
}

func (s *serving) interrupt(t *testing.T) {
	t.Helper()
	if err := s.program.Process.Signal(os.Interrupt); err != nil && !t.Failed() {
		t.Error(err)
	}
}

// wait is for the end of the program, whose exit code it returns.
func (s *serving) wait(t *testing.T) int {
	t.Helper()
	s.ended = true
	rest, _ := io.ReadAll(s.out)
	var exit *exec.ExitError
	if err := s.program.Wait(); err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}
	s.client.CloseIdleConnections()
	if len(rest) > 0 {
		t.Errorf("more on stdout: %q", rest)
	}
	if who := ourAddresses.FindString(toRedis.ReplaceAllString(s.errs.String(), "")); who != "" {
		t.Errorf("stderr names %s\n%s", who, s.errs.String())
	}
	eventually(t, "temporary files are gone", func() bool {
		left, _ := filepath.Glob(filepath.Join(s.tmp, "*"))
		return len(left) == 0
	})
	eventually(t, "no child is left", func() bool { return !runs(s.tmp) })
	return s.program.ProcessState.ExitCode()
}

// ourAddresses is what the addresses of these tests look like, and of this machine.
var ourAddresses = regexp.MustCompile(`198\.51\.100\.\d+|2001:db8[0-9a-f:]*|127\.0\.0\.1|::1|AAAA`)

// toRedis is how errors name the connection to Redis, which is nobody's identity.
var toRedis = regexp.MustCompile(`(dial|read|write) tcp [0-9.:>-]+`)

// runs reports whether a process has a word in its command line, where the system
// tells it.
func runs(word string) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), word) {
			return true
		}
	}
	return false
}

// client is the address of one of many clients.
func clientAddress(n int) string { return fmt.Sprintf("198.51.100.%d", n) }

// reply is an answer of the program.
type reply struct {
	status int
	header http.Header
	body   string
}

// get asks for a path in the name of an address; "" says nothing of one.
func (s *serving) get(t *testing.T, path, address string) reply {
	t.Helper()
	r, err := s.try(path, address)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *serving) try(path, address string) (reply, error) {
	request, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		return reply{}, err
	}
	if address != "" {
		request.Header.Set("X-Forwarded-For", address)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(body)}, err
}

// burst asks n times, eight at once.
func (s *serving) burst(t *testing.T, n int, path, address string) []reply {
	t.Helper()
	replies := make([]reply, n)
	var taken atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := int(taken.Add(1)) - 1; i < n; i = int(taken.Add(1)) - 1 {
				var err error
				if replies[i], err = s.try(path, address); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	return replies
}

// with are the replies with a status.
func with(status int, replies []reply) []reply {
	var some []reply
	for _, r := range replies {
		if r.status == status {
			some = append(some, r)
		}
	}
	return some
}

// calm is a window, as an argument, whose next edge is far away: budgets do not
// begin afresh while a test runs.
func calm() string {
	window := 240 * time.Hour
	for time.Until(time.Now().Truncate(window).Add(window)) < time.Hour {
		window -= time.Hour
	}
	return window.String()
}

// kill ends a child at once.
func kill(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	_ = c.Wait() // it was killed
}
