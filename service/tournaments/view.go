package tournaments

import (
	"thresher/duel"
	"thresher/service/api"
)

// The types of tournaments that clients see.
type (
	Spec        = api.TournamentSpec
	Tournament  = api.Tournament
	State       = api.TournamentState
	Standing    = api.Standing
	Elimination = api.Elimination
	Duel        = api.Duel
	Duels       = api.Duels
	Receipt     = api.Receipt
	Reported    = api.Reported
	Page        = api.Page[Tournament]
)

// pageBytes bounds the bytes of records on a page, because names may be long.
const pageBytes = 1 << 20

// viewState adds the arms' names to a state; standings on request.
func viewState(arms []string, s duel.State, standings bool) State {
	v := State{
		Duels: s.Duels, Open: s.Open, Waiting: s.Waiting, Active: []string{}, Eliminated: []Elimination{},
		Radius: s.Radius, Leader: arms[s.Leader], Done: s.Done, End: string(s.End),
	}
	for _, a := range s.Active {
		v.Active = append(v.Active, arms[a])
	}
	if standings {
		for _, x := range s.Standings {
			v.Standings = append(v.Standings, Standing{Arm: arms[x.Arm], Duels: x.Duels, Wins: x.Wins, P: x.Rate})
		}
	}
	for _, e := range s.Eliminated {
		v.Eliminated = append(v.Eliminated, Elimination{
			Arm: arms[e.Arm], At: e.At, P: e.Rate, Duels: e.Duels, Rival: arms[e.Rival], RivalP: e.RivalRate, Radius: e.Radius,
		})
	}
	if s.Done {
		v.Winner = &arms[s.Leader]
	}
	if g := s.Guarantee; g != nil {
		v.Guarantee = &api.Guarantee{Epsilon: g.Epsilon, Failure: g.Failure}
	}
	if l := s.Lean; l != nil {
		v.Lean = &api.Lean{Duels: l.Duels, Estimate: l.Estimate, Low: l.Low, High: l.High}
	}
	return v
}

// viewDuels adds the arms' names to duels.
func viewDuels(arms []string, duels []duel.Duel) []Duel {
	v := make([]Duel, len(duels))
	for i, d := range duels {
		v[i] = Duel{ID: d.ID, A: arms[d.A], B: arms[d.B], ExpiresAt: d.Expires.UTC()}
	}
	return v
}
