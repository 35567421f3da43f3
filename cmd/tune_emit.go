package cmd

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/rlbench/rlbench/cmd/tuning"
)

// unobstructed refuses --emit before the log is read, if files are in the way.
func (t *tuningRun) unobstructed() error {
	if t.emit == "" {
		return nil
	}
	var files []starter
	for _, name := range tuning.Emitted() {
		files = append(files, starter{name: name})
	}
	if err := unobstructed(t.emit, files, t.force); err != nil {
		return usage(fmt.Errorf("--emit: %w", err), emitHint(err))
	}
	return nil
}

// write writes the files that --emit asks for: all or none.
func (t *tuningRun) write(study *tuning.Study) error {
	if t.emit == "" {
		return nil
	}
	emitted, err := tuning.Emit(t.document, study.Riskiest)
	if err != nil {
		return &problem{exitInconclusive, fmt.Errorf("--emit %s: %w", t.emit, err), "see the reasons above"}
	}
	files := make([]starter, len(emitted))
	for i, f := range emitted {
		files[i] = starter{name: f.Name, text: f.Text}
	}
	if err := put(t.emit, files, t.force); err != nil {
		return &problem{exitInternal, fmt.Errorf("--emit: %w", err), emitHint(err)}
	}
	for _, f := range emitted {
		fmt.Fprintf(t.Err, "rlbench: wrote %s: %s\n", printable(pathIn(t.emit, f.Name)), f.Doc)
	}
	return nil
}

// emitHint helps with a folder that cannot take the files.
func emitHint(err error) string {
	if errors.Is(err, errThere) || errors.Is(err, fs.ErrExist) {
		return "--force replaces what is there; --emit DIR writes elsewhere"
	}
	return "choose a folder that can be written: --emit DIR"
}
