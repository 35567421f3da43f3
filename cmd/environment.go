package cmd

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlbench/rlbench/scenarios"
)

// envName is the environment variable of a flag: --max-in-flight is
// RLBENCH_MAX_IN_FLIGHT.
func envName(flag string) string {
	return "RLBENCH_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// environment fills flags that the command line left alone from RLBENCH_*
// variables, before the command runs.
func (a *app) environment(next func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		a.fromEnv = map[string]bool{}
		var errs []error
		c.Flags().VisitAll(func(f *pflag.Flag) {
			value, ok := a.Env(envName(f.Name))
			if !ok || value == "" || f.Changed || f.Name == "help" {
				return
			}
			if f.Name == "set" {
				// It would let a variable change what the file says.
				errs = append(errs, fmt.Errorf("environment %s: a variable gives way to a scenario and cannot change it; use --set", envName(f.Name)))
				return
			}
			if err := c.Flags().Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("environment %s=%q does not suit --%s: %w", envName(f.Name), value, f.Name, errors.Unwrap(err)))
				return
			}
			a.fromEnv[f.Name] = true
		})
		if len(errs) > 0 {
			return usage(errors.Join(errs...), "unset the variable, or see "+c.CommandPath()+" --help")
		}
		if next != nil {
			return next(c, args)
		}
		return nil
	}
}

// given reports whether the command line itself set a flag.
func (a *app) given(c *cobra.Command, flag string) bool {
	return c.Flags().Changed(flag) && !a.fromEnv[flag]
}

var unknownFlag = regexp.MustCompile(`^unknown flag: --([\w-]+)`)

// suggestFlag adds what was probably meant to an unknown flag.
func suggestFlag(c *cobra.Command, err error) error {
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	if nearest, ok := scenarios.Nearest(m[1], known); ok {
		return fmt.Errorf("unknown flag --%s (did you mean --%s?)", m[1], nearest)
	}
	return err
}
