package command

import (
	"github.com/spf13/cobra"

	"thresher/internal/cli"
)

// app gives the commands of this package what all commands share.
type app struct{ *cli.App }

// Commands returns the commands duel and slate, to be added to the root command of a.
func Commands(a *cli.App) []*cobra.Command {
	own := &app{a}
	return grouped(newDuelCommand(own), newSlateCommand(own))
}

// DataCommands returns the verbs for the tournaments in a server's data folder, to be added to the command data of a.
func DataCommands(a *cli.App) []*cobra.Command {
	own := &app{a}
	return grouped(newDataExportCommand(own), newDataContinueCommand(own))
}

// grouped has help list the flags of commands under their headings.
func grouped(all ...*cobra.Command) []*cobra.Command {
	for _, cmd := range all {
		flagHeadings.Group(cmd)
	}
	return all
}
