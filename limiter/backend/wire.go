package backend

import (
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// wire is a connection to which an injector does faults. It finds the commands
// in what is written and passes on whole ones only, so that each can be decided
// on, and matches replies to them by counting.
//
// If it cannot make out commands or replies, it lets everything pass, for good.
// Reading and writing at the same time is fine, as on every net.Conn.
type wire struct {
	net.Conn
	injector *injector
	number   int // counted from 1

	writing    sync.Mutex // guards what follows, and is held while writing
	commands   framer
	pending    []byte // the beginning of a command
	operations int
	multi      bool // between MULTI and EXEC

	reading sync.Mutex // guards what follows, and is held while reading
	replies framer
	raw     []byte    // has arrived and is not read yet
	framed  int       // bytes of raw that replies has seen
	ready   int       // bytes of raw that may be read
	current verdict   // on the reply that raw[:framed] ends in
	matched bool      // current is from a command, not for something unasked
	arrived time.Time // when the last bytes came
	due     time.Time // when raw[:framed] may be read; zero if nothing is held

	mu       sync.Mutex // guards what follows; nothing waits under it
	expected []verdict  // one for each command whose reply has not begun
	opaque   bool       // commands and replies cannot be matched
	broken   bool       // by a fault
	deadline time.Time  // for reads
	blocked  bool       // a read waits for the server
	poked    bool       // and has been told to stop waiting

	wake   chan struct{} // the deadline has changed
	closed chan struct{}
	once   sync.Once
}

// socketWire is a wire over a socket that its user may look into.
type socketWire struct {
	*wire
	socket syscall.Conn
}

func (w *socketWire) SyscallConn() (syscall.RawConn, error) { return w.socket.SyscallConn() }

// Close closes the connection, and ends reads.
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	err := w.Conn.Close()
	if w.isBroken() {
		return nil
	}
	return err
}

// cut breaks the connection as if the network had. The server sees a reset,
// where the protocol has one.
func (w *wire) cut() {
	w.mu.Lock()
	w.broken = true
	w.mu.Unlock()
	inner := w.Conn
	if secure, ok := inner.(interface{ NetConn() net.Conn }); ok {
		inner = secure.NetConn()
	}
	if tcp, ok := inner.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = inner.Close()
	w.once.Do(func() { close(w.closed) })
}

func (w *wire) isBroken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// failure is the error of a read or write that ended for that reason.
func (w *wire) failure(op string, err error) error {
	if number, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, number)
	}
	local := w.LocalAddr()
	return &net.OpError{Op: op, Net: local.Network(), Source: local, Addr: w.RemoteAddr(), Err: err}
}

// expect queues the verdict on a reply, and wakes a read if no server will.
func (w *wire) expect(v verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opaque {
		return
	}
	w.expected = append(w.expected, v)
	if v.action == answer && w.blocked && !w.poked {
		w.poked = true
		_ = w.Conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// expecting is the verdict on the reply that comes next, if one is expected.
func (w *wire) expecting() (v verdict, any bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.expected) == 0 {
		return verdict{}, false
	}
	return w.expected[0], true
}

func (w *wire) expectNext() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.expected) > 0 { // it may have turned opaque meanwhile
		w.expected = slices.Delete(w.expected, 0, 1)
	}
}

// giveUp lets everything pass from now on.
func (w *wire) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opaque, w.expected = true, nil
}

func (w *wire) isOpaque() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opaque
}

// SetDeadline sets the deadline of reads and writes.
func (w *wire) SetDeadline(t time.Time) error {
	if err := w.Conn.SetWriteDeadline(t); err != nil {
		return err
	}
	return w.SetReadDeadline(t)
}

// SetReadDeadline sets the deadline of reads.
func (w *wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = t
	select {
	case w.wake <- struct{}{}:
	default:
	}
	if w.poked {
		return nil // the read that has been poked sets it
	}
	return w.Conn.SetReadDeadline(t)
}

func (w *wire) readDeadline() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deadline
}
