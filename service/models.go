package service

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"thresher/batch"
	"thresher/service/catalog"
	"thresher/service/jsonbody"
	"thresher/service/oip"
)

// Extensions of the Open Inference Protocol that describe collections.

func (s *Server) inferenceConfig(r *request, w http.ResponseWriter) error {
	v, err := s.model(r)
	if err != nil {
		return err
	}
	defer v.Release()
	return writeJSON(w, http.StatusOK, oip.NewModelConfig(v.Info().Name, v.Dim(), naming(v)))
}

// inferenceStatistics describes one version, or all collections that can be searched.
func (s *Server) inferenceStatistics(r *request, w http.ResponseWriter) error {
	name := r.PathValue("name")
	if name != "" {
		v, err := s.model(r)
		if err != nil {
			return err
		}
		defer v.Release()
		return writeJSON(w, http.StatusOK, statisticsAnswer{[]oip.ModelStatistics{s.statisticsOf(v.Info())}})
	}
	return writeJSON(w, http.StatusOK, statisticsAnswer{s.allStatistics()})
}

type statisticsAnswer struct {
	Models []oip.ModelStatistics `json:"model_stats"`
}

func (s *Server) statisticsOf(info catalog.Info) oip.ModelStatistics {
	return s.statistics.Of(info.Name, info.Version)
}

func (s *Server) allStatistics() []oip.ModelStatistics {
	all := []oip.ModelStatistics{}
	for _, info := range s.catalog.List() {
		if info.State == catalog.Ready {
			all = append(all, s.statisticsOf(info))
		}
	}
	return all
}

// repositoryIndex lists collections, or those that can be searched. Clients send its JSON
// without a media type, or no body.
func (s *Server) repositoryIndex(r *request, w http.ResponseWriter) error {
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
	ready := false
	if len(bytes.TrimSpace(text)) > 0 {
		if err := jsonbody.Decode(text, jsonbody.Members{"ready": jsonbody.Optional(jsonbody.Bool("ready", &ready))}); err != nil {
			return err
		}
	}
	return writeJSON(w, http.StatusOK, s.modelIndex(ready))
}

// modelIndex lists collections; with ready, only those that can be searched.
func (s *Server) modelIndex(ready bool) []oip.ModelIndex {
	index := []oip.ModelIndex{}
	for _, info := range s.catalog.List() {
		m := oip.ModelIndex{Name: info.Name, Version: strconv.FormatInt(info.Version, 10)}
		switch info.State {
		case catalog.Ready:
			m.State = oip.StateReady
		case catalog.Failed:
			m.State, m.Reason = oip.StateUnavailable, info.Error
		default:
			m.State, m.Reason = oip.StateLoading, "it is "+string(info.State)
		}
		if m.State == oip.StateReady || !ready {
			index = append(index, m)
		}
	}
	return index
}

// ran is a batch.RunObserver that counts runs for the statistics of a collection, and passes
// all events on to metrics, if not nil.
type ran struct {
	statistics *oip.Statistics
	name       string
	metrics    batch.RunObserver
}

// observeRuns returns the observer of a collection's runs.
func (s *Server) observeRuns(name string) batch.RunObserver {
	o := ran{statistics: &s.statistics, name: name}
	if s.o.Metrics != nil {
		o.metrics = s.o.Metrics.Runs(name)
	}
	return o
}

// forgetCollection removes what was kept for a deleted collection.
func (s *Server) forgetCollection(name string) {
	s.statistics.Forget(name)
	s.encoders.dropEncoder(name)
	s.shards.drop(name)
	if s.o.Metrics != nil {
		s.o.Metrics.Forget(name)
	}
}

func (o ran) Waited(d time.Duration) {
	if o.metrics != nil {
		o.metrics.Waited(d)
	}
}

func (o ran) Began(searches, queries int) {
	o.statistics.Ran(o.name)
	if o.metrics != nil {
		o.metrics.Began(searches, queries)
	}
}
