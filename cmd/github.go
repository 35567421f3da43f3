package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/report"
)

// github is the format of GitHub workflows: beside its annotations a step has a summary
// and outputs, in files that the environment names.
const github = "github"

// publishGitHub appends to the files of the step, if that format was asked for. The
// comparison is nil where there was none.
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
	err = errors.Join(a.appendTo("GITHUB_STEP_SUMMARY", summary), a.appendTo("GITHUB_OUTPUT", report.GitHubOutputs(r, code)))
	if err != nil {
		return &problem{exitInternal, err, "the workflow sets these; without one: env -u GITHUB_STEP_SUMMARY -u GITHUB_OUTPUT rlbench ..."}
	}
	return nil
}

// tellGitHub says what kept a command from having a report: an annotation, and the outputs
// of the step, which the next one may ask for.
func (a *app) tellGitHub(c *cobra.Command, err error, code int) {
	if !asksGitHub(c) {
		return
	}
	note, summary := report.GitHubError(err.Error(), hintOf(err, c.CommandPath()+" --help"))
	fmt.Fprint(a.Err, note)
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

// asksGitHub reports whether that format was asked for, as far as the flags could be read.
func asksGitHub(c *cobra.Command) bool {
	outputs, err := c.Flags().GetStringArray("output")
	return err == nil && slices.ContainsFunc(outputs, func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		return name == github
	})
}

// appendTo appends to the file that a variable names.
func (a *app) appendTo(variable, text string) error {
	path, _ := a.Env(variable)
	if path == "" {
		fmt.Fprintf(a.Err, "rlbench: note: %s is not set, so nothing is written there\n", variable)
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
