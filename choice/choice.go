// Package choice is what the program knows of duels and slates: commands to add to its own, and extensions of the
// service. No other package of the program imports anything below this folder.
package choice

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"thresher/choice/command"
	"thresher/choice/serve"
	"thresher/config"
	"thresher/internal/cli"
	"thresher/service/extension"
	"thresher/service/metrics"
)

// Commands returns the commands duel and slate, for the root command of a.
func Commands(a *cli.App) []*cobra.Command { return command.Commands(a) }

// DataCommands returns the verbs for the tournaments in the data folder of a server, for the command data of a.
func DataCommands(a *cli.App) []*cobra.Command { return command.DataCommands(a) }

// Extensions are what a server with settings c serves beside collections, files and offline jobs, and what is checked
// and repaired in its data folder. Nothing is counted.
func Extensions(c *config.Server) []extension.Extension { return serve.New(options(c)) }

// CountedExtensions are the same, with metrics in r; those by collection have the labels of the server's own metrics.
// It fails if r has metrics of these names.
func CountedExtensions(c *config.Server, r prometheus.Registerer, server *metrics.Metrics) ([]extension.Extension, error) {
	counted, err := serve.NewMetrics(r, server)
	if err != nil {
		return nil, err
	}
	o := options(c)
	o.Metrics = counted
	return serve.New(o), nil
}

func options(c *config.Server) serve.Options {
	return serve.Options{
		Tournaments: c.MaxTournaments, Arms: c.MaxArms, Duels: c.MaxDuels, TournamentMemory: c.TournamentMemory, TournamentKeep: c.TournamentKeep,
		SlateUsers: c.MaxSlateUsers, SlateItems: c.MaxSlateItems, Results: c.MaxResults, Slates: c.MaxSlates, SlateKeep: c.SlateKeep, SlateMemory: c.SlateMemory,
	}
}
