package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlbench/rlbench/report"
)

// starter is a file that init writes: a text or, where that would not fit into memory, what
// write writes.
type starter struct {
	name, text string
	write      func(io.Writer) error // nil for the text
}

var (
	// errThere says that a file is in the way.
	errThere = errors.New("there already")
	// errNoParent says that a folder has none that it could be made in.
	errNoParent = errors.New("there is no folder")
)

// folderHint helps with a folder that cannot take files: replace or elsewhere are what to do.
func folderHint(err error, dir, replace, elsewhere string) string {
	switch {
	case errors.Is(err, errThere), errors.Is(err, fs.ErrExist):
		return replace
	case errors.Is(err, errNoParent):
		return report.ShellCommand([]string{"mkdir", "-p", filepath.Dir(dir)})
	}
	return "choose a folder that can be written: " + elsewhere
}

// initTrouble is about a folder that init cannot write to; elsewhere is how it writes to
// another one.
func initTrouble(err error, dir, elsewhere string) error {
	return usage(fmt.Errorf("init: %w", err), folderHint(err, dir, "rlbench init --force replaces what is there; rlbench init DIR writes elsewhere", elsewhere))
}

// pathIn is the path of a file as users write it.
func pathIn(dir, name string) string { return filepath.Join(dir, name) }

// put writes all files into a folder, or leaves everything as it was. With force
// it replaces regular files and links; without, nothing.
func put(dir string, files []starter, force bool) (err error) {
	if err := unobstructed(dir, files, force); err != nil {
		return err
	}
	var undo []func()
	aside := ""
	defer func() {
		if err != nil {
			for _, step := range slices.Backward(undo) {
				step()
			}
		}
		if aside != "" {
			os.RemoveAll(aside)
		}
	}()
	err = os.Mkdir(dir, 0o755)
	switch {
	case err == nil:
		undo = append(undo, func() { os.Remove(dir) })
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("make folder %s: %w", dir, withoutPath(err))
	case force:
		if aside, err = os.MkdirTemp(dir, ".rlbench-*"); err != nil {
			return fmt.Errorf("write to folder %s: %w", dir, withoutPath(err))
		}
	}
	for i, f := range files {
		path, old := pathIn(dir, f.name), filepath.Join(aside, fmt.Sprint(i))
		if aside != "" && os.Rename(path, old) == nil {
			undo = append(undo, func() { os.Rename(old, path) })
		}
		made, err := create(path, f)
		if made {
			undo = append(undo, func() { os.Remove(path) })
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", path, withoutPath(err))
		}
	}
	return nil
}

// create writes a file that must not exist, and reports whether it made it.
func create(path string, s starter) (made bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return false, err
	}
	if s.write != nil {
		err = s.write(f)
	} else {
		_, err = f.WriteString(s.text)
	}
	return true, errors.Join(err, f.Close())
}

// unobstructed reports everything that is in the way, not only the first.
func unobstructed(dir string, files []starter, force bool) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is no folder", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(dir)
		if info, err := os.Stat(parent); err != nil || !info.IsDir() {
			return fmt.Errorf("make folder %s: %w %s", dir, errNoParent, parent)
		}
	}
	var there []string
	for _, f := range files {
		path := pathIn(dir, f.name)
		info, err := os.Lstat(path)
		switch {
		case err != nil: // it is not there, or writing it will tell
		case info.IsDir():
			return fmt.Errorf("%s is a folder", path)
		case !force:
			there = append(there, path)
		}
	}
	switch len(there) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s is %w", there[0], errThere)
	}
	return fmt.Errorf("%s are %w", strings.Join(there, " and "), errThere)
}

// withoutPath is what went wrong, without the path that the caller tells.
func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
