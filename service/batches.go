package service

import (
	"net/http"

	"thresher/service/api"
	"thresher/service/jsonbody"
	"thresher/service/offline"
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
	made, err := s.batches.Create(r.Context(), spec, key)
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
	page, err := s.batches.List(after, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, page)
}

func (s *Server) getBatch(r *request, w http.ResponseWriter) error {
	b, err := s.batches.Get(r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, b)
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
