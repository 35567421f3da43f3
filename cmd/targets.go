package cmd

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlbench/rlbench/scenarios"
	"github.com/rlbench/rlbench/scenarios/target"
)

// targets finds the limiters under test for every scenario, and refuses what one
// of them cannot do; of all scenarios those are left out that do not suit.
func (o *scenarioOptions) targets(a *app, all []loaded) ([]loaded, error) {
	names, err := target.Names(o.algorithms)
	if err != nil {
		return nil, usage(err, targetHint(err))
	}
	if err := o.checkModel(names); err != nil {
		return nil, err
	}
	var kept []loaded
	var errs []error
	for _, s := range all {
		needs := s.needs()
		for _, name := range names {
			switch err := target.Check(name, needs, o.model); {
			case err == nil:
				s.limiters = append(s.limiters, name)
			case s.optional && target.Check(name, target.Needs{Clock: scenarios.Virtual}, o.model) == nil,
				s.optional && target.Check(name, target.Needs{Clock: scenarios.Server}, o.model) == nil:
				a.leaveOut(s.Name, err)
			default:
				errs = append(errs, fmt.Errorf("scenario %s: %w", s.Name, err))
			}
		}
		if len(s.limiters) > 0 {
			kept = append(kept, s)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, usage(err, targetHint(err))
	}
	if len(kept) == 0 {
		return nil, usagef("rlbench list scenarios", "no scenario suits %s", strings.Join(names, ", "))
	}
	return kept, nil
}

// tellUnheld tells which checks of files are about algorithms that no limiter is: nothing is
// proved of those. Built-in scenarios know what to expect of more than are asked about.
func (o *runOptions) tellUnheld(a *app, all []loaded) {
	for _, s := range all {
		var missing []string
		for _, check := range s.Checks {
			if s.file && check.Algorithm != "" && !slices.ContainsFunc(s.limiters, func(name string) bool {
				claimed := target.Claims(name, o.model)
				return name == check.Algorithm || claimed != nil && claimed.Is(check.Algorithm)
			}) {
				missing = append(missing, check.Algorithm)
			}
		}
		if count := len(missing); count > 0 {
			slices.Sort(missing)
			missing = slices.Compact(missing)
			a.note("%s: %s about what no limiter here is, and left out; -a %s has all", s.Name, are(int64(count), "check"), strings.Join(append(slices.Clone(s.limiters), missing...), ","))
		}
	}
}

// note tells what is worth knowing beside a report.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.Err, "rlbench: note: %s\n", printable(fmt.Sprintf(format, args...)))
}

// targetHint is what helps with a target that cannot do what is asked.
func targetHint(err error) string {
	text := err.Error()
	if m := wantedClock.FindString(text); m != "" {
		return m
	}
	switch {
	case strings.HasPrefix(text, "unknown limiter"), strings.HasPrefix(text, "no limiter"):
		return "rlbench list targets"
	case strings.Contains(text, "in the mapping"), strings.Contains(text, ".yaml:"), strings.Contains(text, ".yml:"),
		strings.Contains(text, "lua:") || strings.Contains(text, ".lua") || strings.Contains(text, "read script"):
		return "docs/your-own-lua.md says how a script and its mapping are written; rlbench list targets"
	case strings.Contains(text, "specimen"):
		return "rlbench list specimens"
	}
	return "leave that algorithm out with --algorithm, or choose a scenario and a --limit that suit it; run all leaves out what does not"
}

var wantedClock = regexp.MustCompile(`--clock (virtual|server|client)`)

// checkModel refuses a model that is none, or that nobody could claim.
func (o *scenarioOptions) checkModel(names []string) error {
	if o.model == "" {
		return nil
	}
	if err := known("model", o.model, models()); err != nil {
		return usage(fmt.Errorf("--model: %w", err), "--model log")
	}
	if !slices.ContainsFunc(names, target.Claimable) {
		return usagef("--algorithm lua:PATH --model "+o.model, "--model cannot apply: bundled limiters are what their names say")
	}
	return nil
}
