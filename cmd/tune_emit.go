package cmd

import (
	"fmt"

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
		return usage(fmt.Errorf("--emit: %w", err), emitHint(err, t.emit))
	}
	return nil
}

// emitted are the paths of the files that --emit asks for.
func (t *tuningRun) emitted() (paths []string) {
	if t.emit == "" {
		return nil
	}
	for _, name := range tuning.Emitted() {
		paths = append(paths, pathIn(t.emit, name))
	}
	return paths
}

// write writes the files that --emit asks for: all or none.
func (t *tuningRun) write(study *tuning.Study) error {
	if t.emit == "" {
		return nil
	}
	emitted, err := tuning.Emit(t.document, study.Riskiest)
	if err != nil {
		hint := "give higher --limits, or a lower --untouched"
		if doubts := t.document.Doubts(); len(doubts) > 0 {
			hint = doubts[0].Hint
		}
		return &problem{exitInconclusive, fmt.Errorf("--emit %s: %w", t.emit, err), hint}
	}
	files := make([]starter, len(emitted))
	for i, f := range emitted {
		files[i] = starter{name: f.Name, text: f.Text}
	}
	if err := put(t.emit, files, t.force); err != nil {
		return &problem{exitInternal, fmt.Errorf("--emit: %w", err), emitHint(err, t.emit)}
	}
	for _, f := range emitted {
		fmt.Fprintf(t.Err, "rlbench: wrote %s: %s\n", printable(pathIn(t.emit, f.Name)), f.Doc)
	}
	return nil
}

// writeIfAny does so after an interrupt, if it had found something to write.
func (t *tuningRun) writeIfAny(study *tuning.Study) error {
	if t.emit != "" && t.document.Recommended == nil {
		t.note("--emit %s: nothing is written, as nothing was found until the interrupt", t.emit)
		return nil
	}
	return t.write(study)
}

// emitHint helps with a folder that cannot take the files.
func emitHint(err error, dir string) string {
	return folderHint(err, dir, "--force replaces what is there; --emit DIR writes elsewhere", "--emit DIR")
}
