package service

import (
	"net/http"
	"strconv"
	"time"

	"thresher/batch"
	"thresher/service/catalog"
	"thresher/service/oip"
	"thresher/service/problem"
	"thresher/service/wire"
)

func (s *Server) inferenceServer(_ *request, w http.ResponseWriter) error {
	return writeJSON(w, http.StatusOK, oip.NewServerMetadata("thresher", s.o.Release))
}

func (s *Server) inferenceLive(_ *request, w http.ResponseWriter) error {
	return writeJSON(w, http.StatusOK, oip.Live{Live: true})
}

func (s *Server) inferenceReady(_ *request, w http.ResponseWriter) error {
	if err := s.ready(); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, oip.Ready{Ready: true})
}

// model returns the requested version of the request's collection, in use.
func (s *Server) model(r *request) (*catalog.Version, error) {
	var version int64
	if text := r.PathValue("version"); text != "" {
		var ok bool
		if version, ok = plainInteger(text); !ok || version < 1 {
			return nil, problem.New(problem.UnknownCollection, "%q is not a version of a collection", text).In("version")
		}
	}
	return s.catalog.Use(r.PathValue("name"), version)
}

func (s *Server) inferenceModel(r *request, w http.ResponseWriter) error {
	v, err := s.model(r)
	if err != nil {
		return err
	}
	defer v.Release()
	info := v.Info()
	return writeJSON(w, http.StatusOK, oip.NewModel(info.Name, []int64{info.Version}, v.Dim(), naming(v)))
}

func (s *Server) inferenceModelReady(r *request, w http.ResponseWriter) error {
	v, err := s.model(r)
	if err != nil {
		return err
	}
	defer v.Release()
	return writeJSON(w, http.StatusOK, oip.Ready{Name: v.Info().Name, Ready: true})
}

func (s *Server) infer(r *request, w http.ResponseWriter) error {
	v, err := s.model(r)
	if err != nil {
		return err
	}
	defer v.Release()
	header := -1
	if text := r.Header.Get(oip.HeaderLength); text != "" {
		if header, err = strconv.Atoi(text); err != nil || header < 0 {
			return problem.New(problem.InvalidValue, "%s is %q, not a number of bytes", oip.HeaderLength, text).In(oip.HeaderLength)
		}
	}
	if header == 0 && mediaType(r.Request) == jsonType {
		return problem.New(problem.InvalidValue, "%s is 0, which means that the body consists of queries, but its Content-Type is JSON", oip.HeaderLength).In(oip.HeaderLength)
	}
	// Clients of this protocol send JSON and tensors with various media types, or none: the
	// header above distinguishes them.
	switch mediaType(r.Request) {
	case jsonType, binType, "", "application/x-www-form-urlencoded", "text/plain":
	default:
		return unsupported(r.Request, jsonType, binType)
	}
	if header > 0 {
		r.lead = -header & 3 // aligns the tensors so that they need not be copied
	}
	var q *oip.Request
	return s.searchInTurn(r, v, func(in *input) (*wire.Search, error) {
		body, err := in.all()
		if err != nil {
			return nil, err
		}
		if q, err = oip.Decode(body, header, v.Dim(), s.limitsOf(v)); err != nil {
			return nil, err
		}
		return q.Search, nil
	}, s.runSearch, func(t *turn, resp *batch.Response, _ time.Duration) error {
		info := v.Info()
		body, header, err := q.Answer(info.Name, info.Version, resp, naming(v))
		if err != nil {
			return err
		}
		jsonHeader(w.Header())
		if header >= 0 {
			w.Header().Set("Content-Type", binType)
			w.Header().Set(oip.HeaderLength, strconv.Itoa(header))
		}
		return send(w, http.StatusOK, body)
	})
}
