package service

import (
	"net/http"

	"thresher/service/problem"
)

func (s *Server) healthz(_ *request, w http.ResponseWriter) error {
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) readyz(_ *request, w http.ResponseWriter) error {
	if err := s.ready(); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}

// ready says why the server should not be asked for searches, if it should not.
func (s *Server) ready() error {
	if s.draining.Err() != nil {
		return errDraining()
	}
	select {
	case <-s.catalog.Ready():
		return nil
	default:
	}
	p := problem.New(problem.NotReady, "collections are being loaded")
	p.RetryAfter = retryAfter
	return p
}

func (s *Server) getVersion(_ *request, w http.ResponseWriter) error {
	return writeJSON(w, http.StatusOK, struct {
		Version any    `json:"version"`
		Backend string `json:"backend"`
		Device  string `json:"device,omitempty"`
	}{s.o.Version, s.o.Backend, s.o.Device})
}

func (s *Server) scrape(r *request, w http.ResponseWriter) error {
	if s.o.Scrape == nil {
		return problem.New(problem.UnknownPath, "this server counts nothing")
	}
	s.o.Scrape.ServeHTTP(w, r.Request)
	return nil
}
