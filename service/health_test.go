package service

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
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
	s.do("PUT", "/v1/collections/other?wait=true", npy(gaussian(2, 4*dim), dim), "Content-Type", npyType).want(201)
	is(`{"status":"ready","backends":["card","cpu"],"lost":["card"]}`) // noticed for one collection
	s.do("DELETE", "/v1/collections/films", nil).want(204)
	is(`{"status":"ready","backends":["card"]}`)
}
