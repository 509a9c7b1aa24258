package batch_test

import (
	"context"
	"io"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// same fails the test when two lists of answers differ in any figure.
func same(t testing.TB, want, got []batch.Answer) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("answers differ (-want +got):\n%s", d)
	}
}

// TestConcurrentSearches searches one Engine from eight goroutines at once.
func TestConcurrentSearches(t *testing.T) {
	const dim = 144
	rng := vectors.Rand(1)
	rows := vectors.PowerLaw(rng, 1500, dim)
	queries := vectors.PowerLaw(rng, 12, dim)
	for _, basis := range []collection.Basis{collection.Rotated, collection.Raw} {
		e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1, Basis: basis}, 2)
		requests := []batch.Request{
			{Queries: queries, K: 10},
			{Queries: queries, K: 1, Method: batch.Certain},
			{Queries: queries[:3*dim], K: 5, Method: batch.Exact},
			{Queries: queries, K: 10, Exclude: []int64{1, 2, 3}, Epsilon: .5},
		}
		if basis == collection.Raw {
			requests = append(requests, batch.Request{Queries: queries[:2*dim], K: 2, Method: batch.BanditMIPSBeta}, batch.Request{Queries: queries[:2*dim], K: 2, Method: batch.Strict})
		}
		want := make([]*batch.Response, len(requests))
		for i, r := range requests {
			want[i] = search(t, e, r)
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range requests {
					i = (i + g) % len(requests)
					got, err := e.Search(context.Background(), requests[i])
					if err != nil {
						t.Error(err)
						return
					}
					same(t, want[i].Answers, got.Answers)
				}
			})
		}
		wg.Wait()
	}
}

// source streams rows held in memory.
type source struct {
	dim  int
	rows []float32
}

func (s *source) Dim() int   { return s.dim }
func (s *source) Len() int64 { return int64(len(s.rows) / s.dim) }
func (s *source) Read(dst []float32) (int, error) {
	n := copy(dst[:min(len(dst), 7*s.dim)], s.rows)
	s.rows = s.rows[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n / s.dim, nil
}

// TestSavedCollection compares a collection that was written to a file and mapped with the one
// built in memory, and one of another seed with the oracle.
func TestSavedCollection(t *testing.T) {
	ctx := context.Background()
	for _, opt := range []collection.Options{
		{Metric: collection.InnerProduct, Seed: 3}, {Seed: 3, Metric: collection.Cosine}, {Seed: 3, Metric: collection.Euclidean}, {Metric: collection.InnerProduct, Seed: 3, Basis: collection.Raw},
	} {
		for _, dim := range []int{8, 130, 300} {
			if testing.Short() && dim == 300 {
				continue
			}
			rng := vectors.Rand(2)
			rows := vectors.PowerLaw(rng, 700, dim)
			queries := vectors.PowerLaw(rng, 10, dim)
			req := batch.Request{Queries: queries, K: 10}
			want := search(t, open(t, rows, dim, &opt, 1), req)

			path := filepath.Join(t.TempDir(), "a.thresher")
			created, err := collection.Create(ctx, path, &source{dim, rows}, false, &opt)
			if err != nil {
				t.Fatal(err)
			}
			same(t, want.Answers, search(t, over(t, created, 2, nil), req).Answers)
			if err := created.Close(); err != nil {
				t.Fatal(err)
			}
			opened, err := collection.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			same(t, want.Answers, search(t, over(t, opened, 2, nil), req).Answers)
			opened.Close()

			opt := opt
			opt.Seed = 4
			c := build(t, rows, dim, &opt)
			req.Delta = 1e-9 // 360 answers in all
			if n := wrong(t, backendtest.NewOracle(c), c, queries, goal(c, 10), search(t, over(t, c, 2, nil), req)); n > 0 {
				t.Errorf("%v %v dim %d, another seed: %d answers wrong", opt.Metric, opt.Basis, dim, n)
			}
		}
	}
}
