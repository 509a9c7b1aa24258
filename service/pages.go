package service

import (
	_ "embed"
	"net/http"
	"slices"

	"thresher/service/problem"
)

// description is the API in OpenAPI 3.1, without the parts of extensions.
//
//go:embed openapi.yaml
var description []byte

func (s *Server) getDescription(_ *request, w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/yaml")
	w.Header().Set("Cache-Control", "no-cache")
	return send(w, http.StatusOK, s.description)
}

// getProblem explains a kind of problem, at the path that is its type.
func (s *Server) getProblem(r *request, w http.ResponseWriter) error {
	kind := problem.Kind(r.PathValue("kind"))
	if !slices.Contains(problem.Kinds(), kind) {
		return problem.New(problem.UnknownPath, "there is no such kind of problem")
	}
	return writeJSON(w, http.StatusOK, struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
	}{problem.TypePrefix + string(kind), kind.Title(), kind.Status()})
}

func (s *Server) webPage(r *request, w http.ResponseWriter) error {
	s.page.ServeHTTP(w, r.Request)
	return nil
}
