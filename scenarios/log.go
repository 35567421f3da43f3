package scenarios

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"

	"github.com/rlbench/rlbench/limiter"
)

const (
	// blockSize is how many results are written to disk at once: a quarter of a
	// megabyte, which takes a tenth of a millisecond.
	blockSize = 4096
	// inMemory is up to how many results are held in memory: 75 MB.
	inMemory = 1 << 20
)

// Log holds the results of a run while it goes on and until it is judged. They are
// packed, in half the memory of a Result; those of a long run go to a temporary file
// without a name as they come, so that its memory does not grow with them. It is in
// TMPDIR, or else in /var/tmp, because /tmp is memory in many places. Where it cannot
// be written, for want of space, they stay in memory.
//
// Instants of decisions are cut to microseconds, and errors of one text are one error.
//
// Make one with NewLog. Set is safe for concurrent use, for different places; Grow, Cut
// and reading are not at the same time as Set.
type Log struct {
	blocks  []*block
	n       int
	told    atomic.Int64
	memory  int      // results up to which nothing is written
	file    *os.File // nil until there is one
	named   bool     // it has to be removed
	closed  bool
	full    atomic.Pointer[error] // why nothing more is written
	open    func() error          // the file, once
	broken  atomic.Pointer[error]
	errs    interned[error]
	sources interned[limiter.Source]
}

var _ Results = (*Log)(nil)

// block is a part of a log.
type block struct {
	first   sync.Once
	records []record // nil before the first is set, and when they are on disk
	told    atomic.Int32
	onDisk  bool
}

// NewLog has room for n results, all of them Missed.
func NewLog(n int) *Log {
	l := &Log{memory: inMemory}
	l.open = sync.OnceValue(l.create)
	l.errs.text = func(err error) string { return err.Error() }
	l.sources.text = func(s limiter.Source) string { return string(s) }
	l.Grow(n)
	return l
}

// Len is how many results there are.
func (l *Log) Len() int { return l.n }

// Told is how many of them have been set.
func (l *Log) Told() int { return int(l.told.Load()) }

// Grow adds n results, all of them Missed.
func (l *Log) Grow(n int) {
	l.n += n
	for len(l.blocks)*blockSize < l.n {
		l.blocks = append(l.blocks, &block{})
	}
}

// Append adds one that has come.
func (l *Log) Append(r Result) {
	l.Grow(1)
	l.Set(l.n-1, r)
}

// Cut leaves the first n results.
func (l *Log) Cut(n int) { l.n = min(n, l.n) }

// Set says what became of a request, once.
func (l *Log) Set(i int, r Result) {
	b := l.blocks[i/blockSize]
	b.first.Do(func() { b.records = make([]record, blockSize) })
	b.records[i%blockSize] = l.pack(r)
	l.told.Add(1)
	if b.told.Add(1) == blockSize && l.n > l.memory && l.full.Load() == nil {
		l.spill(i/blockSize, b)
	}
}

// spill writes a block, which nobody sets any more, to disk.
func (l *Log) spill(number int, b *block) {
	err := l.open()
	if err == nil {
		_, err = l.file.WriteAt(encode(b.records), int64(number)*blockSize*recordBytes)
	}
	if err != nil {
		l.full.CompareAndSwap(nil, &err)
		return
	}
	b.records, b.onDisk = nil, true
}

func (l *Log) create() error {
	file, err := temporary()
	if err != nil {
		return err
	}
	// Without a name it is gone with the program, however that ends. Where an open
	// file has to have one, Close removes it.
	l.file, l.named = file, os.Remove(file.Name()) != nil
	return nil
}

func temporary() (*os.File, error) {
	if os.Getenv("TMPDIR") == "" {
		if file, err := os.CreateTemp("/var/tmp", "rlbench-results-"); err == nil {
			return file, nil
		}
	}
	return os.CreateTemp("", "rlbench-results-")
}

// Close removes what is on disk. Results cannot be read any more, wherever they are.
func (l *Log) Close() error {
	if l == nil || l.closed {
		return nil
	}
	l.closed = true
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	if l.named {
		l.named = false
		err = errors.Join(err, os.Remove(l.file.Name()))
	}
	return err
}

// At is one result.
func (l *Log) At(i int) Result {
	if l.closed {
		l.breaks(os.ErrClosed)
		return Result{}
	}
	switch b := l.blocks[i/blockSize]; {
	case b.records != nil:
		return l.unpack(&b.records[i%blockSize])
	case !b.onDisk:
		return Result{}
	}
	// Note: tried to keep pages of the file, as requests of one client are scattered over
	// it; judging two million took as long, and more memory.
	var bytes [recordBytes]byte
	if _, err := l.file.ReadAt(bytes[:], int64(i)*recordBytes); err != nil {
		l.breaks(err)
		return Result{}
	}
	r := decode(bytes[:])
	return l.unpack(&r)
}

// All are all results, in order.
func (l *Log) All() iter.Seq2[int, Result] {
	return func(yield func(int, Result) bool) {
		if l.closed {
			l.breaks(os.ErrClosed)
			return
		}
		var buffer []record
		for number, b := range l.blocks {
			records := b.records
			if records == nil {
				if buffer == nil {
					buffer = make([]record, blockSize)
				}
				records = buffer
				clear(records) // as if nobody had set one
				if b.onDisk {
					l.read(number, records)
				}
			}
			first := number * blockSize
			for i := range records[:min(blockSize, max(l.n-first, 0))] {
				if !yield(first+i, l.unpack(&records[i])) {
					return
				}
			}
		}
	}
}

func (l *Log) read(number int, records []record) {
	bytes := make([]byte, len(records)*recordBytes)
	if _, err := l.file.ReadAt(bytes, int64(number)*blockSize*recordBytes); err != nil {
		l.breaks(err)
		return
	}
	for i := range records {
		records[i] = decode(bytes[i*recordBytes:])
	}
}

func (l *Log) breaks(err error) {
	err = fmt.Errorf("read the results of a run: %w", err)
	l.broken.CompareAndSwap(nil, &err)
}

// Unwritten is why results that belong on disk are in memory; nil if none are.
func (l *Log) Unwritten() error {
	if err := l.full.Load(); err != nil {
		return *err
	}
	return nil
}

// Err is why results could not be read; what was made of them then is wrong.
func (l *Log) Err() error {
	if err := l.broken.Load(); err != nil {
		return *err
	}
	return nil
}
