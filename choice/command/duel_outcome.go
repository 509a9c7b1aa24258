package command

import (
	"encoding/json"
	"io"

	"thresher/choice/duel"
)

// outcomeLine says how a tournament stands: the last line of --jsonl, and part of --json.
type outcomeLine struct {
	Done   bool       `json:"done"`
	Winner string     `json:"winner,omitempty"` // empty until Done
	Leader string     `json:"leader"`
	State  duel.State `json:"state"`
	// TiesOfArms are in the order of the arms; absent without ties.
	TiesOfArms  []int64         `json:"ties_of_arms,omitempty"`
	TiesOfPairs []duel.PairTies `json:"ties_of_pairs,omitempty"`
	Judges      *duel.Judges    `json:"judges,omitempty"`
}

// outcomeOutput is the output of --json.
type outcomeOutput struct {
	outcomeLine
	Arms   []string    `json:"arms"` // names of arms, which are numbers in state, ties and judges
	Design duel.Design `json:"design"`
	Kept   string      `json:"kept_in"` // the tournament's file
}

func (t *tournament) outcome() outcomeLine {
	s := t.State()
	o := outcomeLine{Done: s.Done, Leader: t.names[s.Leader], State: s, Judges: t.Judges()}
	o.TiesOfArms, o.TiesOfPairs = t.Ties()
	if s.Done {
		o.Winner = o.Leader
	}
	return o
}

// writeOutcome writes the output of --json.
func (t *tournament) writeOutcome(w io.Writer) error {
	return json.NewEncoder(w).Encode(outcomeOutput{t.outcome(), t.names, t.Config().Design, t.file.path})
}
