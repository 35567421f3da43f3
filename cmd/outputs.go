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
	asked   string    // as the flag has it; "" is what goes there unasked
	path    string    // "" is a stream of the program
	out     io.Writer // that stream, or the file once it is open
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
	flag string // that names them, short where it can be
}

// example is a flag that works for a format.
func (s *sinks) example(format, path string) string {
	return s.flag + " " + format + "=" + path
}

// sinks reads the -o flags. A table goes to stdout unless something else does,
// or --quiet is given.
func (a *app) sinks(o *runOptions) (sinks, error) {
	flag := cmp.Or(o.outputsFlag, "--output")
	s := sinks{flag: cmp.Or(o.outputsFlag, "-o")}
	streams := map[string]bool{}
	for _, text := range o.outputs {
		name, path, _ := strings.Cut(text, "=")
		format, err := report.FormatNamed(name)
		if err != nil {
			return s, usage(fmt.Errorf("%s %s: %w", flag, text, err), "rlbench list formats")
		}
		if path == "-" {
			path = ""
		} else if strings.Contains(text, "=") && path == "" {
			return s, usagef(flag+" json=result.json", "%s %s: no path behind the =", flag, text)
		}
		if path == "" && format.Program != "" && a.terminal(a.Out) > 0 {
			return s, usagef(s.example(format.Name, "report."+format.Name), "%s %s: it is for %s, not for a terminal", flag, text, format.Program)
		}
		path = real(path)
		one := &sink{format: format, asked: text, path: path, out: a.Out}
		if path == "" && format.Name == github {
			path, one.out = "stderr", a.Err // where a workflow looks too, so that stdout stays the report's
		}
		if one.path == "" && streams[path] || one.path != "" && s.has(path) {
			return s, usagef(flag+" markdown=result.md "+flag+" json=result.json", "%s %s: two reports cannot go to the same place", flag, text)
		}
		if one.path == "" {
			streams[path] = true
		} else if stream := a.streamTo(path); stream != "" {
			return s, usagef(s.example(format.Name, "result."+format.Name), "%s %s: %s goes there too, and one would overwrite the other", flag, text, stream)
		}
		s.all = append(s.all, one)
	}
	if !streams[""] && !o.quiet {
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
	if w := a.terminal(a.Out); w > 0 {
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
	return no == "" && !a.dumb() && a.terminal(a.Out) > 0
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
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil { // the file is yet to be made
		return filepath.Join(folder, filepath.Base(path))
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
			if err := one.write(r); err != nil {
				errs, failed = append(errs, fmt.Errorf("write %s report: %w", one.format.Name, err)), cmp.Or(failed, one.format.Name)
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	err := errors.Join(errs...)
	var bug *problem
	if errors.As(err, &bug) {
		return &problem{exitInternal, err, bug.hint}
	}
	return &problem{exitInternal, err, "make room, or choose another path: " + s.example(failed, "PATH") + rescued(r)}
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
