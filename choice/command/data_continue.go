package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"thresher/choice/serve"
	"thresher/internal/cli"
	"thresher/service"
)

func newDataContinueCommand(a *app) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:   "continue-tournament",
		Short: "Go on with a damaged tournament in a new one",
		Long: `Create a tournament that goes on from one that cannot be played (tournament-unplayable),
as it was after the last call before which nothing is missing. Calls whose records are
damaged are taken from the tournament's transcript where that has them. Every call that
is taken over is played again, and must go as it is recorded.

The damaged tournament stays as it is; duels that it issued can be reported to neither,
and are issued again by the new one, unless they were judged in a call that was taken
over. What was judged in calls that were not is in data export-judgments.

No server may use the folder. Exit code 0: all calls were taken over; 1: some were not,
as the output says; 2: none was, or the tournament is unknown or not damaged.`,
		Example: `  thresher data continue-tournament --data /var/lib/thresher --tournament tournament_abc`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if id == "" {
				return errors.New("data continue-tournament: --tournament is missing: the id of a tournament")
			}
			err := service.IsDataFolder(a.Config.Server.Data)
			if err != nil {
				return fmt.Errorf("data continue-tournament: %w", err)
			}
			c, err := serve.ContinueTournament(cmd.Context(), a.Config.Server.Data, id)
			if err != nil {
				return fmt.Errorf("data continue-tournament: %w", err)
			}
			fmt.Fprintf(a.Out, "%s goes on from %s after call %d of %d\n", c.Tournament.ID, id, c.Taken, c.Recorded)
			if c.Taken < c.Recorded {
				return cli.Exit(cli.ExitWrong, fmt.Errorf("data continue-tournament: calls %d to %d were not taken over: %w; data export-judgments has what can be read of them", c.Taken+1, c.Recorded, c.Why))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&id, "tournament", "", "`id` of the tournament")
	cli.AddSettings(cmd, "data")
	return cmd
}
