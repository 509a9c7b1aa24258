//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// called is what several callers at once had answered.
type called struct {
	Seconds float64   `json:"seconds"` // from the first call to the last answer
	Each    []float64 `json:"each"`    // of each batch, caller by caller
	Queries int       `json:"queries"`
}

// callers has so many goroutines answer Count batches each, one after the other; each begins with another batch of the file.
func (s *server) callers(ctx context.Context, r *request) (*called, error) {
	x, err := s.set(r)
	if err != nil {
		return nil, err
	}
	if r.Callers < 1 {
		return nil, fmt.Errorf("%d callers", r.Callers)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	count := max(1, r.Count)
	out := &called{Each: make([]float64, r.Callers*count)}
	queries, errs := make([]int, r.Callers), make([]error, r.Callers)
	var all sync.WaitGroup
	start := make(chan struct{})
	for c := range r.Callers {
		all.Go(func() {
			<-start
			for i := range count {
				took, n, err := x.answerOne(ctx, r, c*count+i)
				if err != nil {
					errs[c] = err
					stop() // the others
					return
				}
				out.Each[c*count+i] = took.Seconds()
				queries[c] += n
			}
		})
	}
	began := time.Now()
	close(start)
	all.Wait()
	out.Seconds = time.Since(began).Seconds()
	for _, n := range queries {
		out.Queries += n
	}
	return out, firstCause(errs)
}

// answerOne answers batch i of a request, and returns how many answers it has.
func (x *set) answerOne(ctx context.Context, r *request, i int) (time.Duration, int, error) {
	ask, err := x.ask(r, i)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	response, err := x.engine.Search(ctx, ask)
	if err != nil {
		return 0, 0, err
	}
	return time.Since(began), len(response.Answers), nil
}

// firstCause returns the first error that is not the end of the others' context, or else the first.
func firstCause(errs []error) error {
	cause := func(err error) bool { return err != nil && !errors.Is(err, context.Canceled) }
	if i := slices.IndexFunc(errs, cause); i >= 0 {
		return errs[i]
	}
	return errors.Join(errs...)
}

// TestCallers: every caller's batches are answered, and an error ends all callers.
func TestCallers(t *testing.T) {
	needDriver(t)
	s, r := benchSet(t, 2000, 4)
	r.Plan = "64,whole,rescore"
	for _, r.Callers = range []int{1, 3} {
		out, err := s.callers(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if out.Queries != r.Callers*2*4 || len(out.Each) != r.Callers*2 || slices.Min(out.Each) <= 0 || slices.Max(out.Each) > out.Seconds {
			t.Errorf("%d callers: %+v", r.Callers, out)
		}
	}
	for _, bad := range []request{{Set: "a", M: 4, K: 5, Delta: .01}, {Set: "a", M: 0, K: 5, Callers: 2}, {Set: "b", M: 4, K: 5, Callers: 2},
		{Set: "a", M: 4, K: 5, Callers: 2, Plan: "no plan", Delta: .01}} {
		if _, err := s.callers(t.Context(), &bad); err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
