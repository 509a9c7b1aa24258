package tournaments

import (
	"time"

	"thresher/duel"
)

// Tournament is what clients see.
type Tournament struct {
	ID        string `json:"id"`
	Object    string `json:"object"`     // "tournament"
	CreatedAt int64  `json:"created_at"` // Unix seconds
	Spec             // with defaults filled in
	Done      bool   `json:"done"`
	// Winner is the best arm once Done.
	Winner *string `json:"winner"`
	// State is nil in lists.
	State *State `json:"state,omitempty"`
}

// State is where a tournament stands, with arms by their names.
type State struct {
	// Duels counts results that were taken, Open duels that are out under a lease,
	// Waiting results that wait for one of an earlier duel.
	Duels   int64    `json:"duels"`
	Open    int      `json:"open"`
	Waiting int      `json:"waiting"`
	Active  []string `json:"active"`
	// Standings are those of the active arms.
	Standings  []Standing    `json:"standings,omitempty"`
	Eliminated []Elimination `json:"eliminated"` // in order
	// Radius is the present confidence radius of a rate; 0 if there is none that all
	// arms share.
	Radius float64 `json:"confidence_radius"`
	Leader string  `json:"leader"`
	Done   bool    `json:"done"`
	Winner *string `json:"winner"`
	// End says why it is done.
	End       duel.End        `json:"end,omitempty"`
	Guarantee *duel.Guarantee `json:"guarantee"` // of the winner; null if there is none
}

// Standing is how an active arm does, by the duels that count for it.
type Standing struct {
	Arm   string  `json:"arm"`
	Duels int64   `json:"duels"`
	Wins  int64   `json:"wins"`
	P     float64 `json:"p"`
}

// Elimination says by which figures an arm went out: its rate of wins P over Duels,
// that of the rival, and the radius, after At results.
type Elimination struct {
	Arm    string  `json:"arm"`
	At     int64   `json:"at"`
	P      float64 `json:"p"`
	Duels  int64   `json:"duels"`
	Rival  string  `json:"rival"`
	RivalP float64 `json:"rival_p"`
	Radius float64 `json:"radius"`
}

// Duel is one to be judged: A against B.
type Duel struct {
	ID        uint64    `json:"duel_id"`
	A         string    `json:"a"`
	B         string    `json:"b"`
	ExpiresAt time.Time `json:"expires_at"` // of the lease
}

// Handed answers a call for duels. There are none while all that can be judged are out,
// or when the call met only duels of an arm against itself; then it is to be made again.
type Handed struct {
	Duels []Duel `json:"duels"`
	Done  bool   `json:"done"` // there will be no more
}

// Receipt says what became of a result.
type Receipt struct {
	DuelID uint64      `json:"duel_id"`
	Status duel.Status `json:"status"`
}

// Reported answers a report.
type Reported struct {
	Receipts []Receipt `json:"receipts"` // in the order of the results
	State
}

// Page is a part of the list of tournaments, newest first.
type Page struct {
	Object  string       `json:"object"` // "list"
	Data    []Tournament `json:"data"`
	FirstID *string      `json:"first_id"`
	LastID  *string      `json:"last_id"`
	HasMore bool         `json:"has_more"`
}

// pageBytes is how many bytes of records a page lists at most: names may be long.
const pageBytes = 1 << 20

// viewState names the arms of a state; standings on request.
func viewState(arms []string, s duel.State, standings bool) State {
	v := State{
		Duels: s.Duels, Open: s.Open, Waiting: s.Waiting, Active: []string{}, Eliminated: []Elimination{},
		Radius: s.Radius, Leader: arms[s.Leader], Done: s.Done, End: s.End, Guarantee: s.Guarantee,
	}
	for _, a := range s.Active {
		v.Active = append(v.Active, arms[a])
	}
	if standings {
		for _, x := range s.Standings {
			v.Standings = append(v.Standings, Standing{arms[x.Arm], x.Duels, x.Wins, x.Rate})
		}
	}
	for _, e := range s.Eliminated {
		v.Eliminated = append(v.Eliminated, Elimination{arms[e.Arm], e.At, e.Rate, e.Duels, arms[e.Rival], e.RivalRate, e.Radius})
	}
	if s.Done {
		v.Winner = &arms[s.Leader]
	}
	return v
}

// viewDuels names the arms of duels.
func viewDuels(arms []string, duels []duel.Duel) []Duel {
	v := make([]Duel, len(duels))
	for i, d := range duels {
		v[i] = Duel{d.ID, arms[d.A], arms[d.B], d.Expires.UTC()}
	}
	return v
}
