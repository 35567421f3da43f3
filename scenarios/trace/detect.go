package trace

import (
	"bytes"
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
func (r *Reader) begin(format string) error {
	if format != "" {
		var err error
		if r.format, err = Named(format); err != nil {
			return err
		}
	}
	r.summary.Files = slices.Clone(r.source.names)
	defer func() { r.summary.Format = r.format.Name }()
	if twice(r.source.names) {
		return r.survey()
	}
	if r.format.lines != nil {
		return nil
	}
	r.sample, r.end = sampleOf(&r.source)
	if len(r.sample) == 0 && errors.Is(r.end, io.EOF) {
		return ErrEmpty
	}
	if len(r.sample) == 0 {
		return r.end
	}
	return r.settle(r.sample)
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
func (r *Reader) survey() error {
	type file struct {
		name  string
		first int64
		lines []logLine
	}
	var files []file
	full := false
	for _, name := range r.source.names {
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
		files = append(files, file{name, 0, lines})
	}
	if !full {
		return ErrEmpty
	}
	for i := range files {
		first, err := r.format.first(files[i].lines)
		if err != nil {
			return err
		}
		files[i].first, files[i].lines = first, nil
	}
	slices.SortStableFunc(files, func(a, b file) int {
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return 0
	})
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	r.summary.Sorted = !slices.Equal(names, r.source.names)
	r.source.names, r.summary.Files = names, slices.Clone(names)
	return nil
}

// first is the first stamp in some lines of a file; the greatest number if there is none.
func (f Format) first(lines []logLine) (int64, error) {
	for _, line := range lines {
		if header, err := f.header(line); header {
			if err != nil {
				return 0, err
			}
			continue
		}
		var found record
		if !line.long && f.lines.read(line.text, &found) == nil {
			return found.stamp, nil
		}
	}
	return math.MaxInt64, nil
}

// header is whether a line is one that says what the others of its file mean.
func (f Format) header(line logLine) (bool, error) {
	h, ok := f.lines.(headed)
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
	for _, line := range lines {
		if bytes.IndexByte(line.text, 0) >= 0 {
			return fmt.Errorf("%w: it is binary, %d of the first %d lines are of a known format", ErrNotLog, n, len(lines))
		}
	}
	return fmt.Errorf("%w: %d of the first %d lines are of a known format (%s)", ErrNotLog, n, len(lines), strings.Join(Formats(), ", "))
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
