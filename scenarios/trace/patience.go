package trace

import (
	"errors"
	"io"
	"os"
)

// ErrStopped is of a log that was not waited for any longer.
var ErrStopped = errors.New("stopped waiting for the log")

// opened opens a file; a pipe until somebody writes to it, or done.
func opened(name string, done <-chan struct{}) (io.ReadCloser, error) {
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() || done == nil {
		return os.Open(name) // whose error has the name
	}
	type result struct {
		file *os.File
		err  error
	}
	results := make(chan result, 1)
	go func() {
		f, err := os.Open(name)
		results <- result{f, err}
	}()
	select {
	case r := <-results:
		if r.err != nil {
			return nil, r.err
		}
		return patient(r.file, done), nil
	case <-done:
		return nil, ErrStopped // the file is left to the end of the program, as is who waits for it
	}
}

// patient reads until done, whoever may keep it waiting; then it is ErrStopped. Without done
// it is the file itself.
func patient(file io.ReadCloser, done <-chan struct{}) io.ReadCloser {
	if done == nil {
		return file
	}
	p := &waiting{ReadCloser: file, done: done, wants: make(chan []byte), got: make(chan got, 1)}
	go p.read()
	return p
}

// waiting is a file that another goroutine reads, into a buffer of its own.
type waiting struct {
	io.ReadCloser
	done  <-chan struct{}
	wants chan []byte
	got   chan got
	own   []byte
	ended bool // nothing is read any more
	shut  bool
}

type got struct {
	n   int
	err error
}

func (w *waiting) read() {
	for b := range w.wants {
		n, err := w.ReadCloser.Read(b)
		w.got <- got{n, err}
	}
}

func (w *waiting) Read(b []byte) (int, error) {
	if w.ended {
		return 0, ErrStopped
	}
	if len(w.own) < len(b) {
		w.own = make([]byte, len(b))
	}
	select {
	case w.wants <- w.own[:len(b)]:
	case <-w.done:
		w.ended = true
		return 0, ErrStopped
	}
	select {
	case r := <-w.got:
		return copy(b, w.own[:r.n]), r.err
	case <-w.done: // what may still be read goes into a buffer that nobody looks at
		w.ended = true
		return 0, ErrStopped
	}
}

func (w *waiting) Close() error {
	if !w.shut {
		w.shut = true
		close(w.wants)
	}
	return w.ReadCloser.Close()
}
