package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"thresher/service/api"
)

func tournamentPath(id ...string) []string { return append([]string{"v1", "tournaments"}, id...) }

// CreateTournament creates a tournament; key is its Idempotency-Key, "" draws one.
func (c *Client) CreateTournament(ctx context.Context, spec api.TournamentSpec, key string) (api.Tournament, error) {
	k := (&call{method: http.MethodPost, path: tournamentPath()}).keyed(key)
	if err := k.jsonBody(spec); err != nil {
		return api.Tournament{}, err
	}
	return answerAs[api.Tournament](ctx, c, k)
}

// Tournament describes a tournament.
func (c *Client) Tournament(ctx context.Context, id string) (api.Tournament, error) {
	return answerAs[api.Tournament](ctx, c, &call{method: http.MethodGet, path: tournamentPath(id)})
}

// Tournaments lists the tournaments created before the tournament with id after; limit 0
// means the server's default.
func (c *Client) Tournaments(ctx context.Context, after string, limit int) (api.Page[api.Tournament], error) {
	return answerAs[api.Page[api.Tournament]](ctx, c, &call{method: http.MethodGet, path: tournamentPath(), query: paging(after, limit)})
}

// Judgments returns the lines of JSON that say what was judged in a tournament; the caller closes it. The
// last one is an api.JudgmentsEnd, unless the answer was cut off.
func (c *Client) Judgments(ctx context.Context, id string) (io.ReadCloser, error) {
	resp, err := c.do(ctx, &call{method: http.MethodGet, path: tournamentPath(id, "judgments")})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// DeleteTournament removes a tournament.
func (c *Client) DeleteTournament(ctx context.Context, id string) error {
	return c.answer(ctx, &call{method: http.MethodDelete, path: tournamentPath(id), removes: true}, nil)
}

// NextDuels requests up to count duels; key is the Idempotency-Key under which the same duels
// are returned again, "" draws one for this call and its retries. If the tournament has ended
// the error is a *Problem of kind tournament-ended.
func (c *Client) NextDuels(ctx context.Context, id string, count int, key string) (api.Duels, error) {
	k := (&call{method: http.MethodPost, path: tournamentPath(id, "next")}).keyed(key)
	if err := k.jsonBody(map[string]int{"count": count}); err != nil {
		return api.Duels{}, err
	}
	return answerAs[api.Duels](ctx, c, k)
}

// UndoDuel takes back the last report's judgments, also of an elimination or a winner; with a duel that
// is not 0 only if it was that of the duel. key is the Idempotency-Key, "" draws one for this call and
// its retries. The error is a *Problem of kind conflict if another judgment was the last, or none is
// left.
func (c *Client) UndoDuel(ctx context.Context, id string, duel uint64, key string) (api.Undone, error) {
	k := (&call{method: http.MethodPost, path: tournamentPath(id, "undo")}).keyed(key)
	if err := k.jsonBody(api.UndoSpec{DuelID: duel}); err != nil {
		return api.Undone{}, err
	}
	return answerAs[api.Undone](ctx, c, k)
}

// ReportDuels reports results: all are accepted or, with an error, none. With lenient the
// valid ones are accepted even if others were withdrawn or contradict earlier results.
func (c *Client) ReportDuels(ctx context.Context, id string, results []api.DuelResult, lenient bool) (api.Reported, error) {
	k := &call{method: http.MethodPost, path: tournamentPath(id, "report")}
	if lenient {
		k.query = url.Values{"lenient": {"true"}}
	}
	if err := k.jsonBody(results); err != nil {
		return api.Reported{}, err
	}
	return answerAs[api.Reported](ctx, c, k)
}
