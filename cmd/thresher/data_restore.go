package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
	"thresher/store"
)

func newDataRestoreCommand(a *app) *cobra.Command {
	var from, to string
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Make a data folder of a backup",
		Long: `Copy a backup to a new data folder, and check everything in it. The backup is not
changed, and shares no file with the folder. The folder appears complete or not at all;
it must not exist, or be empty. Of a folder of backups the newest without damage is
taken.

Exit code 0: the folder is restored, and everything in it is intact; 1: it is restored,
and something in it is damaged, as it says; 2: nothing is restored.`,
		Example: `  thresher data restore --from /mnt/backups --to /var/lib/thresher
  thresher data restore --from /mnt/backups/backup-20261128T030000.000Z --to /var/lib/thresher
  thresher serve --data /var/lib/thresher`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" || to == "" {
				return errors.New("data restore: --from and --to are needed: the folder of a backup, and that of the data")
			}
			var items []store.Item
			b, err := a.extensions().RestoreBackup(cmd.Context(), from, to, func(i store.Item) { items = append(items, i) })
			if err != nil {
				return fmt.Errorf("data restore: %w", err)
			}
			if !asJSON {
				fmt.Fprintf(a.Out, "%s is as it was at %s (%s)\n", to, b.CreatedAt.Format("2006-01-02 15:04:05 MST"), b.Name)
			}
			return a.printItems(items, asJSON, all)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "`folder` of the backup, or of backups, of which the newest without damage is taken")
	cmd.Flags().StringVar(&to, "to", "", "data `folder` to make")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	cmd.Flags().BoolVar(&all, "all", false, "list what is intact, too")
	addSettings(cmd)
	return cmd
}
