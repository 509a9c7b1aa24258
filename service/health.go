package service

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"thresher/service/api"
	"thresher/service/catalog"
	"thresher/service/problem"
)

func (s *Server) healthz(_ *request, w http.ResponseWriter) error {
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) readyz(r *request, w http.ResponseWriter) error {
	if err := s.ready(); err != nil {
		return err
	}
	if err := s.demanded(r.params); err != nil {
		return err
	}
	searching, lost, instead := s.catalog.Backends()
	if len(searching) == 0 {
		searching = []string{s.o.Backend}
	}
	return writeJSON(w, http.StatusOK, struct {
		api.Readiness
		Found map[string]int `json:"found,omitempty"`
	}{api.Readiness{Status: "ready", Backends: searching, Lost: lost, GPUUnused: s.unused(instead), Versions: s.served()}, s.differs()})
}

// unused says of each GPU that is there and does not search, or not in all collections, why.
func (s *Server) unused(instead []error) []string {
	if s.o.Unused == nil {
		return nil
	}
	all := s.o.Unused(instead)
	if n := len(all); n > maxNamed {
		all = append(all[:maxNamed:maxNamed], fmt.Sprintf("and %d more", n-maxNamed))
	}
	return all
}

// maxNamed bounds the number of collections named in a message.
const maxNamed = 20

// demanded fails unless the collections that a readiness request requires are ready: all with
// collections=all.
func (s *Server) demanded(p parameters) error {
	which, err := p.parseText("collections")
	if err != nil || !p.Has("collections") {
		return err
	}
	if which != "all" {
		return problem.New(problem.InvalidValue, "collections is %q", which).In("collections").Within([]string{"all"})
	}
	var lacking []string
	for _, info := range s.catalog.List() {
		if info.State != catalog.Ready {
			lacking = append(lacking, info.Name+" is "+string(info.State))
		}
	}
	if n := len(lacking); n > maxNamed {
		lacking = append(lacking[:maxNamed], fmt.Sprintf("and %d more are not ready", n-maxNamed))
	}
	if len(lacking) > 0 {
		return notReady("not all collections are ready: %s", strings.Join(lacking, ", "))
	}
	return nil
}

// Await keeps the server from being ready until done is called: what names the thing being
// prepared, such as a collection that the server starts with.
func (s *Server) Await(what string) (done func()) {
	return s.AwaitShown(func() string { return what })
}

// AwaitShown is Await of a thing whose name changes, as it says how far it has come. what may be called by any goroutine.
func (s *Server) AwaitShown(what func() string) (done func()) {
	s.coming.Lock()
	defer s.coming.Unlock()
	at := &what
	s.toCome = append(s.toCome, at)
	return func() {
		s.coming.Lock()
		defer s.coming.Unlock()
		s.toCome = slices.DeleteFunc(s.toCome, func(other *func() string) bool { return other == at })
	}
}

// Serves notes, for the answer to whoever asks whether the server is ready, which version of a collection is served that is made
// elsewhere, as it is called there; "" if it is not served any more.
func (s *Server) Serves(collection, version string) {
	s.coming.Lock()
	defer s.coming.Unlock()
	next := maps.Clone(s.serves)
	if next == nil {
		next = map[string]string{}
	}
	if next[collection] = version; version == "" {
		delete(next, collection)
	}
	s.serves = next
}

// served returns the versions of Serves, which are not changed.
func (s *Server) served() map[string]string {
	s.coming.Lock()
	defer s.coming.Unlock()
	return s.serves
}

// notReady says what a server that is not ready waits for.
func notReady(format string, args ...any) error {
	p := problem.New(problem.NotReady, format, args...)
	p.RetryAfter = retryAfter
	return p
}

// ready returns why the server should not get searches, nil if it should.
func (s *Server) ready() error {
	if s.draining.Err() != nil {
		return errDraining()
	}
	select {
	case <-s.catalog.Ready():
	default:
		return notReady("collections are being loaded")
	}
	s.coming.Lock()
	defer s.coming.Unlock()
	if len(s.toCome) > 0 {
		return notReady("%s is still to come", (*s.toCome[0])())
	}
	return nil
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
		return problem.New(problem.UnknownPath, "this server has no metrics")
	}
	page := s.o.Scrape.Readers()
	if s.permits(r.x, wholeMetrics) {
		page = s.o.Scrape.All()
	}
	page.ServeHTTP(w, r.Request)
	return nil
}
