package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/limiter/backend"
	"github.com/rlbench/rlbench/scenarios"
)

// The exit codes. When several apply, the order is 5, a signal's, 4, 1, 3, 0.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitInconclusive = 3
	exitTarget       = 4
	exitInternal     = 5
	exitHangUp       = 129
	exitInterrupt    = 130
	exitTerminate    = 143
)

// exitCodes documents them for "rlbench help exit-codes".
const exitCodes = `rlbench ends with one of these codes:

    0  every check held
    1  a check or a promise failed
    2  usage, configuration or scenario error; nothing was sent
    3  inconclusive: too little evidence for a verdict, with a reason
    4  target trouble: cannot connect, authentication, TLS, or lost for good
    5  an output could not be written, or an internal error: a bug of rlbench
  129  the terminal hung up (SIGHUP), after a partial report
  130  interrupted by SIGINT, after a partial report
  143  terminated by SIGTERM, after a partial report

Serve ends with 0 when it is interrupted and nothing is under way any more.
When several apply: 5, then 129, 130 or 143, then 4, 1, 3, 0.
The last line on stderr repeats it, for wrappers that hide exit codes:
rlbench: verdict=pass exit=0`

// problem is an error that knows how the program ends, and what would help.
type problem struct {
	code int
	err  error
	hint string
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func usage(err error, hint string) error { return &problem{exitUsage, err, hint} }

func usagef(hint, format string, args ...any) error {
	return usage(fmt.Errorf(format, args...), hint)
}

// noArguments is the check of a command that takes none; hint is a call that works.
func noArguments(hint string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef(hint, "%s: takes no arguments, there are %d", c.Name(), len(args))
		}
		return nil
	}
}

// targetTrouble wraps an error on the way to the target.
func targetTrouble(err error) error {
	var open *backend.OpenError
	if errors.As(err, &open) {
		return &problem{exitTarget, err, open.Hint}
	}
	var stuck *backend.StuckError
	if errors.As(err, &stuck) {
		return &problem{exitTarget, err, stuck.Hint}
	}
	return &problem{exitTarget, err, "check the target, or use a private one: --redis managed"}
}

func internal(err error) error {
	return &problem{exitInternal, err, "this is a bug; please report it with the command and its output"}
}

// codeOf is the exit code for an error. What no command has classified comes
// from parsing the command line.
func codeOf(err error) int {
	var p *problem
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &p):
		return p.code
	default:
		return exitUsage
	}
}

// allOf are several errors as one, with the code of the worst and the hint of each. It is
// nil if all are.
func allOf(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	code, hints := exitOK, []string{}
	for _, err := range errs {
		code = max(code, codeOf(err))
		if hint := hintOf(err, ""); hint != "" && !slices.Contains(hints, hint) {
			hints = append(hints, hint)
		}
	}
	return &problem{code, errors.Join(errs...), strings.Join(hints, "; ")}
}

// hintOf is what would help with an error, or something else where it does not know.
func hintOf(err error, otherwise string) string {
	var p *problem
	if errors.As(err, &p) {
		return p.hint
	}
	return otherwise
}

// printError writes an error for people: what was attempted, and what would
// help.
func printError(w io.Writer, err error) {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	fmt.Fprintf(w, "rlbench: error: %s\n", strings.Join(lines, "\n  "))
	if hint := hintOf(err, "rlbench --help"); hint != "" {
		fmt.Fprintf(w, "hint: %s\n", printable(hint))
	}
}

// printable replaces control characters: what files and servers say must not
// drive the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// signalCode is the shells' code for a program that a signal ended.
func signalCode(s os.Signal) int {
	switch s {
	case syscall.SIGTERM:
		return exitTerminate
	case syscall.SIGHUP:
		return exitHangUp
	default:
		return exitInterrupt
	}
}

// verdictCode is the exit code for a verdict.
func verdictCode(v scenarios.Verdict) int {
	switch v {
	case scenarios.Fail:
		return exitFailed
	case scenarios.Inconclusive:
		return exitInconclusive
	default:
		return exitOK
	}
}
