package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	batch      = 8192 // requests of a block
	recordSize = 24   // bytes of a request
	// mostInMemory is how many requests a tape holds in memory: 96 MiB of them.
	mostInMemory = 4 << 20
)

// Tape keeps requests that are in the order of their arrival, to be played many times in
// bounded memory. It has numbers of clients and routes, and no address. The first four
// million requests are in memory, the rest in a temporary file of 24 bytes each, which has
// no name where the system allows that, and so is gone after a crash too.
//
// Requests are added by one goroutine; after the last was added, any number may play.
// Close it when nobody plays any more.
type Tape struct {
	dir    string
	most   int      // requests in memory
	blocks [][]byte // in memory, all full
	tail   []byte   // the last block, not yet full
	starts []int64  // of all blocks: when the first request arrived
	file   storage
	path   string // of a file that still has a name
	n      int64
	last   int64 // when the last request arrived
	err    error // after which there is no more to be had
}

// storage is a file of blocks.
type storage interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// ErrClosed is of a tape that was closed.
var ErrClosed = errors.New("the tape is closed")

// NewTape is an empty one. Its file, if it needs one, will be in a directory; "" is that of
// the system for temporary files.
func NewTape(dir string) (*Tape, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory")
	}
	if err != nil {
		return nil, fmt.Errorf("keep requests in %s: %w", dir, err)
	}
	return &Tape{dir: dir, most: mostInMemory}, nil
}

// Len is how many requests there are.
func (t *Tape) Len() int64 { return t.n }

// Add takes one more request, which arrived no earlier than the one before. After an error
// from the file no more can be added; what was added before can be played.
func (t *Tape) Add(q Request) error {
	switch {
	case t.err != nil:
		return t.err
	case t.n > 0 && q.At < t.last:
		return fmt.Errorf("request %d of a tape arrived %d µs before the one that was added last", t.n+1, t.last-q.At)
	case q.Line < 0 || q.Line >= 1<<48:
		return fmt.Errorf("request %d of a tape is in line %d", t.n+1, q.Line)
	}
	if len(t.tail) == batch*recordSize {
		if err := t.keep(); err != nil {
			t.err = err
			return err
		}
	}
	if len(t.tail) == 0 {
		t.starts = append(t.starts, q.At)
	}
	t.tail = binary.LittleEndian.AppendUint64(t.tail, uint64(q.At))
	t.tail = binary.LittleEndian.AppendUint64(t.tail, uint64(q.Line)<<16|uint64(q.Status))
	t.tail = binary.LittleEndian.AppendUint32(t.tail, q.Client)
	t.tail = binary.LittleEndian.AppendUint32(t.tail, q.Route)
	t.n++
	t.last = q.At
	return nil
}

// keep puts a full block where it stays.
func (t *Tape) keep() error {
	if (len(t.blocks)+1)*batch <= t.most {
		t.blocks = append(t.blocks, t.tail)
		t.tail = make([]byte, 0, batch*recordSize)
		return nil
	}
	if t.file == nil {
		if err := t.create(); err != nil {
			return fmt.Errorf("keep more than %d requests in a file in %s: %w", t.n, t.dir, err)
		}
	}
	at := int64(len(t.starts)-1-len(t.blocks)) * batch * recordSize
	if _, err := t.file.WriteAt(t.tail, at); err != nil {
		return fmt.Errorf("write requests %d to %d to a file in %s, after %d bytes: %w", t.n-batch+1, t.n, t.dir, at, err)
	}
	t.tail = t.tail[:0]
	return nil
}

// create opens the file, and takes its name away.
func (t *Tape) create() error {
	f, err := os.CreateTemp(t.dir, "rlbench-*.tape")
	if err != nil {
		return err
	}
	t.file = f
	if os.Remove(f.Name()) != nil {
		t.path = f.Name() // Windows removes no file that is open
	}
	return nil
}

// Close gives up memory and file. A second time it does nothing.
func (t *Tape) Close() error {
	var errs []error
	if t.file != nil {
		errs = append(errs, t.file.Close())
	}
	if t.path != "" {
		errs = append(errs, os.Remove(t.path))
	}
	*t = Tape{dir: t.dir, err: ErrClosed}
	return errors.Join(errs...)
}
