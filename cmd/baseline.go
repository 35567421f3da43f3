package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/report"
	"github.com/rlbench/rlbench/scenarios"
)

// baseline is what a run is compared with, and where that is told.
type baseline struct {
	saved   *report.Saved // nil is none
	options report.CompareOptions
	sinks   sinks // beside what is told below the report
	changes *report.Comparison
}

// gates are the flags that cannot apply without --baseline.
var gates = []string{"alpha", "min-effect", "noise", "fail-on", "across-machines", "comparison"}

// readBaseline reads what --baseline names, and refuses what this run cannot be compared
// with as far as can be known before anything is sent.
func (e *experiment) readBaseline(c *cobra.Command) error {
	if e.baseline == "" {
		for _, flag := range gates {
			if c.Flags().Changed(flag) && !e.fromEnv[flag] {
				return usagef("--baseline old.json --"+flag+" ...", "--%s cannot apply without --baseline", flag)
			}
		}
		return nil
	}
	b := &e.against
	var err error
	if b.options, err = e.comparison.calibrated(e.app); err != nil {
		return err
	}
	saved, err := e.readSide(e.baseline)
	if err != nil {
		return usage(fmt.Errorf("--baseline: %w", err), sideHint(err, "rlbench run boundary-burst --runs 10 -o json=old.json writes one"))
	}
	b.saved = &saved
	if err := e.comparable(e.Machine()); err != nil {
		return err
	}
	e.fit = e.comparable
	e.tellNoise(e.comparison.noise, b.options.Noise, e.compared())
	for _, text := range e.changesTo {
		if _, path, _ := strings.Cut(text, "="); path == "" || path == "-" {
			return usagef("--comparison markdown=changes.md", "--comparison %s: want FORMAT=PATH; it is told below the report anyway", text)
		}
	}
	b.sinks, err = sinksFor(e.app, &runOptions{outputs: e.changesTo, outputsFlag: "--comparison", quiet: true, color: e.color}, report.ComparisonFormats,
		func(*report.Report) (*report.Comparison, error) { return b.changes, nil })
	return err
}

// comparable refuses a baseline of another machine, of other traffic, or of limiters of
// which none is under test.
func (e *experiment) comparable(env report.Env) error {
	err := report.CanCompare(*e.against.saved, report.Saved{Name: "this run", Report: e.planned(env)}, e.against.options)
	if err != nil {
		return usage(fmt.Errorf("--baseline: %w", err), compareHint(err, "make a baseline here: rlbench run ... -o json=old.json",
			"make a baseline of the same scenario, limit, clock, seed and limiters: rlbench run ... -o json=old.json"))
	}
	return nil
}

// planned is a report of what is going to be measured, without a figure.
func (e *experiment) planned(env report.Env) *report.Report {
	r := &report.Report{Env: env}
	for _, s := range e.scenarios {
		r.Scenarios = append(r.Scenarios, report.Scenario{
			Name: s.Name, SHA256: s.hash, Seed: s.plan.Seed, Clock: s.plan.Clock,
			Limit: report.Limit{Max: s.plan.Limit.Max, WindowUS: s.plan.Limit.Window.Microseconds()},
		})
		for _, name := range s.limiters {
			r.Rows = append(r.Rows, report.Row{Scenario: s.Name, Limiter: name, Run: 1})
		}
	}
	return r
}

// compareWithBaseline tells what changed since the baseline, and how the program ends. What
// has nothing to compare, because it was cut short, is inconclusive.
func (e *experiment) compareWithBaseline(r *report.Report, code int) (int, error) {
	b := &e.against
	if b.saved == nil {
		return code, nil
	}
	var err error
	if b.changes, err = report.Compare(*b.saved, report.Saved{Name: "this run", Report: r}, b.options); err != nil {
		fmt.Fprintf(e.Err, "rlbench: warning: nothing is compared: %s\n", printable(err.Error()))
		e.verdict = e.verdict.Worse(scenarios.Inconclusive)
		return worseCode(code, scenarios.Inconclusive), nil
	}
	b.changes.OwnGate = true
	wrong := allOf(b.sinks.write(nil), e.tellChanges())
	e.verdict = e.verdict.Worse(b.changes.Told())
	if !e.quiet {
		e.tellWhatPasses(b.changes, r.Verdict)
	}
	return worseCode(code, b.changes.Gated()), wrong
}

// worseCode is the code of what is worse, a code or a verdict.
func worseCode(code int, v scenarios.Verdict) int {
	if code == exitOK || code == exitInconclusive && v == scenarios.Fail {
		return verdictCode(v)
	}
	return code
}

// compared are the scenarios that are to be run and that the baseline has.
func (e *experiment) compared() []string {
	var names []string
	for _, s := range e.scenarios {
		if slices.ContainsFunc(e.against.saved.Scenarios, func(o report.Scenario) bool { return o.Name == s.Name }) {
			names = append(names, s.Name)
		}
	}
	return names
}

// tellChanges writes the comparison below the report, as what that is; where stdout is a
// document's, to stderr; and where it is to be quiet, only what ends the program.
func (e *experiment) tellChanges() error {
	c := e.against.changes
	out, format := sink{out: e.Err, options: report.Options{Width: 80}}, "table"
	for _, one := range e.sinks.all {
		if one.path == "" && (one.format.Name == "table" || one.format.Name == "markdown") {
			out, format = *one, one.format.Name
		}
	}
	if e.quiet && out.out == e.Err {
		if c.Gated() != scenarios.Pass {
			fmt.Fprintf(e.Err, "rlbench: %s\n", c.Brief())
		}
		return nil
	}
	render, err := report.ComparisonFormats.Named(format)
	if err != nil {
		return internal(err)
	}
	fmt.Fprintln(out.out)
	if err := render(out.out, c, out.options); err != nil {
		return &problem{exitInternal, fmt.Errorf("write the comparison: %w", err), "make room"}
	}
	return nil
}
