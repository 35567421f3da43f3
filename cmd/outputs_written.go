package cmd

import (
	"errors"
	"io"
	"sync"
	"syscall"
)

// remembering is a place that is written to, whose first failure is not lost, whoever
// ignored it. That nobody reads any more is none: what else there is to do is done, and ends
// as it would.
type remembering struct {
	w      io.Writer
	mutex  sync.Mutex // progress and warnings meet on stderr
	err    error
	unread bool
	n      int64 // bytes that were taken
}

func (r *remembering) Write(b []byte) (int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.unread {
		return len(b), nil
	}
	n, err := r.w.Write(b)
	r.n += int64(n)
	if errors.Is(err, syscall.EPIPE) {
		r.unread = true
		return len(b), nil
	}
	if err != nil && r.err == nil {
		r.err = err
	}
	return n, err
}

// bare is a stream as it was before its failures were remembered: what draws on a terminal
// has to know that it is one.
func bare(w io.Writer) io.Writer {
	if r, ok := w.(*remembering); ok {
		return r.w
	}
	return w
}
