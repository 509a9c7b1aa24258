package main

import (
	"github.com/spf13/cobra"
)

func newSlateCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "slate",
		Short: "Recommend diverse lists under budgets, and learn from rewards",
		Long: `Recommend lists of items that cover what a user likes without repeating themselves,
within budgets and limits, and learn from rewards what that is: recommend makes a
list, feedback says how it was liked, simulate repeats the experiments of the paper
(Submodular Bandit Problem Under Multiple Constraints, UAI 2020). docs/slates.md says
what is promised, and when.`,
		Args: noSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSlateRecommendCommand(a), newSlateFeedbackCommand(a), newSlateSimulateCommand(a))
	return cmd
}
