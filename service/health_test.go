package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/service/api"
)

// card is a backend that reports its loss once gone is set.
type card struct {
	backend.Backend
	gone *atomic.Bool
}

func (card) Name() string { return "card" }

func (b card) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	r, err := b.Backend.Load(ctx, c)
	return onCard{r, b.gone}, err
}

type onCard struct {
	backend.Resident
	gone *atomic.Bool
}

func (r onCard) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	if r.gone.Load() {
		return nil, fmt.Errorf("card: %w", backend.ErrUnavailable)
	}
	return r.Resident.Begin(ctx, q, goals)
}

// TestReadiness: a server is ready once nothing is awaited, and names the backend that
// searches, even if it differs from the one it started with.
func TestReadiness(t *testing.T) {
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	var gone atomic.Bool
	s := start(t, func(o *Options) {
		o.Backend = "card"
		o.Open = func(ctx context.Context, _ string, c *collection.Collection) (*batch.Engine, error) {
			return batch.Open(ctx, c, card{b, &gone}, &batch.Options{Fallback: b})
		}
	})
	defer s.stopAll() // before the backend
	is := func(want string) {
		t.Helper()
		if got := strings.TrimSpace(string(s.do("GET", "/readyz", nil).want(200).body)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	is(`{"status":"ready","backends":["card"]}`)
	first, second := s.Await("the first"), s.Await("the second")
	first()
	first()
	for _, path := range []string{"/readyz", "/v2/health/ready"} {
		a := s.do("GET", path, nil)
		if p := a.problem(503, "not-ready"); !strings.Contains(p.Detail, "the second") || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %+v", path, p)
		}
	}
	s.fill() // collections that are ready are searched
	s.do("POST", searchFilms, oneQuery("")).want(200)
	second()
	is(`{"status":"ready","backends":["card"]}`)
	gone.Store(true)
	is(`{"status":"ready","backends":["card"]}`) // not noticed yet
	s.do("POST", searchFilms, oneQuery("")).want(200)
	is(`{"status":"ready","backends":["cpu"],"lost":["card"]}`)
	s.do("PUT", "/v1/collections/other?metric=ip&wait=true", npy(gaussian(2, 4*dim), dim), "Content-Type", npyType).want(201)
	is(`{"status":"ready","backends":["card","cpu"],"lost":["card"]}`) // noticed for one collection
	s.do("DELETE", "/v1/collections/films", nil).want(204)
	is(`{"status":"ready","backends":["card"]}`)
}

// TestReadinessOfUnusedGPUs: a server says why GPUs do not search: what it knew at its start, and the reason for
// which a collection is on the fallback, as long as there is this collection.
func TestReadinessOfUnusedGPUs(t *testing.T) {
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	var gone atomic.Bool
	gone.Store(true)
	s := start(t, func(o *Options) {
		o.Backend = "card"
		o.Open = func(ctx context.Context, _ string, c *collection.Collection) (*batch.Engine, error) {
			return batch.Open(ctx, c, card{b, &gone}, &batch.Options{Fallback: b})
		}
		o.Unused = func(instead []error) []string {
			said := []string{"device 1: old"}
			for _, why := range instead {
				said = append(said, why.Error())
			}
			return said
		}
	})
	defer s.stopAll()
	is := func(want ...string) {
		t.Helper()
		var got api.Readiness
		s.do("GET", "/readyz", nil).want(200).into(&got)
		if got.Status != "ready" || !slices.EqualFunc(got.GPUUnused, want, strings.Contains) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	is("device 1: old")
	s.fill()
	s.do("POST", searchFilms, oneQuery("")).want(200)
	is("device 1: old", "card: backend unavailable")
	s.do("DELETE", "/v1/collections/films", nil).want(204)
	is("device 1: old")
}

// The answer names a bounded number of GPUs and collections.
func TestReadinessNamesFew(t *testing.T) {
	for n, want := range map[int]int{0: 0, maxNamed: maxNamed, maxNamed + 3: maxNamed + 1} {
		s := &Server{o: Options{Unused: func([]error) []string { return make([]string, n) }}}
		got := s.unused(nil)
		if len(got) != want || n > maxNamed && got[maxNamed] != "and 3 more" {
			t.Errorf("of %d: %q", n, got)
		}
	}
	if got := (&Server{}).unused(nil); got != nil {
		t.Errorf("without GPUs: %q", got)
	}
}
