package backend

import (
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// Read returns what may be read, and waits for it until the deadline. Replies
// that arrive together are held together.
func (w *wire) Read(b []byte) (int, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	for len(b) > 0 {
		if w.ready == 0 && w.due.IsZero() && !w.isBroken() {
			w.admit()
		}
		switch {
		case w.ready > 0:
			n := copy(b, w.raw[:w.ready])
			w.raw = append(w.raw[:0], w.raw[n:]...)
			w.ready -= n
			w.framed -= n
			return n, nil
		case w.isBroken():
			return 0, w.failure("read", syscall.ECONNRESET)
		case !w.due.IsZero():
			if err := w.hold(); err != nil {
				return 0, err
			}
			w.due, w.ready = time.Time{}, w.framed
		default:
			n, err := w.receive(b)
			w.raw = append(w.raw, b[:n]...)
			w.arrived = time.Now()
			if n == 0 && err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// admit finds out what of raw may be read, up to a reply that is to be held.
func (w *wire) admit() {
	for w.due.IsZero() {
		if w.isOpaque() {
			w.framed, w.ready = len(w.raw), len(w.raw)
			return
		}
		if w.replies.between() && !w.begin() {
			return
		}
		n, ended, err := w.replies.next(w.raw[w.framed:])
		if err != nil {
			w.giveUp()
			continue
		}
		w.framed += n
		through := w.current.action == pass && w.current.delay == 0
		if through {
			w.ready = w.framed
		}
		if !ended {
			return
		}
		if w.matched {
			w.expectNext()
		}
		switch {
		case w.current.action == lose:
			w.raw, w.framed = w.raw[:w.ready], w.ready
			w.cut()
			return
		case !through:
			w.due = w.arrived.Add(w.current.delay)
		}
	}
}

// begin chooses the verdict on the reply that comes next, and writes it if it is
// an answer of the injector. It is false if there is nothing to go on with.
func (w *wire) begin() bool {
	w.current, w.matched = w.expecting()
	if w.current.action == answer {
		w.raw = slices.Insert(w.raw, w.framed, []byte(w.current.reply)...)
		if w.current.delay > 0 {
			w.arrived = time.Now()
		}
		w.current.action = pass
		return true
	}
	if w.framed == len(w.raw) {
		return false
	}
	if w.raw[w.framed] == '>' { // a push of RESP3 is no reply
		w.current, w.matched = verdict{}, false
	}
	return true
}

// hold waits until the reply is due, and no longer than the deadline.
func (w *wire) hold() error {
	for {
		until, late := w.due, false
		if deadline := w.readDeadline(); !deadline.IsZero() && deadline.Before(until) {
			until, late = deadline, true
		}
		timer := time.NewTimer(time.Until(until))
		select {
		case <-timer.C:
			if late {
				return w.failure("read", os.ErrDeadlineExceeded)
			}
			return nil
		case <-w.wake:
			timer.Stop()
		case <-w.closed:
			timer.Stop()
			if w.isBroken() {
				return w.failure("read", syscall.ECONNRESET)
			}
			return w.failure("read", net.ErrClosed)
		}
	}
}

// receive reads from the server, unless the next reply is not the server's. It
// returns nothing if it has been poked.
func (w *wire) receive(b []byte) (int, error) {
	w.mu.Lock()
	if w.replies.between() && len(w.expected) > 0 && w.expected[0].action == answer {
		w.mu.Unlock()
		return 0, nil
	}
	w.blocked = true
	w.mu.Unlock()

	n, err := w.Conn.Read(b)

	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocked = false
	if w.poked {
		w.poked = false
		_ = w.Conn.SetReadDeadline(w.deadline)
		if isTimeout(err) {
			err = nil
		}
	}
	if err != nil && w.broken {
		err = w.failure("read", syscall.ECONNRESET)
	}
	return n, err
}
