package collection_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// source streams rows from memory.
type source struct {
	rows []float32
	dim  int
}

func (s *source) Dim() int   { return s.dim }
func (s *source) Len() int64 { return -1 }

func (s *source) Read(dst []float32) (int, error) {
	if len(s.rows) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, s.rows)
	s.rows = s.rows[n:]
	return n / s.dim, nil
}

// TestOpenedAnswersAsBuilt: a collection that was saved and opened gives the same answers as the
// one in memory.
func TestOpenedAnswersAsBuilt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dim := range []int{9, 300} {
		for _, m := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
			rows := make([]float32, 1500*dim)
			for i := range rows {
				rows[i] = float32(r.NormFloat64() / float64(1+i%dim))
			}
			o := &collection.Options{Metric: m, Seed: 4}
			built, err := collection.Build(context.Background(), rows, dim, o)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "a.thresher")
			made, err := collection.Create(context.Background(), path, &source{rows, dim}, false, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := made.Close(); err != nil {
				t.Fatal(err)
			}
			opened, err := collection.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive} {
				if method == batch.Adaptive && !built.Coded() {
					continue
				}
				a, b := answers(t, built, rows[:20*dim], method), answers(t, opened, rows[:20*dim], method)
				for j := range a {
					if !slices.Equal(a[j].IDs, b[j].IDs) || !slices.Equal(a[j].Scores, b[j].Scores) ||
						fmt.Sprint(a[j].Certificate.Looks) != fmt.Sprint(b[j].Certificate.Looks) {
						t.Errorf("dimension %d, %v, %s, query %d: built %v, opened %v", dim, m, method, j, a[j], b[j])
					}
				}
			}
		}
	}
}

func answers(t *testing.T, c *collection.Collection, queries []float32, method batch.Method) []batch.Answer {
	t.Helper()
	e, err := batch.Open(context.Background(), c, cpu.New(cpu.Options{Threads: 2}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	resp, err := e.Search(context.Background(), batch.Request{Queries: queries, K: 10, Method: method})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Answers
}
