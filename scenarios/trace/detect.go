package trace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

const (
	enough      = 16 // lines that tell the format, if all are of it
	mostSample  = 64 // otherwise
	sampleBytes = 4 << 20
)

// begin finds the format, and the order of files.
func (r *Reader) begin(all source, format string) error {
	if format != "" {
		var err error
		if r.format, err = Named(format); err != nil {
			return err
		}
	}
	r.summary.Files = slices.Clone(all.names)
	defer func() { r.summary.Format = r.format.Name }()
	if twice(all.names) {
		return r.survey(all.names, all.done)
	}
	only := &part{source: all}
	r.merge.open = []*part{only}
	if r.format.lines == nil {
		var lines []logLine
		if lines, only.err = sampleOf(&only.source); len(lines) == 0 && errors.Is(only.err, io.EOF) {
			return ErrEmpty
		} else if len(lines) == 0 {
			return only.err
		}
		if err := r.settle(lines); err != nil {
			return err
		}
		r.sample = lines
	}
	only.reader = r.format.lines
	for i := range r.sample {
		r.sample[i].part = only
	}
	return nil
}

// twice is whether all of some files can be read more than once.
func twice(names []string) bool {
	for _, name := range names {
		if info, err := os.Stat(name); name == "-" || err == nil && !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// survey looks into all files: for the format, and for the order in which they are read.
func (r *Reader) survey(names []string, done <-chan struct{}) error {
	var samples [][]logLine
	full := false
	for _, name := range names {
		s := source{names: []string{name}}
		lines, err := sampleOf(&s)
		if s.lines != nil {
			err = errors.Join(err, s.close())
		}
		if len(lines) == 0 && !errors.Is(err, io.EOF) {
			return err
		}
		if len(lines) > 0 && r.format.lines == nil {
			if err := r.settle(lines); err != nil {
				return err
			}
		}
		full = full || len(lines) > 0
		for i, other := range samples {
			if copied, err := copies(names[i], name, other, lines, done); copied || err != nil {
				return cmp.Or(err, fmt.Errorf("%w: all of %s is in %s, or the other way round", ErrTwice, names[i], name))
			}
		}
		samples = append(samples, lines)
	}
	if !full {
		return ErrEmpty
	}
	for i, name := range names {
		reader := readerOf(r.format.lines)
		first, err := firstOf(reader, samples[i])
		if err != nil {
			return err
		}
		r.merge.waiting = append(r.merge.waiting, &part{source: source{names: []string{name}}, reader: reader, first: first, at: first})
	}
	slices.SortStableFunc(r.merge.waiting, func(a, b *part) int { return cmp.Compare(a.first, b.first) })
	r.summary.Files = nil
	for _, p := range r.merge.waiting {
		r.summary.Files = append(r.summary.Files, p.names...)
	}
	r.summary.Sorted = !slices.Equal(names, r.summary.Files)
	return nil
}

// firstOf is the earliest stamp in the first lines of a file; the greatest number if there are
// no lines, and the least if none of them has a stamp: then the file has to be looked into.
func firstOf(reader lineReader, lines []logLine) (int64, error) {
	first := int64(math.MaxInt64)
	for _, line := range lines {
		if header, err := headerOf(reader, line); header {
			if err != nil {
				return 0, err
			}
			continue
		}
		var found record
		if !line.long && reader.read(line.text, &found) == nil {
			first = min(first, found.stamp)
		}
	}
	if first == math.MaxInt64 && len(lines) > 0 {
		first = math.MinInt64
	}
	return first, nil
}

// readerOf is a reader of lines of a file of its own: what a header says is of that file.
func readerOf(lines lineReader) lineReader {
	if t, ok := lines.(*table); ok {
		return newTable(t.fields)
	}
	return lines
}

// headerOf is whether a line is one that says what the others of its file mean.
func headerOf(reader lineReader, line logLine) (bool, error) {
	h, ok := reader.(headed)
	if !ok || !line.first {
		return false, nil
	}
	header, err := h.header(line.text)
	if err != nil {
		err = fmt.Errorf("read %s: %w", line.file, err)
	}
	return header, err
}

// sampleOf reads ahead: no more than is needed, as the rest of a pipe may come late.
func sampleOf(s *source) ([]logLine, error) {
	var lines []logLine
	for size := 0; len(lines) < mostSample && size < sampleBytes; {
		line, err := s.next()
		if err != nil {
			return lines, err
		}
		line.text = bytes.Clone(line.text)
		lines = append(lines, line)
		if size += len(line.text); len(lines) == enough {
			if _, n := best(lines); n == enough {
				break
			}
		}
	}
	return lines, nil
}

// settle finds the format of some lines, or the fields of one that has names.
func (r *Reader) settle(lines []logLine) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", lines[0].file, err)
		}
	}()
	if r.format.guess != nil {
		r.format, err = r.format.guess(lines)
		return err
	}
	f, n := best(lines)
	r.summary.Sampled, r.summary.Agreed = len(lines), n
	if n > 0 && 2*n >= len(lines) {
		r.format = f
		return nil
	}
	for _, kind := range []string{"csv", "jsonl"} {
		if f, n := named(kind, lines); 2*n >= len(lines) {
			r.format, r.summary.Agreed = f, n
			return nil
		}
	}
	for _, line := range lines {
		if bytes.IndexByte(line.text, 0) >= 0 {
			return fmt.Errorf("%w: it is binary, %d of the first %d lines are of a known format", ErrNotLog, n, len(lines))
		}
	}
	return fmt.Errorf("%w: %d of the first %d lines are of a known format (%s)", ErrNotLog, n, len(lines), strings.Join(Formats(), ", "))
}

// named is a format of fields whose names are usual, and how many of some lines, with the
// header, are of it.
func named(kind string, lines []logLine) (Format, int) {
	f, err := guessed(kind, lines)
	if err != nil {
		return f, 0
	}
	n, reader := 0, readerOf(f.lines)
	for _, line := range lines {
		var r record
		if header, err := headerOf(reader, line); header && err == nil || !header && !line.long && reader.read(line.text, &r) == nil {
			n++
		}
	}
	return f, n
}

// best is the format in which most of some lines can be read, and how many.
func best(lines []logLine) (Format, int) {
	best, most := Format{}, 0
	for _, f := range formats {
		n := 0
		for _, line := range lines {
			if !line.long && f.reads(line.text) {
				n++
			}
		}
		if n > most {
			best, most = f, n
		}
	}
	return best, most
}

func (f Format) reads(line []byte) bool {
	var r record
	return (f.sure == nil || f.sure(line)) && f.lines.read(line, &r) == nil
}

// lookalike is the name of the format in which a line can be read, or "".
func lookalike(line []byte) string {
	for _, f := range formats {
		if f.reads(line) {
			return f.Name
		}
	}
	return ""
}
