package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			m := a.Machine()
			_, err := fmt.Fprintf(a.Out, "rlbench %s %s %s/%s\n", m.Rlbench, m.Go, m.OS, m.Arch)
			return err
		},
	}
}
