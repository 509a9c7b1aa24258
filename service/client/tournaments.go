package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// TournamentSpec asks for a tournament. Members that are nil or "" take the server's
// defaults; Mode is "online", with Horizon, or "pac", with Epsilon and Delta.
type TournamentSpec struct {
	Arms         []string `json:"arms"` // distinct names
	Mode         string   `json:"mode"`
	Algorithm    string   `json:"algorithm,omitempty"`
	Horizon      *int64   `json:"horizon,omitempty"`
	Epsilon      *float64 `json:"epsilon,omitempty"`
	Delta        *float64 `json:"delta,omitempty"`
	Gamma        *float64 `json:"gamma,omitempty"`
	Alpha        *float64 `json:"alpha,omitempty"`
	Radius       string   `json:"radius,omitempty"`
	Testing      string   `json:"testing,omitempty"` // "strict", "sweep"
	LeaseSeconds *float64 `json:"lease_seconds,omitempty"`
	Seed         *uint64  `json:"seed,omitempty"`
}

// Tournament is a tournament on the server.
type Tournament struct {
	ID        string `json:"id"`
	CreatedAt int64  `json:"created_at"` // Unix seconds
	TournamentSpec
	Done   bool    `json:"done"`
	Winner *string `json:"winner"` // once done
	// State is nil in lists.
	State *TournamentState `json:"state"`
}

// TournamentState is where a tournament stands.
type TournamentState struct {
	Duels      int64         `json:"duels"`   // results that were taken
	Open       int           `json:"open"`    // duels that are out under a lease
	Waiting    int           `json:"waiting"` // results that wait for one of an earlier duel
	Active     []string      `json:"active"`
	Standings  []Standing    `json:"standings"` // of the active arms; none in the answer to a report
	Eliminated []Elimination `json:"eliminated"`
	// Radius is the present confidence radius of a rate; 0 if there is none that all
	// arms share.
	Radius float64 `json:"confidence_radius"`
	Leader string  `json:"leader"`
	Done   bool    `json:"done"`
	Winner *string `json:"winner"`
	End    string  `json:"end"` // why it is done
	// Guarantee: the winner is worse than the best by more than Epsilon with
	// probability Failure at most; nil if there is none.
	Guarantee *struct {
		Epsilon float64 `json:"epsilon"`
		Failure float64 `json:"failure"`
	} `json:"guarantee"`
}

// Standing is how an active arm does; P is its rate of wins.
type Standing struct {
	Arm   string  `json:"arm"`
	Duels int64   `json:"duels"`
	Wins  int64   `json:"wins"`
	P     float64 `json:"p"`
}

// Elimination says by which rates and radius an arm went out, after At results.
type Elimination struct {
	Arm    string  `json:"arm"`
	At     int64   `json:"at"`
	P      float64 `json:"p"`
	Duels  int64   `json:"duels"`
	Rival  string  `json:"rival"`
	RivalP float64 `json:"rival_p"`
	Radius float64 `json:"radius"`
}

// Tournaments is a part of the list of tournaments, newest first.
type Tournaments struct {
	Data    []Tournament `json:"data"`
	HasMore bool         `json:"has_more"`
}

// Duel is one to be judged: A against B. Others may get it once its lease is over.
type Duel struct {
	ID        uint64    `json:"duel_id"`
	A         string    `json:"a"`
	B         string    `json:"b"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Duels are duels handed out; none while all that can be judged are out.
type Duels struct {
	Duels []Duel `json:"duels"`
	Done  bool   `json:"done"` // there will be no more
}

// DuelResult is who won a duel.
type DuelResult struct {
	DuelID uint64 `json:"duel_id"`
	AWon   bool   `json:"a_won"`
}

// Reported is what became of results, in their order, and where the tournament stands.
type Reported struct {
	Receipts []struct {
		DuelID uint64 `json:"duel_id"`
		// Status is "accepted", "repeated", "settled", "void" or "conflicting".
		Status string `json:"status"`
	} `json:"receipts"`
	TournamentState
}

func tournamentPath(id ...string) []string { return append([]string{"v1", "tournaments"}, id...) }

// CreateTournament begins a tournament; key is its Idempotency-Key, "" makes one.
func (c *Client) CreateTournament(ctx context.Context, spec TournamentSpec, key string) (Tournament, error) {
	k := (&call{method: http.MethodPost, path: tournamentPath()}).keyed(key)
	if err := k.jsonBody(spec); err != nil {
		return Tournament{}, err
	}
	return answerAs[Tournament](ctx, c, k)
}

// Tournament describes a tournament.
func (c *Client) Tournament(ctx context.Context, id string) (Tournament, error) {
	return answerAs[Tournament](ctx, c, &call{method: http.MethodGet, path: tournamentPath(id)})
}

// Tournaments lists tournaments, those after the tournament of this id; limit 0 is the
// server's.
func (c *Client) Tournaments(ctx context.Context, after string, limit int) (Tournaments, error) {
	return answerAs[Tournaments](ctx, c, &call{method: http.MethodGet, path: tournamentPath(), query: paging(after, limit)})
}

// DeleteTournament removes a tournament.
func (c *Client) DeleteTournament(ctx context.Context, id string) error {
	return c.answer(ctx, &call{method: http.MethodDelete, path: tournamentPath(id), removes: true}, nil)
}

// NextDuels asks for up to count duels; key is the Idempotency-Key under which the same
// are given again, "" makes one for this call and its retries. A tournament without more
// is a *Problem of kind tournament-ended.
func (c *Client) NextDuels(ctx context.Context, id string, count int, key string) (Duels, error) {
	k := (&call{method: http.MethodPost, path: tournamentPath(id, "next")}).keyed(key)
	if err := k.jsonBody(map[string]int{"count": count}); err != nil {
		return Duels{}, err
	}
	return answerAs[Duels](ctx, c, k)
}

// ReportDuels tells results, all or, with an error, none. lenient takes those that
// count also when others were withdrawn or contradict what is known.
func (c *Client) ReportDuels(ctx context.Context, id string, results []DuelResult, lenient bool) (Reported, error) {
	k := &call{method: http.MethodPost, path: tournamentPath(id, "report")}
	if lenient {
		k.query = url.Values{"lenient": {"true"}}
	}
	if err := k.jsonBody(results); err != nil {
		return Reported{}, err
	}
	return answerAs[Reported](ctx, c, k)
}
