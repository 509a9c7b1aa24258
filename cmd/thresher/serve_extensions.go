package main

import (
	choice "thresher/choice/serve"
	"thresher/service"
)

// extensions are what serve offers beside collections, files and offline jobs, and the commands of data find in
// its folder. m counts what they do, nil for nothing.
func (a *app) extensions(m *choice.Metrics) service.Extensions {
	c := &a.Config.Server
	return choice.New(choice.Options{
		Tournaments: c.MaxTournaments, Arms: c.MaxArms, Duels: c.MaxDuels, TournamentMemory: c.TournamentMemory, TournamentKeep: c.TournamentKeep,
		SlateUsers: c.MaxSlateUsers, SlateItems: c.MaxSlateItems, Results: c.MaxResults, Slates: c.MaxSlates, SlateKeep: c.SlateKeep, SlateMemory: c.SlateMemory,
		Metrics: m,
	})
}
