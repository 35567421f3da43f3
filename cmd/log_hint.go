package cmd

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/rlbench/rlbench/cmd/tuning"
	"github.com/rlbench/rlbench/scenarios/trace"
)

// logTrouble is about a log that tune cannot read; format is what it was said to be.
func logTrouble(err error, format string) error {
	if errors.Is(err, tuning.ErrNoRoom) {
		return &problem{exitInternal, err, "make room, or set TMPDIR to a folder that has some"}
	}
	if errors.Is(err, context.Canceled) {
		return usage(err, "")
	}
	hint := logHint(err, format, "rlbench tune -")
	switch {
	case hint != "":
	case isPathError(err):
		hint = "give files that can be read, rlbench tune access.log; - is standard input"
	default:
		hint = formatHint("rlbench tune FILE ")
		if errors.Is(err, trace.ErrBadLines) {
			hint += "; or raise --max-bad"
		}
	}
	return usage(err, hint)
}

// replayLogHint is what helps with a log that cannot be replayed.
func replayLogHint(err error, format string) string {
	hint := logHint(err, format, "rlbench run replay --trace -")
	switch {
	case hint != "":
	case errors.Is(err, trace.ErrBadLines):
		hint = "take lines of anything else out of the log; --format tells how lines are made"
	case isPathError(err):
		hint = "--trace access.log; a file that a scenario names is looked for beside it"
	case errors.Is(err, io.ErrUnexpectedEOF):
		hint = "give the whole file; gzip -dc FILE > part.log has what there is of it"
	default:
		hint = formatHint("")
	}
	return hint
}

// logHint is what helps with any log; empty if that depends on who reads it.
func logHint(err error, format, stdin string) string {
	switch {
	case errors.Is(err, trace.ErrEmpty):
		return "give a log with requests in it; rlbench init --log nginx writes one to try"
	case errors.Is(err, trace.ErrXZ):
		return "xz -dc FILE | " + stdin
	case errors.Is(err, trace.ErrTwice):
		return "give one of them"
	case errors.Is(err, trace.ErrNotLog) && format != "" && !strings.ContainsAny(format, ":$%"):
		return "leave --format out, and it is found out; " + formatHint("")
	}
	return ""
}

func formatHint(command string) string {
	return command + "--format says how lines are made: " + strings.Join(trace.Formats(), ", ") + ", csv:arrival=FIELD,client=FIELD (names, or numbers from 1 on without a header), or a pattern as nginx or Apache have it"
}

func isPathError(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path)
}
