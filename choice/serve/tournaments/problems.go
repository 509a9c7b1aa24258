package tournaments

import (
	"net/http"

	"thresher/service/problem"
)

// The kinds of problems that only tournaments have.
var (
	UnknownTournament = problem.Declare("unknown-tournament", http.StatusNotFound, "Unknown tournament")
	UnknownDuel       = problem.Declare("unknown-duel", http.StatusNotFound, "The duel was never issued")
	DuelWithdrawn     = problem.Declare("duel-withdrawn", http.StatusConflict, "The duel was withdrawn")
	TournamentEnded   = problem.Declare("tournament-ended", http.StatusConflict, "The tournament has ended")
	Unplayable        = problem.Declare("tournament-unplayable", http.StatusInternalServerError, "The tournament's log cannot be replayed")
)
