package service

import (
	"net/http"

	"thresher/service/api"
	"thresher/service/jsonbody"
	"thresher/service/offline"
	"thresher/service/wire"
)

func (s *Server) postBatch(r *request, w http.ResponseWriter) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	spec, err := decodeJSON(s, r.Request, offline.DecodeSpec)
	if err != nil {
		return err
	}
	made, err := s.batches.Create(r.Context(), spec, key, r.x.who)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/batches/"+made.ID)
	return writeJSON(w, http.StatusOK, made)
}

func (s *Server) listBatches(r *request, w http.ResponseWriter) error {
	after, limit, err := r.params.page()
	if err != nil {
		return err
	}
	if after != "" {
		if err := s.seesBatch(r, after); err != nil {
			return err
		}
	}
	page, err := s.batches.List(after, limit, func(maker string) bool { return s.maySee(r, maker) })
	if err != nil {
		return err
	}
	for i := range page.Data {
		s.withholdProgress(r, &page.Data[i])
	}
	return writeJSON(w, http.StatusOK, page)
}

func (s *Server) getBatch(r *request, w http.ResponseWriter) error {
	id := r.PathValue("id")
	if err := s.seesBatch(r, id); err != nil {
		return err
	}
	b, err := s.batches.Get(id)
	if err != nil {
		return err
	}
	s.withholdProgress(r, &b)
	return writeJSON(w, http.StatusOK, b)
}

// seesBatch fails as for an unknown batch if a request's client may not see one.
func (s *Server) seesBatch(r *request, id string) error {
	maker, err := s.batches.Maker(id)
	if err == nil && !s.maySee(r, maker) {
		return offline.Unknown(id)
	}
	return err
}

// withholdProgress removes what certificates withhold too, unless the client may write.
func (s *Server) withholdProgress(r *request, b *api.Batch) {
	if !s.mayWrite(r.Context()) {
		b.Progress.Pulls, b.Progress.DensePulls, b.Progress.Saving = wire.Withheld, wire.Withheld, 0
	}
}

func (s *Server) cancelBatch(r *request, w http.ResponseWriter) error {
	if r.ContentLength > 0 {
		none := func(text []byte) (any, error) { return nil, jsonbody.Decode(text, nil) }
		if _, err := decodeJSON(s, r.Request, none); err != nil {
			return err
		}
	}
	b, err := s.batches.Cancel(r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, b)
}

func (s *Server) deleteBatch(r *request, w http.ResponseWriter) error {
	id := r.PathValue("id")
	if err := s.batches.Delete(id); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, api.Deleted{ID: id, Object: "batch", Deleted: true})
}
