package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/scenarios"
)

func validateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Report all mistakes of scenario files; opens no socket",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("rlbench show boundary-burst > mine.yaml; rlbench validate mine.yaml", "validate: no file is named")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var errs []error
			for _, name := range args {
				s, err := a.readFile(name)
				if err == nil {
					_, err = scenarios.NewPlan(s)
				}
				if err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(a.Out, "%s: ok\n", name)
			}
			if err := errors.Join(errs...); err != nil {
				return usage(err, "rlbench show boundary-burst prints a scenario that is right")
			}
			return nil
		},
	}
}

// readFile reads a file whatever its name, or stdin.
func (a *app) readFile(name string) (*scenarios.Scenario, error) {
	if name == "-" {
		return a.read(name, scenarios.BuiltinDefaults(), nil)
	}
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return scenarios.Read(f, name, scenarios.BuiltinDefaults())
}
