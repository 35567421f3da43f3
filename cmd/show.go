package cmd

import (
	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/scenarios"
)

func showCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "show SCENARIO",
		Short:             "Print a built-in scenario as YAML to edit",
		Example:           "  rlbench show boundary-burst > mine.yaml",
		Args:              exactlyOne("show", "scenario", "rlbench show boundary-burst"),
		ValidArgsFunction: scenarioNames,
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := scenarios.BuiltinNamed(args[0])
			if err != nil {
				return usage(err, "rlbench list scenarios")
			}
			_, err = a.Out.Write(b.Source)
			return err
		},
	}
}

// exactlyOne refuses any other number of arguments.
func exactlyOne(command, what, hint string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef(hint, "%s: want one %s, there are %d", command, what, len(args))
		}
		return nil
	}
}
