package tournaments

import (
	"thresher/choice/duel"
	"thresher/choice/serve/choiceapi"
	"thresher/service/api"
)

// The types of tournaments that clients see.
type (
	Spec        = choiceapi.TournamentSpec
	Tournament  = choiceapi.Tournament
	State       = choiceapi.TournamentState
	Standing    = choiceapi.Standing
	Elimination = choiceapi.Elimination
	Duel        = choiceapi.Duel
	Duels       = choiceapi.Duels
	Receipt     = choiceapi.Receipt
	Reported    = choiceapi.Reported
	Undone      = choiceapi.Undone
	Page        = api.Page[Tournament]
)

// pageBytes bounds the bytes of records on a page, because names may be long.
const pageBytes = 1 << 20

// viewState adds the arms' names to a state; standings on request.
func viewState(arms []string, s duel.State, standings bool) State {
	v := State{
		Duels: s.Duels, Ties: s.Ties, Undone: s.Undone, Open: s.Open, Waiting: s.Waiting, Active: []string{}, Eliminated: []Elimination{}, Undoable: []uint64{},
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
		v.Guarantee = &choiceapi.Guarantee{Epsilon: g.Epsilon, Failure: g.Failure}
	}
	if x := s.Standoff; x != nil {
		v.Standoff = &choiceapi.Standoff{A: arms[x.A], B: arms[x.B], Duels: x.Duels, Wins: x.Wins, P: x.Rate, Low: x.Low, High: x.High, Needed: x.Needed}
	}
	if r := s.Ranking; r != nil {
		v.Ranking = viewRanking(arms, r)
	}
	if c := s.Copeland; c != nil {
		v.Copeland = viewCopeland(arms, c)
	}
	if l := s.Lean; l != nil {
		v.Lean = &choiceapi.Lean{Duels: l.Duels, Estimate: l.Estimate, Low: l.Low, High: l.High}
	}
	return v
}

// viewRanking adds the arms' names to a ranking.
func viewRanking(arms []string, r *duel.Ranking) *choiceapi.Ranking {
	v := &choiceapi.Ranking{Places: []choiceapi.Place{}, Top: r.Top, Safe: r.Safe, Pairs: r.Pairs, Failure: r.Failure}
	for _, p := range r.Places {
		v.Places = append(v.Places, choiceapi.Place{Arm: arms[p.Arm], First: p.First, Last: p.Last})
	}
	return v
}

// viewCopeland adds the arms' names to scores.
func viewCopeland(arms []string, c *duel.Scores) *choiceapi.Copeland {
	v := &choiceapi.Copeland{Arms: []choiceapi.Score{}, Winners: []string{}, Known: c.Known, Circle: c.Circle, Failure: c.Failure}
	for _, x := range c.Arms {
		v.Arms = append(v.Arms, choiceapi.Score{Arm: arms[x.Arm], Low: x.Low, High: x.High, Lost: x.Lost})
	}
	for _, a := range c.Winners {
		v.Winners = append(v.Winners, arms[a])
	}
	if c.Condorcet >= 0 {
		v.BeatsAll = &arms[c.Condorcet]
	}
	return v
}

// viewJudges adds the arms' names to the records of judges; j may be nil.
func viewJudges(arms []string, j *duel.Judges) *choiceapi.Judges {
	if j == nil {
		return nil
	}
	v := &choiceapi.Judges{Judges: []choiceapi.Judge{}, Disputed: []choiceapi.Dispute{}, Unlisted: j.Unlisted}
	for _, x := range j.Judges {
		y := choiceapi.Judge{Judge: x.Judge, Judgments: x.Judgments, Ties: x.Ties}
		if l := x.Lean; l != nil {
			y.Lean = &choiceapi.Lean{Duels: l.Duels, Estimate: l.Estimate, Low: l.Low, High: l.High}
		}
		if g := x.Agreement; g != nil {
			y.Agreement = &choiceapi.Agreement{Compared: g.Compared, Rate: g.Rate, Low: g.Low, High: g.High}
		}
		v.Judges = append(v.Judges, y)
	}
	for _, d := range j.Disputed {
		v.Disputed = append(v.Disputed, choiceapi.Dispute{A: arms[d.A], B: arms[d.B], Judges: d.Judges, AWins: d.AWins, BWins: d.BWins, Ties: d.Ties})
	}
	return v
}

// viewTies returns the pairs with the most ties.
func viewTies(arms []string, t *duel.Tournament) (v []choiceapi.TiedPair) {
	_, pairs := t.Ties()
	for _, p := range pairs {
		v = append(v, choiceapi.TiedPair{A: arms[p.A], B: arms[p.B], Ties: p.Ties})
	}
	return v
}

// viewDuels adds the arms' names to duels, with the ids that clients see.
func viewDuels(arms []string, n *numbers, duels []duel.Duel) []Duel {
	v := make([]Duel, len(duels))
	for i, d := range duels {
		v[i] = Duel{ID: n.shown(d.ID), A: arms[d.A], B: arms[d.B], ExpiresAt: d.Expires.UTC()}
	}
	return v
}
