package trace

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// LongestLine is how long a line may be, in bytes. What is longer is a broken line.
const LongestLine = 1 << 20

// source reads the lines of files, one after another.
type source struct {
	names []string
	stdin io.Reader
	done  <-chan struct{} // ends waiting for what may never come
	name  string          // of the file at hand
	size  int64           // of all that has been read, as it is in the files

	lines   *bufio.Reader
	close   func() error
	long    []byte
	skipped bool  // the line at hand was longer than LongestLine
	number  int64 // of the line at hand, in its file
	begun   bool  // a line of the file was not empty
}

// logLine is one line of a file.
type logLine struct {
	text   []byte // without its end; of one that is too long the beginning
	long   bool
	first  bool // that is not empty
	file   string
	number int64 // from 1 on
	part   *part // that it is of
}

// next is one line that is not empty, good until the next call; io.EOF after the last.
func (s *source) next() (logLine, error) {
	for {
		if s.lines == nil {
			if len(s.names) == 0 {
				return logLine{}, io.EOF
			}
			if err := s.open(s.names[0]); err != nil {
				return logLine{}, err
			}
			s.names, s.number, s.begun = s.names[1:], 0, false
		}
		line, err := s.line()
		s.number++
		if s.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			first := !s.begun
			s.begun = true
			return logLine{text: line, long: s.skipped, first: first, file: s.name, number: s.number}, nil
		}
		if err == nil {
			continue
		}
		closed := s.close()
		s.lines = nil
		if !errors.Is(err, io.EOF) {
			return logLine{}, fmt.Errorf("read %s: %w", s.name, err)
		}
		if closed != nil {
			return logLine{}, fmt.Errorf("read %s: %w", s.name, closed)
		}
	}
}

// line is one of the file at hand. Of one that is too long it is the beginning.
func (s *source) line() ([]byte, error) {
	s.skipped = false
	part, err := s.lines.ReadSlice('\n')
	if err == nil {
		return trimmed(part), nil
	}
	s.long = append(s.long[:0], part...)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = s.lines.ReadSlice('\n')
		s.long = append(s.long, part[:min(len(part), LongestLine+2-len(s.long))]...) // with \r\n
	}
	line := trimmed(s.long)
	if s.skipped = len(line) > LongestLine; s.skipped {
		line = line[:LongestLine]
	}
	return line, err
}

func trimmed(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// open begins a file, which may be compressed: its first bytes say so, not its name.
func (s *source) open(name string) error {
	s.name = name
	var file io.ReadCloser
	if name == "-" {
		s.name = "standard input"
		if s.stdin == nil {
			return fmt.Errorf("read %s: there is none", s.name)
		}
		file = patient(io.NopCloser(s.stdin), s.done)
	} else {
		f, err := opened(name, s.done)
		if err != nil {
			return err
		}
		file = f
	}
	plain := bufio.NewReaderSize(&counted{file, &s.size}, 1<<18)
	head, _ := plain.Peek(4) // a short file is not compressed
	lines, closing := plain, file.Close
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(plain)
		if err != nil {
			return errors.Join(fmt.Errorf("read %s: %w", s.name, err), file.Close())
		}
		lines = bufio.NewReaderSize(z, 1<<18)
	case bytes.HasPrefix(head, []byte("BZh")):
		lines = bufio.NewReaderSize(bzip2.NewReader(plain), 1<<18)
	case bytes.Equal(head, []byte{0xfd, '7', 'z', 'X'}):
		return errors.Join(fmt.Errorf("read %s: %w", s.name, ErrXZ), file.Close())
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(plain, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return errors.Join(fmt.Errorf("read %s: %w", s.name, err), file.Close())
		}
		lines = bufio.NewReaderSize(z, 1<<18)
		closing = func() error { z.Close(); return file.Close() }
	}
	s.lines, s.close = lines, closing
	return nil
}

// counted adds up what is read.
type counted struct {
	io.Reader
	n *int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	*c.n += int64(n)
	return n, err
}
