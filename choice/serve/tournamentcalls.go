package serve

import (
	"context"
	"net/http"

	"thresher/choice/serve/tournaments"
	"thresher/service/api"
	"thresher/service/extension"
)

// Routes implements extension.Extension.
func (t *Tournaments) Routes() []extension.Route {
	const all, one = "/v1/tournaments", "/v1/tournaments/{id}"
	return []extension.Route{
		{Method: http.MethodPost, Pattern: all, Write: true, Handle: t.create},
		{Method: http.MethodGet, Pattern: all, Handle: t.list, Params: []string{"after", "limit"}},
		{Method: http.MethodGet, Pattern: one, Handle: t.get},
		{Method: http.MethodDelete, Pattern: one, Write: true, Handle: t.delete},
		{Method: http.MethodGet, Pattern: one + "/judgments", Handle: t.judgments},
		{Method: http.MethodPost, Pattern: one + "/next", Write: true, Handle: t.next},
		{Method: http.MethodPost, Pattern: one + "/undo", Write: true, Handle: t.undo},
		{Method: http.MethodPost, Pattern: one + "/report", Write: true, Handle: t.report, Params: []string{"lenient"}},
	}
}

// decodeAs reads the body of a call and decodes it; the value must not share memory with the text.
func decodeAs[T any](r extension.Call, decode func(text []byte) (T, error)) (v T, err error) {
	err = r.Decode(func(text []byte) (err error) {
		v, err = decode(text)
		return err
	})
	return v, err
}

func (t *Tournaments) create(r extension.Call, w http.ResponseWriter) error {
	key, err := r.Key()
	if err != nil {
		return err
	}
	spec, err := decodeAs(r, tournaments.DecodeSpec)
	if err != nil {
		return err
	}
	var made tournaments.Tournament
	if err := r.Within(func(ctx context.Context) (err error) {
		made, err = t.store.Create(ctx, spec, key)
		return err
	}); err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/tournaments/"+made.ID)
	return r.Answer(http.StatusCreated, made)
}

func (t *Tournaments) list(r extension.Call, _ http.ResponseWriter) error {
	after, limit, err := r.Page()
	if err != nil {
		return err
	}
	return r.Bounded(0, func(context.Context) error {
		page, err := t.store.List(after, limit)
		if err != nil {
			return err
		}
		return r.Answer(http.StatusOK, page)
	})
}

func (t *Tournaments) get(r extension.Call, _ http.ResponseWriter) error {
	return r.Bounded(0, func(ctx context.Context) error {
		one, err := t.store.Get(ctx, r.PathValue("id"))
		if err != nil {
			return err
		}
		return r.Answer(http.StatusOK, one)
	})
}

func (t *Tournaments) delete(r extension.Call, _ http.ResponseWriter) error {
	id := r.PathValue("id")
	if err := r.Within(func(ctx context.Context) error { return t.store.Delete(ctx, id) }); err != nil {
		return err
	}
	return r.Answer(http.StatusOK, api.Deleted{ID: id, Object: "tournament", Deleted: true})
}

func (t *Tournaments) next(r extension.Call, _ http.ResponseWriter) error {
	key, err := r.Key()
	if err != nil {
		return err
	}
	wanted, err := decodeAs(r, tournaments.DecodeCount)
	if err != nil {
		return err
	}
	var issued tournaments.Duels
	if err := r.Within(func(ctx context.Context) (err error) {
		issued, err = t.store.NextFor(ctx, r.PathValue("id"), wanted.Judge, wanted.Count, key)
		return err
	}); err != nil {
		return err
	}
	return r.Answer(http.StatusOK, issued)
}

func (t *Tournaments) undo(r extension.Call, _ http.ResponseWriter) error {
	key, err := r.Key()
	if err != nil {
		return err
	}
	last, err := decodeAs(r, tournaments.DecodeUndo)
	if err != nil {
		return err
	}
	var undone tournaments.Undone
	if err := r.Within(func(ctx context.Context) (err error) {
		undone, err = t.store.Undo(ctx, r.PathValue("id"), last, key)
		return err
	}); err != nil {
		return err
	}
	return r.Answer(http.StatusOK, undone)
}

func (t *Tournaments) report(r extension.Call, _ http.ResponseWriter) error {
	lenient, err := r.Bool("lenient")
	if err != nil {
		return err
	}
	results, err := decodeAs(r, tournaments.DecodeResults)
	if err != nil {
		return err
	}
	var reported tournaments.Reported
	if err := r.Within(func(ctx context.Context) (err error) {
		reported, err = t.store.Accept(ctx, r.PathValue("id"), results, lenient)
		return err
	}); err != nil {
		return err
	}
	return r.Answer(http.StatusOK, reported)
}

// linesType is the media type of lines of JSON.
const linesType = "application/x-ndjson"

// judgments sends what was judged in a tournament.
func (t *Tournaments) judgments(r extension.Call, w http.ResponseWriter) error {
	p, err := t.store.PrepareExport(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer p.Close()
	if why := p.Why(); why != nil {
		t.log.Warn("the last calls of a tournament are exported as they were recorded", "tournament", r.PathValue("id"), "reason", why)
	}
	w.Header().Set("Content-Type", linesType)
	_, err = p.Write(r.Context(), w)
	return err
}
