package main

import (
	"github.com/spf13/cobra"

	"thresher/internal/cli"
)

func newPaperCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "paper",
		Short: "Reproduce the figures and tables of the papers",
		Long: `Reproduce the figures and tables of the papers whose methods thresher has: BoundedME,
BanditMIPS, Beat-the-Mean and AFSM-UCB. docs/papers.md sets what comes out beside what
the papers say.`,
		Args: cli.NoSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPaperListCommand(a), newPaperRunCommand(a))
	return cmd
}
