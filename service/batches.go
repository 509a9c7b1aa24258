package service

import (
	"net/http"

	"thresher/service/api"
	"thresher/service/db"
	"thresher/service/offline"
)

func (s *Server) postBatch(r *request, w http.ResponseWriter) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	if mediaType(r.Request) != jsonType {
		return unsupported(r.Request, jsonType)
	}
	body, err := s.bodyOf(r.Request, smallJSON)
	if err != nil {
		return err
	}
	in := s.plainInput(r.Request, body, smallJSON)
	defer in.close()
	text, err := in.all()
	if err != nil {
		return err
	}
	spec, err := offline.DecodeSpec(text)
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
	after, err := r.params.one("after")
	if err != nil {
		return err
	}
	limit, err := r.params.whole("limit", 1, db.MostPage, db.DefaultPage)
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
		var none struct{}
		if err := s.decodeJSON(r.Request, smallJSON, &none); err != nil {
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
