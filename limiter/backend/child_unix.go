//go:build unix

package backend

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// guard is the shell program that keeps a private server. It ends the server,
// also a stopped one, and removes its directory when the pipe that is its
// standard input closes: we close it, or the kernel does when we are gone, even
// after SIGKILL. Each line that comes before is one more directory to remove.
//
// Only the server holds the log pipe open, so its end is the server's end.
// Signals that are meant for us do not end the guard, but it must not ignore
// them before the server has started, or the server would too.
const guard = `
dir=$1; shift
"$@" </dev/null &
exec >/dev/null 2>&1
trap '' HUP INT TERM
set -- "$dir"
while IFS= read -r dir; do set -- "$@" "$dir"; done
kill -9 $!
wait
rm -rf "$@"
`

// child is a private server and the shell that guards it.
type child struct {
	socket string
	dir    string
	shell  *exec.Cmd
	leash  io.WriteCloser // the guard's standard input
	output *os.File       // of the server
	log    tail           // the end of output; complete once gone is closed
	gone   chan struct{}
}

// startChild starts a server that keeps everything in memory and listens on a
// socket in a directory of its own.
func startChild(binary string, config []string) (*child, error) {
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	return startChildIn(dir, binary, config)
}

// scriptLimit is how long a script may keep a server from saying BUSY, and from
// listening to SCRIPT KILL, in milliseconds.
const scriptLimit = "250"

// startChildIn starts it in that directory, which goes with it, also if it does
// not start. It passes only what Redis 6 to 8 and Valkey all know; after version
// 6, lua-time-limit is another name of busy-reply-threshold.
func startChildIn(dir, binary string, config []string) (*child, error) {
	c := &child{dir: dir, socket: filepath.Join(dir, socketName), gone: make(chan struct{})}
	args := []string{
		"-c", guard, "rlbench-guard", dir,
		binary, "--port", "0", "--unixsocket", c.socket, "--unixsocketperm", "700",
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", dir, "--logfile", "",
		"--lua-time-limit", scriptLimit, "--repl-diskless-sync-delay", "0",
	}
	c.shell = exec.Command("/bin/sh", append(args, config...)...)
	// A group of its own: Ctrl-C in the terminal is for us, and we may want to
	// finish what is under way.
	c.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *child) start() error {
	output, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	c.output = output
	c.shell.Stdout, c.shell.Stderr = w, w
	if c.leash, err = c.shell.StdinPipe(); err == nil {
		err = c.shell.Start()
	}
	if err != nil {
		return errors.Join(err, output.Close())
	}
	go func() {
		_, _ = io.Copy(&c.log, output)
		close(c.gone) // also keeps c, and so the leash, from being collected
	}()
	return nil
}

// stop ends the server and leaves nothing behind.
func (c *child) stop() error {
	_ = c.leash.Close()
	if err := c.shell.Wait(); err != nil {
		// The guard did not get to its end, so the server may live.
		_ = syscall.Kill(-c.shell.Process.Pid, syscall.SIGKILL)
	}
	// The rest of the log, unless a process that the server started holds it.
	_ = c.output.SetReadDeadline(time.Now().Add(time.Second))
	<-c.gone
	return errors.Join(c.output.Close(), os.RemoveAll(c.dir))
}

// move makes dir, which must not exist, the directory of the child. The socket
// moves with it, and stays open.
func (c *child) move(dir string) error {
	if strings.Contains(dir, "\n") {
		return fmt.Errorf("%q: has a line break", dir)
	}
	// First, so that the guard misses none if we end here.
	if _, err := io.WriteString(c.leash, dir+"\n"); err != nil {
		return fmt.Errorf("tell the guard: %w", err)
	}
	if err := os.Rename(c.dir, dir); err != nil {
		return err
	}
	c.dir, c.socket = dir, filepath.Join(dir, socketName)
	return nil
}

const (
	socketName = "redis.sock"
	socketMax  = 103 // bytes that the path of a socket may have: 107 on Linux, 103 on macOS
)

// socketDir makes a directory whose name is short enough for a socket.
func socketDir() (string, error) {
	var errs []error
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		parent, err := filepath.Abs(parent)
		if err != nil {
			return "", err
		}
		dir, err := os.MkdirTemp(parent, "rlbench-")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(filepath.Join(dir, socketName)) <= socketMax {
			return dir, nil
		}
		errs = append(errs, fmt.Errorf("%s: too long for a socket", dir), os.Remove(dir))
	}
	return "", errors.Join(errs...)
}

// tail is a writer that keeps the end of what is written.
type tail struct{ kept []byte }

const tailMax = 4096 // bytes

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if excess := len(t.kept) - tailMax; excess > 0 {
		t.kept = append(t.kept[:0], t.kept[excess:]...)
	}
	return len(b), nil
}

// quote returns the last lines, ready to follow a message.
func (t *tail) quote() string {
	text := strings.TrimSpace(string(t.kept))
	if text == "" {
		return "; it wrote no log"
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-6):]
	return "; its log ends:\n" + strings.Join(lines, "\n")
}
