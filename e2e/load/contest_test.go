//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// contestServer has tournaments without duels, and one result reported for each. A deletion is
// answered, or is broken off before or after it is done.
type contestServer struct {
	mu                 sync.Mutex
	there              map[string]bool // by id
	breakOff, doBefore bool
}

func (s *contestServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, verb, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/tournaments/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	there, remove := s.there[id], r.Method == "DELETE"
	if remove && (s.doBefore || !s.breakOff) {
		delete(s.there, id)
	}
	switch {
	case remove && s.breakOff:
		panic(http.ErrAbortHandler)
	case !there:
		w.WriteHeader(404)
	case verb == "report":
		var results []duelResult
		if err := json.NewDecoder(r.Body).Decode(&results); err != nil {
			w.WriteHeader(400)
			return
		}
		status := "repeated"
		if !results[0].AWon {
			status = "conflicting"
		}
		fmt.Fprintf(w, `{"receipts":[{"status":%q}]}`, status)
	}
}

// set changes the server between requests.
func (s *contestServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// TestContestDeletes: a deletion that was not answered may have been done, and is completed; a
// tournament that is not there otherwise, and one that is back, are faults.
func TestContestDeletes(t *testing.T) {
	// steps are d: delete the first tournament, u: so without an answer, b: so before it is done, k: a
	// crash and the comparison that follows; -: the server loses the last tournament, =: the first one,
	// +: the first one is back.
	for steps, fault := range map[string]string{
		"k":      "",
		"ukdk":   "",
		"uukdk":  "",
		"ukkukd": "",
		"bkdk":   "",
		"bkudk":  "",
		"budk":   "",
		"dk":     "",
		"-k":     "last, duel 1",
		"bk-k":   "last, duel 1",
		"uk-k":   "last, duel 1",
		"=k":     "first, duel 1",
		"=d":     "deletion of tournament first",
		"uk+k":   "tournament first, first, was deleted and is there",
		"uk+d":   "deletion of tournament first",
		"d+k":    "tournament first, first, was deleted and is there",
	} {
		s := &contestServer{there: map[string]bool{}}
		server := httptest.NewServer(s)
		defer server.Close()
		a := newAPI(server.URL)
		c := newContest("keyed", true, 1)
		for _, name := range []string{"first", "second", "third", "last"} {
			s.there[name] = true
			c.ended = append(c.ended, &match{name: name, id: name, acknowledged: []duelResult{{1, true}}})
		}
		var err error
		for i, step := range steps {
			if err != nil {
				t.Fatalf("%s ended before step %d: %v", steps, i+1, err)
			}
			switch step {
			case 'k':
				err = c.check(t.Context(), a)
			case 'd', 'u', 'b':
				s.set(func() { s.breakOff, s.doBefore = step != 'd', step == 'u' })
				if err = c.step(t.Context(), a); step != 'd' && errors.Is(err, errNoAnswer) {
					err = nil
				}
			case '-':
				s.set(func() { delete(s.there, "last") })
			case '=':
				s.set(func() { delete(s.there, "first") })
			case '+':
				s.set(func() { s.there["first"] = true })
			}
		}
		if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: %v, want %q", steps, err, fault)
		}
		if fault == "" && strings.Contains(steps, "d") && len(c.ended) != maxEnded {
			t.Errorf("%s: %d matches are left", steps, len(c.ended))
		}
	}
}
