package cmd

import (
	"io"
	"os"
)

// has reports whether something goes to a place already.
func (s *sinks) has(path string) bool {
	for _, one := range s.all {
		if one.path != "" && samePlace(one.path, path) {
			return true
		}
	}
	return false
}

// apart refuses to write to a file that others write to: who comes last would be all that
// is in it.
func (s *sinks) apart(others *sinks) error {
	for _, one := range s.all {
		for _, other := range others.all {
			if one.path != "" && other.path != "" && samePlace(one.path, other.path) {
				return usagef(s.example(one.format.Name, "changes."+one.format.Name), "%s %s: %s %s goes to the same place", s.flag, one.asked, others.flag, other.asked)
			}
		}
	}
	return nil
}

// spares refuses to write over what is read, or over what else is written: files are of a
// kind, such as the log.
func (s *sinks) spares(kind string, files ...string) error {
	for _, one := range s.all {
		for _, file := range files {
			if one.path != "" && file != "-" && samePlace(one.path, real(file)) {
				return usagef(s.example(one.format.Name, "result."+one.format.Name), "%s %s: that is %s", s.flag, one.asked, kind)
			}
		}
	}
	return nil
}

// samePlace reports whether two paths, as real has them, are of one file, by hard links too.
// What keeps nothing takes all.
func samePlace(a, b string) bool {
	if a == os.DevNull {
		return false
	}
	if a == b {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// streamTo is which stream of the program a shell leads to a file; empty if none.
func (a *app) streamTo(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	leads := func(stream io.Writer) bool {
		f, ok := bare(stream).(*os.File)
		if !ok {
			return false
		}
		to, err := f.Stat()
		return err == nil && os.SameFile(info, to)
	}
	switch {
	case leads(a.Out):
		return "standard output"
	case leads(a.Err):
		return "standard error"
	}
	return ""
}
