package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/report"
)

// github is the format of GitHub workflows: beside its annotations a step has a summary
// and outputs, in files that the environment names.
const github = "github"

// ended tells GitHub, if it asks, and is how a command ends that has a report: with what
// went wrong, or else with a code. The comparison is nil where there was none.
func (a *app) ended(s *sinks, r *report.Report, c *report.Comparison, code int, wrong error) error {
	if wrong != nil {
		code = codeOf(wrong)
	}
	if err := allOf(wrong, a.publishGitHub(s, r, c, code)); err != nil {
		return err
	}
	if code == exitOK {
		return nil
	}
	return &verdictError{code}
}

// publishGitHub appends to the files of the step, if that format was asked for.
func (a *app) publishGitHub(s *sinks, r *report.Report, c *report.Comparison, code int) error {
	asked := false
	for _, one := range s.all {
		asked = asked || one.format.Name == github
	}
	if !asked {
		return nil
	}
	summary, err := report.GitHubSummary(r, c)
	if err != nil {
		return internal(err)
	}
	if c != nil {
		fmt.Fprint(a.Err, report.GitHubChanges(c))
	}
	a.published = true
	job := *r
	job.Verdict = cmp.Or(a.verdict, r.Verdict) // with what changed, as the last line on stderr has it
	err = a.appendTo("GITHUB_STEP_SUMMARY", summary)
	if err != nil {
		code = exitInternal
	}
	if err := errors.Join(err, a.appendTo("GITHUB_OUTPUT", report.GitHubOutputs(&job, code))); err != nil {
		return &problem{exitInternal, err, "the workflow sets these; without one: env -u GITHUB_STEP_SUMMARY -u GITHUB_OUTPUT rlbench ..."}
	}
	return nil
}

// tellGitHub says what a command failed of: an annotation, and if that kept it from having a
// report, the outputs of the step, which the next one may ask for.
func (a *app) tellGitHub(c *cobra.Command, err error, code int) {
	if !a.asksGitHub(c) {
		return
	}
	note, summary := report.GitHubError(err.Error(), hintOf(err, c.CommandPath()+" --help"))
	fmt.Fprint(a.Err, note)
	if a.published {
		return
	}
	for variable, text := range map[string]string{
		"GITHUB_STEP_SUMMARY": summary,
		"GITHUB_OUTPUT":       report.GitHubOutputs(&report.Report{Verdict: cmp.Or(a.verdict, "none")}, code),
	} {
		if path, _ := a.Env(variable); path == "" {
			continue
		}
		if err := a.appendTo(variable, text); err != nil {
			fmt.Fprintf(a.Err, "rlbench: warning: %v\n", err)
		}
	}
}

// asksGitHub reports whether that format was asked for. A mistake on the command line ends
// the reading of flags where it stands, and that of variables before it begins, so that the
// arguments are looked at as they are.
func (a *app) asksGitHub(c *cobra.Command) bool {
	outputs := outputsIn(a.args)
	if len(outputs) == 0 && (!c.HasParent() || c.Flags().Lookup("output") != nil) { // which command is meant may be the mistake
		text, _ := a.Env(envName("output"))
		outputs = []string{text}
	}
	return slices.ContainsFunc(outputs, func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		return name == github
	})
}

// outputsIn are the values of -o and --output among arguments, however they are written.
func outputsIn(args []string) []string {
	var values []string
	for i, arg := range args {
		if arg == "--" {
			break
		}
		value, ok := strings.CutPrefix(arg, "--output=")
		short := shortOutput.FindStringSubmatch(arg)
		switch {
		case ok:
			values = append(values, value)
		case short != nil && short[1] != "":
			values = append(values, strings.TrimPrefix(short[1], "="))
		case (short != nil || arg == "--output") && i+1 < len(args):
			values = append(values, args[i+1])
		}
	}
	return values
}

// shortOutput is -o with its value behind it, or the next argument, perhaps behind -q and
// other flags that take none.
var shortOutput = regexp.MustCompile(`^-[hqv]*o(.*)$`)

// appendTo appends to the file that a variable names.
func (a *app) appendTo(variable, text string) error {
	path, _ := a.Env(variable)
	if path == "" {
		a.note("%s is not set, so nothing is written there", variable)
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("append to %s: %w", variable, err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("append to %s: %w", variable, err)
	}
	return nil
}
