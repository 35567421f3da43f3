package cmd

import (
	"errors"
	"fmt"
	"os"

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
