package choiceapi

import "time"

// TournamentSpec is the request that creates a tournament. Members that are nil or "" take
// the server's defaults; Mode is "online", with Horizon, or "pac", with Epsilon and Delta. The
// algorithm "anytime", the default, does without Epsilon, and in mode "pac" takes Horizon as
// the greatest number of duels; so do "rank", which orders all arms or finds the top ones, and
// "copeland", which finds those that beat the most others.
type TournamentSpec struct {
	Arms      []string `json:"arms"` // distinct names
	Mode      string   `json:"mode"`
	Algorithm string   `json:"algorithm,omitempty"`
	Horizon   *int64   `json:"horizon,omitempty"`
	Epsilon   *float64 `json:"epsilon,omitempty"`
	Delta     *float64 `json:"delta,omitempty"`
	Top       *int     `json:"top,omitempty"` // of "rank": how many places to fill; nil orders all arms
	Gamma     *float64 `json:"gamma,omitempty"`
	Alpha     *float64 `json:"alpha,omitempty"`
	Radius    string   `json:"radius,omitempty"`
	Testing   string   `json:"testing,omitempty"` // "strict", "sweep"
	// LeaseSeconds is how long a duel is reserved for the client it was issued to.
	LeaseSeconds *float64 `json:"lease_seconds,omitempty"`
	Seed         *uint64  `json:"seed,omitempty"`
}

// Tournament is a tournament on the server.
type Tournament struct {
	ID             string `json:"id"`
	Object         string `json:"object"`     // "tournament"
	CreatedAt      int64  `json:"created_at"` // Unix seconds
	TournamentSpec        // with defaults filled in
	// Assumes is what the guarantee assumes of the preferences, "" if nothing.
	Assumes string `json:"assumes,omitempty"`
	Done    bool   `json:"done"`
	// Winner is the arm that is named best once Done.
	Winner *string `json:"winner"`
	// State is nil in lists.
	State *TournamentState `json:"state,omitempty"`
}

// TournamentState is the state of a tournament, with arms by name.
type TournamentState struct {
	// Duels counts accepted results, Open the duels that are issued under a lease, Waiting
	// the results that wait for the result of an earlier duel.
	Duels   int64    `json:"duels"`
	Open    int      `json:"open"`
	Waiting int      `json:"waiting"`
	Active  []string `json:"active"`
	// Standings are those of the active arms; not sent in the answer to a report.
	Standings  []Standing    `json:"standings,omitempty"`
	Eliminated []Elimination `json:"eliminated"` // in order of elimination
	// Radius is the current confidence radius of a rate; 0 if the arms have no common one.
	Radius float64 `json:"confidence_radius"`
	Leader string  `json:"leader"`
	Done   bool    `json:"done"`
	Winner *string `json:"winner"`
	// End says why the tournament ended.
	End       string     `json:"end,omitempty"`
	Guarantee *Guarantee `json:"guarantee"` // of the winner, or the leader so far; null if there is none
	// Ranking is what "rank" knows, Copeland what "copeland" does; nil with other algorithms.
	Ranking  *Ranking  `json:"ranking,omitempty"`
	Copeland *Copeland `json:"copeland,omitempty"`
	// Standoff is a pair that is hard to tell apart, so that the end may be far off or never come.
	Standoff *Standoff `json:"standoff,omitempty"`
	// Undoable are the duels of the last report, whose judgments an undo takes back; empty if none is
	// left. Undone counts the undos.
	Undoable []uint64 `json:"undoable"`
	Undone   int64    `json:"undone,omitempty"`
	// Lean is nil in tournaments of earlier releases, in which the order of two arms is not
	// drawn at random.
	Lean *Lean `json:"lean,omitempty"`
	// Ties counts those of the Duels that a coin settled. TiedPairs, those with the most, and
	// Judges are not sent in the answer to a report; Judges is nil if none gave a name.
	Ties      int64      `json:"ties,omitempty"`
	TiedPairs []TiedPair `json:"tied_pairs,omitempty"`
	Judges    *Judges    `json:"judges,omitempty"`
}

// Ranking bounds the places of all arms: with probability at least 1 - Failure all of them hold
// together, whenever one looks. Of the Pairs that decide the first Top places, Safe are known.
type Ranking struct {
	Places  []Place `json:"places"` // best first; a guess where places overlap
	Top     int     `json:"top"`
	Safe    int     `json:"safe"`
	Pairs   int     `json:"pairs"`
	Failure float64 `json:"failure"`
}

// Place is the places that an arm may have, counted from 1.
type Place struct {
	Arm   string `json:"arm"`
	First int    `json:"first"`
	Last  int    `json:"last"`
}

// Copeland bounds how many others each arm beats, with probability at least 1 - Failure. Winners
// have the greatest score once Known, or may have it until then.
type Copeland struct {
	Arms    []Score  `json:"arms"`
	Winners []string `json:"winners"`
	Known   bool     `json:"known"`
	// BeatsAll is the arm that is known to beat all others, null if none is; Circle says that every
	// arm is beaten by another.
	BeatsAll *string `json:"beats_all"`
	Circle   bool    `json:"circle"`
	Failure  float64 `json:"failure"`
}

// Score bounds the number of arms that an arm beats; one to which it is even counts 1/2. Lost says
// that another is known to beat it.
type Score struct {
	Arm  string  `json:"arm"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Lost bool    `json:"lost"`
}

// Standoff is a pair that judges prefer about equally: A won Wins of Duels against B. Low and High
// bound the probability P of that, at all times and for all pairs with probability 95%. Needed is
// about how many duels of the two it takes in all if P is right; 0 if no number suffices.
type Standoff struct {
	A      string  `json:"a"`
	B      string  `json:"b"`
	Duels  int64   `json:"duels"`
	Wins   int64   `json:"wins"`
	P      float64 `json:"p"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Needed int64   `json:"needed,omitempty"`
}

// TiedPair counts the ties of two arms.
type TiedPair struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Ties int64  `json:"ties"`
}

// Judges are the records of judges who gave a name, and the pairs of which the most judgments
// differ from the most frequent verdict. Unlisted judgments are in no record.
type Judges struct {
	Judges   []Judge   `json:"judges"`
	Disputed []Dispute `json:"disputed"`
	Unlisted int64     `json:"unlisted,omitempty"`
}

// Judge is the record of a judge; Agreement is nil if no pair was judged by another too.
type Judge struct {
	Judge     string     `json:"judge"`
	Judgments int64      `json:"judgments"`
	Ties      int64      `json:"ties"`
	Lean      *Lean      `json:"lean,omitempty"`
	Agreement *Agreement `json:"agreement,omitempty"`
}

// Agreement is how often a judge says the same as another of a pair, with bounds that hold
// with probability 95% for one look, from Compared pairs of judgments.
type Agreement struct {
	Compared int64   `json:"compared"`
	Rate     float64 `json:"rate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Dispute counts the verdicts of several judges on two arms.
type Dispute struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Judges int    `json:"judges"`
	AWins  int64  `json:"a_wins"`
	BWins  int64  `json:"b_wins"`
	Ties   int64  `json:"ties"`
}

// Lean estimates how much judges prefer the arm that is shown first: its probability to win
// less 1/2, from Duels, with bounds that hold at all times together with probability 95%.
type Lean struct {
	Duels    int64   `json:"duels"`
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Guarantee says that the winner, or leader, is worse than the best arm by more than Epsilon with
// probability Failure at most, if what the tournament Assumes is true.
type Guarantee struct {
	Epsilon float64 `json:"epsilon"`
	Failure float64 `json:"failure"`
}

// Standing is the record of an active arm over the duels that count for it.
type Standing struct {
	Arm   string  `json:"arm"`
	Duels int64   `json:"duels"`
	Wins  int64   `json:"wins"`
	P     float64 `json:"p"` // rate of wins
}

// Elimination describes why an arm was eliminated: its rate of wins P over Duels, the rival's
// rate, and the radius (0 for "anytime", which has none), after At results.
type Elimination struct {
	Arm    string  `json:"arm"`
	At     int64   `json:"at"`
	P      float64 `json:"p"`
	Duels  int64   `json:"duels"`
	Rival  string  `json:"rival"`
	RivalP float64 `json:"rival_p"`
	Radius float64 `json:"radius"`
}

// Duel is a duel to be judged: A, shown first, against B. It may be issued to another client once the lease
// expires.
type Duel struct {
	ID        uint64    `json:"duel_id"`
	A         string    `json:"a"`
	B         string    `json:"b"`
	ExpiresAt time.Time `json:"expires_at"` // of the lease
}

// Duels answers a request for duels. It is empty while all duels that can be judged are
// issued, or when the call met only duels of an arm against itself; the client then asks
// again.
type Duels struct {
	Duels []Duel `json:"duels"`
	Done  bool   `json:"done"` // no more duels will follow
}

// DuelResult is the result of a duel: AWon, or Tie if neither arm is better. With Skip there
// is none: the duel is issued again, to other judges first. Judge names the judge, if known.
type DuelResult struct {
	DuelID uint64 `json:"duel_id"`
	AWon   *bool  `json:"a_won,omitempty"`
	Tie    bool   `json:"tie,omitempty"`
	Skip   bool   `json:"skip,omitempty"`
	Judge  string `json:"judge,omitempty"`
}

// Receipt says what was done with a result.
type Receipt struct {
	DuelID uint64 `json:"duel_id"`
	Status string `json:"status"` // "accepted", "repeated", "settled", "void", "conflicting" or "skipped"
}

// Reported is the answer to a report.
type Reported struct {
	Receipts []Receipt `json:"receipts"` // in the order of the results
	TournamentState
}

// UndoSpec is the request to take back the judgments of the last report: of the one with the duel
// DuelID or, if that is 0, whichever it is.
type UndoSpec struct {
	DuelID uint64 `json:"duel_id,omitempty"`
}

// Undone is the answer to an undo. The duels are issued again, under new ids; the ids of all duels
// that were issued since the report are withdrawn.
type Undone struct {
	UndoneDuels []uint64 `json:"undone_duels"` // by their ids until then
	TournamentState
}
