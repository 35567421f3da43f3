package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rlbench/rlbench/report"
)

// open opens the file of a sink.
func (s *sink) open() error {
	if err := s.openFile(); err != nil {
		return err
	}
	s.out = &remembering{w: s.file}
	return nil
}

func (s *sink) openFile() error {
	s.mode = 0o644
	info, err := os.Stat(s.path)
	switch {
	case err == nil && info.IsDir():
		return errors.New("it is a directory")
	case err == nil && !info.Mode().IsRegular():
		s.file, err = os.OpenFile(s.path, os.O_WRONLY, 0)
		return err
	case s.format.Streams: // what comes has to be there at once; what was there goes with the first line
		s.created = err != nil
		// At the end, wherever that is: else a file that is cut short meanwhile grows again by a
		// hole, and is as long as it should be.
		s.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, s.mode)
		return err
	case err == nil:
		s.mode = info.Mode().Perm()
	}
	if s.file, err = os.CreateTemp(filepath.Dir(s.path), ".rlbench-*.tmp"); err == nil {
		s.temp = s.file.Name()
	}
	return err
}

// write writes a report, or the end of one that was written while it was made.
func (s *sink) write(r *report.Report) error {
	var b bytes.Buffer
	if s.lines == nil {
		if err := s.format.Render(&b, r, s.options); err != nil {
			return internal(err)
		}
	}
	return s.deliver(b.Bytes(), r)
}

func (s *sink) deliver(data []byte, r *report.Report) error {
	if s.lines != nil {
		err := s.failure
		if err == nil {
			err = s.lines.End(r)
		}
		if s.file != nil {
			err = errors.Join(err, s.there(), s.file.Close())
			s.file = nil
		}
		return err
	}
	if s.path == "" {
		_, err := s.out.Write(data)
		return err
	}
	err := s.emptied()
	if err == nil {
		_, err = s.out.Write(data)
	}
	if s.temp != "" && err == nil {
		err = s.file.Chmod(s.mode)
	}
	err = errors.Join(err, s.file.Close())
	s.file, s.created = nil, false
	if err != nil || s.temp == "" {
		return err
	}
	if err := os.Rename(s.temp, s.path); err != nil {
		return err
	}
	s.temp = ""
	return nil
}

// there tells whether the path still leads to what was written, and to nothing else: what
// was removed, replaced or cut short while the run went on takes every line without an
// error, and so does what somebody else writes to as well.
func (s *sink) there() error {
	ours, err := s.file.Stat()
	if err != nil || !ours.Mode().IsRegular() {
		return err
	}
	found, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was removed while it was written", s.path)
	case err == nil && !os.SameFile(ours, found):
		return fmt.Errorf("%s was replaced by another file while it was written", s.path)
	}
	if written, ok := s.out.(*remembering); ok && err == nil && ours.Size() != written.n {
		return fmt.Errorf("%s has %d bytes, and %d were written to it: it was cut short, or something else writes to it too", s.path, ours.Size(), written.n)
	}
	return err
}

// emptied forgets what a file had that is written in place.
func (s *sink) emptied() error {
	if s.file == nil || !s.format.Streams {
		return nil
	}
	info, err := s.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	return s.file.Truncate(0)
}

// begin starts what is written while the run goes on. What cannot be written is told
// at the end.
func (s *sinks) begin(in report.Input) {
	for _, one := range s.all {
		if !one.format.Streams {
			continue
		}
		if one.path != "" {
			one.failure = one.emptied()
		}
		var err error
		one.lines, err = report.NewStream(one.out, in)
		one.failure, one.created = errors.Join(one.failure, err), false
	}
}

// add writes a case to where they are written as they come.
func (s *sinks) add(c *report.Case) {
	for _, one := range s.all {
		if one.lines != nil && one.failure == nil {
			one.failure = one.lines.Add(c)
		}
	}
}

// discard closes and removes what was not delivered.
func (s *sinks) discard() {
	for _, one := range s.all {
		if one.file != nil {
			one.file.Close()
		}
		if one.temp != "" {
			os.Remove(one.temp)
		}
		if one.created {
			os.Remove(one.path)
		}
		one.file, one.temp, one.created = nil, "", false
	}
}
