package service

import (
	"context"
	"net/http"
	"path/filepath"

	"thresher/choice/serve/tournaments"
	"thresher/service/api"
)

// tournamentRoutes are the routes of tournaments.
func (s *Server) tournamentRoutes() []route {
	const all, one = "/v1/tournaments", "/v1/tournaments/{id}"
	return []route{
		{method: http.MethodPost, pattern: all, scope: write, handle: s.postTournament},
		{method: http.MethodGet, pattern: all, scope: read, handle: s.listTournaments, params: []string{"after", "limit"}},
		{method: http.MethodGet, pattern: one, scope: read, handle: s.getTournament},
		{method: http.MethodDelete, pattern: one, scope: write, handle: s.deleteTournament},
		{method: http.MethodGet, pattern: one + "/judgments", scope: read, handle: s.getJudgments},
		{method: http.MethodPost, pattern: one + "/next", scope: write, handle: s.nextDuels},
		{method: http.MethodPost, pattern: one + "/undo", scope: write, handle: s.undoDuels},
		{method: http.MethodPost, pattern: one + "/report", scope: write, handle: s.reportDuels, params: []string{"lenient"}},
	}
}

func (s *Server) tournamentOptions() *tournaments.Options {
	l := &s.o.Limits
	o := &tournaments.Options{Most: l.Tournaments, Arms: l.Arms, Duels: l.Duels, Memory: l.TournamentMemory, Dir: filepath.Join(s.o.Dir, transcriptsName), Log: s.o.Log}
	if s.o.Metrics != nil {
		o.Watch = s.o.Metrics
	}
	return o
}

// Tournaments counts tournaments by status; for metrics.
func (s *Server) Tournaments() map[string]int { return s.tournaments.Counts() }

func (s *Server) postTournament(r *request, w http.ResponseWriter) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	spec, err := decodeJSON(s, r.Request, tournaments.DecodeSpec)
	if err != nil {
		return err
	}
	ctx, cancel := s.within(r.Context())
	defer cancel()
	made, err := s.tournaments.Create(ctx, spec, key)
	if err != nil {
		return s.explainWait(err)
	}
	w.Header().Set("Location", "/v1/tournaments/"+made.ID)
	return writeJSON(w, http.StatusCreated, made)
}

func (s *Server) listTournaments(r *request, w http.ResponseWriter) error {
	after, limit, err := r.params.page()
	if err != nil {
		return err
	}
	return s.bounded(r, 0, func(context.Context) error {
		page, err := s.tournaments.List(after, limit)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, page)
	})
}

func (s *Server) getTournament(r *request, w http.ResponseWriter) error {
	return s.bounded(r, 0, func(ctx context.Context) error {
		t, err := s.tournaments.Get(ctx, r.PathValue("id"))
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, t)
	})
}

func (s *Server) deleteTournament(r *request, w http.ResponseWriter) error {
	id := r.PathValue("id")
	ctx, cancel := s.within(r.Context())
	defer cancel()
	if err := s.tournaments.Delete(ctx, id); err != nil {
		return s.explainWait(err)
	}
	return writeJSON(w, http.StatusOK, api.Deleted{ID: id, Object: "tournament", Deleted: true})
}

func (s *Server) nextDuels(r *request, w http.ResponseWriter) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	wanted, err := decodeJSON(s, r.Request, tournaments.DecodeCount)
	if err != nil {
		return err
	}
	ctx, cancel := s.within(r.Context())
	defer cancel()
	issued, err := s.tournaments.NextFor(ctx, r.PathValue("id"), wanted.Judge, wanted.Count, key)
	if err != nil {
		return s.explainWait(err)
	}
	return writeJSON(w, http.StatusOK, issued)
}

func (s *Server) undoDuels(r *request, w http.ResponseWriter) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	last, err := decodeJSON(s, r.Request, tournaments.DecodeUndo)
	if err != nil {
		return err
	}
	ctx, cancel := s.within(r.Context())
	defer cancel()
	undone, err := s.tournaments.Undo(ctx, r.PathValue("id"), last, key)
	if err != nil {
		return s.explainWait(err)
	}
	return writeJSON(w, http.StatusOK, undone)
}

func (s *Server) reportDuels(r *request, w http.ResponseWriter) error {
	lenient, err := r.params.parseBool("lenient")
	if err != nil {
		return err
	}
	results, err := decodeJSON(s, r.Request, tournaments.DecodeResults)
	if err != nil {
		return err
	}
	ctx, cancel := s.within(r.Context())
	defer cancel()
	reported, err := s.tournaments.Accept(ctx, r.PathValue("id"), results, lenient)
	if err != nil {
		return s.explainWait(err)
	}
	return writeJSON(w, http.StatusOK, reported)
}
