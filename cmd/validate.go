package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rlbench/rlbench/scenarios"
)

func validateCommand(a *app) *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Report all mistakes of scenario files; opens no socket",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("rlbench show boundary-burst > mine.yaml; rlbench validate mine.yaml", "validate: no file is named")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			p, err := o.player(a, c)
			if err != nil {
				return err
			}
			var errs []error
			for _, name := range args {
				s, err := a.readFile(name)
				if err == nil {
					err = p.planned(s, name)
				}
				switch {
				case errors.Is(err, errNoLog):
					fmt.Fprintf(a.Out, "%s: ok, once --trace names the log that it replays\n", name)
				case err != nil:
					errs = append(errs, err)
				default:
					fmt.Fprintf(a.Out, "%s: ok\n", name)
				}
			}
			if err = errors.Join(errs...); err == nil {
				err = p.applied()
			}
			if err != nil {
				return usage(err, hintOf(err, "rlbench show boundary-burst prints a scenario that is right"))
			}
			return nil
		},
	}
	o.flags(c)
	return c
}

// planned reports whether a plan can be made of a scenario.
func (p *player) planned(s *scenarios.Scenario, name string) error {
	if err := p.fill(s, name); err != nil {
		return err
	}
	_, err := scenarios.NewPlan(s)
	return err
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
