package command

import (
	"github.com/spf13/cobra"

	"thresher/internal/cli"
)

func newSlateCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "slate",
		Short: "Recommend diverse lists under budgets, and learn from rewards",
		Long: `Recommend lists of items that cover what a user likes without repetition, within
budgets and limits, and learn the user's taste from rewards: recommend makes a list,
feedback reports its rewards, simulate reproduces the experiments of the paper
(Submodular Bandit Problem Under Multiple Constraints, UAI 2020). choice/docs/slates.md
states the guarantees and their assumptions.`,
		Args: cli.NoSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSlateRecommendCommand(a), newSlateFeedbackCommand(a), newSlateSimulateCommand(a))
	return cmd
}
