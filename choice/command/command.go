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
	return []*cobra.Command{newDuelCommand(own), newSlateCommand(own)}
}
