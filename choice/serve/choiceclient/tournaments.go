package choiceclient

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"thresher/choice/serve/choiceapi"
	"thresher/service/api"
	"thresher/service/client"
)

func tournamentPath(id ...string) []string { return append([]string{"v1", "tournaments"}, id...) }

// CreateTournament creates a tournament; key is its Idempotency-Key, "" draws one.
func (c *Client) CreateTournament(ctx context.Context, spec choiceapi.TournamentSpec, key string) (choiceapi.Tournament, error) {
	return answerAs[choiceapi.Tournament](ctx, c, client.Call{Method: http.MethodPost, Path: tournamentPath(), Body: spec, Key: drawn(key)})
}

// Tournament describes a tournament.
func (c *Client) Tournament(ctx context.Context, id string) (choiceapi.Tournament, error) {
	return answerAs[choiceapi.Tournament](ctx, c, client.Call{Method: http.MethodGet, Path: tournamentPath(id)})
}

// Tournaments lists the tournaments created before the tournament with id after; limit 0
// means the server's default.
func (c *Client) Tournaments(ctx context.Context, after string, limit int) (api.Page[choiceapi.Tournament], error) {
	return answerAs[api.Page[choiceapi.Tournament]](ctx, c, client.Call{Method: http.MethodGet, Path: tournamentPath(), Query: client.Paging(after, limit)})
}

// Judgments returns the lines of JSON that say what was judged in a tournament; the caller closes it. The
// last one is a choiceapi.JudgmentsEnd, unless the answer was cut off.
func (c *Client) Judgments(ctx context.Context, id string) (io.ReadCloser, error) {
	return c.Stream(ctx, client.Call{Method: http.MethodGet, Path: tournamentPath(id, "judgments")})
}

// DeleteTournament removes a tournament.
func (c *Client) DeleteTournament(ctx context.Context, id string) error {
	return c.Do(ctx, client.Call{Method: http.MethodDelete, Path: tournamentPath(id), Removes: true}, nil)
}

// NextDuels requests up to count duels; key is the Idempotency-Key under which the same duels
// are returned again, "" draws one for this call and its retries. If the tournament has ended
// the error is a *client.Problem of kind tournament-ended.
func (c *Client) NextDuels(ctx context.Context, id string, count int, key string) (choiceapi.Duels, error) {
	return answerAs[choiceapi.Duels](ctx, c, client.Call{Method: http.MethodPost, Path: tournamentPath(id, "next"), Body: map[string]int{"count": count}, Key: drawn(key)})
}

// UndoDuel takes back the last report's judgments, also of an elimination or a winner; with a duel that
// is not 0 only if it was that of the duel. key is the Idempotency-Key, "" draws one for this call and
// its retries. The error is a *client.Problem of kind conflict if another judgment was the last, or none is
// left.
func (c *Client) UndoDuel(ctx context.Context, id string, duel uint64, key string) (choiceapi.Undone, error) {
	return answerAs[choiceapi.Undone](ctx, c, client.Call{Method: http.MethodPost, Path: tournamentPath(id, "undo"), Body: choiceapi.UndoSpec{DuelID: duel}, Key: drawn(key)})
}

// ReportDuels reports results: all are accepted or, with an error, none. With lenient the
// valid ones are accepted even if others were withdrawn or contradict earlier results.
func (c *Client) ReportDuels(ctx context.Context, id string, results []choiceapi.DuelResult, lenient bool) (choiceapi.Reported, error) {
	k := client.Call{Method: http.MethodPost, Path: tournamentPath(id, "report"), Body: results}
	if lenient {
		k.Query = url.Values{"lenient": {"true"}}
	}
	return answerAs[choiceapi.Reported](ctx, c, k)
}
