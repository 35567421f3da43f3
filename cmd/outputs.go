package cmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rlbench/rlbench/report"
)

var colorModes = []string{"auto", "always", "never"}

// sink is one place that the report goes to.
type sink struct {
	format  report.Format
	path    string    // "" is a stream of the program
	out     io.Writer // that stream
	options report.Options
	file    *os.File
	temp    string      // "" if written in place
	mode    fs.FileMode // of the file, if it is written beside and moved
	created bool        // in place, where there was nothing
	lines   *report.Stream
	failure error // of writing a line
}

// sinks are all places. They are opened before the first request is sent, so
// that a run is never lost to a mistyped path.
type sinks struct {
	all  []*sink
	flag string // that names them; "" is -o
}

// example is a flag that works for a format.
func (s *sinks) example(format, path string) string {
	return cmp.Or(s.flag, "-o") + " " + format + "=" + path
}

// sinks reads the -o flags. A table goes to stdout unless something else does,
// or --quiet is given.
func (a *app) sinks(o *runOptions) (sinks, error) {
	s := sinks{}
	paths := map[string]bool{}
	for _, text := range o.outputs {
		name, path, _ := strings.Cut(text, "=")
		format, err := report.FormatNamed(name)
		if err != nil {
			return s, usage(fmt.Errorf("--output %s: %w", text, err), "rlbench list formats")
		}
		if path == "-" {
			path = ""
		} else if strings.Contains(text, "=") && path == "" {
			return s, usagef("--output json=result.json", "--output %s: no path behind the =", text)
		}
		if path == "" && format.Program != "" && a.terminal(a.out.w) > 0 {
			return s, usagef("-o "+format.Name+"=report."+format.Name, "--output %s: it is for %s, not for a terminal", text, format.Program)
		}
		path = real(path)
		one := &sink{format: format, path: path, out: a.Out}
		if path == "" && format.Name == github {
			path, one.out = "stderr", a.Err // where a workflow looks too, so that stdout stays the report's
		}
		if paths[path] {
			return s, usagef("--output table --output json=result.json", "--output %s: two reports cannot go to the same place", text)
		}
		paths[path] = true
		s.all = append(s.all, one)
	}
	if !paths[""] && !o.quiet {
		s.all = append(s.all, &sink{format: report.Formats[0], out: a.Out})
	}
	for _, one := range s.all {
		if one.path == "" {
			one.options = report.Options{Width: a.width(), Color: a.colored(o.color)}
		}
		one.options.Verbose = o.verbose
	}
	return s, nil
}

// width is that of the terminal, or COLUMNS, or 80.
func (a *app) width() int {
	if w := a.terminal(a.out.w); w > 0 {
		return w
	}
	var columns int
	text, _ := a.Env("COLUMNS")
	if _, err := fmt.Sscanf(text, "%d", &columns); err == nil && columns >= 20 {
		return columns
	}
	return 80
}

// colored decides about colour on stdout.
func (a *app) colored(mode string) bool {
	if mode != "auto" {
		return mode == "always"
	}
	no, _ := a.Env("NO_COLOR")
	return no == "" && !a.dumb() && a.terminal(a.out.w) > 0
}

// real is the file that a path leads to, by links too, so that the same file is
// known under two names and a link stays one.
func real(path string) string {
	if path == "" {
		return ""
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// open creates the files: temporary ones beside the target, so that a reader
// never sees half a report; in place only for what is no regular file.
func (s *sinks) open() error {
	for _, one := range s.all {
		if one.path == "" {
			continue
		}
		if err := one.open(); err != nil {
			s.discard()
			var path *fs.PathError
			if errors.As(err, &path) {
				err = path.Err // without the name of the temporary file
			}
			return usage(fmt.Errorf("open output %s: %w", one.path, err), "choose a path that can be written: "+s.example(one.format.Name, "result."+one.format.Name))
		}
	}
	return nil
}

func (s *sink) open() error {
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
		s.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE, s.mode)
		return err
	case err == nil:
		s.mode = info.Mode().Perm()
	}
	if s.file, err = os.CreateTemp(filepath.Dir(s.path), ".rlbench-*.tmp"); err == nil {
		s.temp = s.file.Name()
	}
	return err
}

// write renders every report and puts the files in place, before anything goes
// to stdout: whoever reads that may stop reading and end the program. A place that
// cannot be written to does not keep the others from being written.
func (s *sinks) write(r *report.Report) error {
	var errs []error
	var failed string
	for _, toFile := range []bool{true, false} {
		for _, one := range s.all {
			if toFile != (one.path != "") {
				continue
			}
			var b bytes.Buffer
			if one.lines == nil {
				if err := one.format.Render(&b, r, one.options); err != nil {
					return internal(err)
				}
			}
			if err := one.deliver(b.Bytes(), r); err != nil {
				errs, failed = append(errs, fmt.Errorf("write %s report: %w", one.format.Name, err)), cmp.Or(failed, one.format.Name)
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &problem{exitInternal, errors.Join(errs...), "make room, or choose another path: " + s.example(failed, "PATH") + rescued(r)}
}

// rescued keeps a report that could not be put where it belongs, and says where.
func rescued(r *report.Report) string {
	if r == nil {
		return ""
	}
	file, err := os.CreateTemp("", "rlbench-result-*.json")
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	json, err := report.FormatNamed("json")
	if err == nil {
		err = json.Render(&b, r, report.Options{})
	}
	err = errors.Join(err, second(file.Write(b.Bytes())), file.Close())
	if err != nil {
		os.Remove(file.Name())
		return ""
	}
	return "; what was measured is in " + file.Name() + ": rlbench report " + file.Name()
}

func second[T any](_ T, err error) error { return err }

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
		_, err = s.file.Write(data)
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

// there tells whether the path still leads to the file that was written: what was removed
// or replaced while the run went on takes every line without an error.
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
		var w io.Writer = one.out
		if one.path != "" {
			w, one.failure = one.file, one.emptied()
		}
		var err error
		one.lines, err = report.NewStream(w, in)
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
