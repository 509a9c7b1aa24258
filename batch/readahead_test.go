package batch_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// streamed is rows as a collection.Source.
type streamed struct {
	rows []float32
	dim  int
}

func (s *streamed) Dim() int { return s.dim }

func (s *streamed) Read(dst []float32) (int, error) {
	n := copy(dst[:len(dst)/s.dim*s.dim], s.rows) / s.dim
	if s.rows = s.rows[n*s.dim:]; len(s.rows) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// TestReadAhead: reading rows ahead changes neither answers nor the work for them.
func TestReadAhead(t *testing.T) {
	const n, dim, m = 3000, 128, 40
	rows := vectors.Embeddings(vectors.Rand(1), n+m, dim)
	path := filepath.Join(t.TempDir(), "c.thresher")
	b := cpu.New(cpu.Options{Threads: 2})
	defer b.Close()
	var want []*batch.Response
	for _, ahead := range []bool{false, true} {
		var c *collection.Collection
		var err error
		if ahead {
			c, err = collection.OpenVerifying(path)
		} else {
			c, err = collection.Create(context.Background(), path, &streamed{rows[:n*dim], dim}, false, &collection.Options{Metric: collection.Cosine})
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if ahead {
			if c.ReadAhead(); !c.ReadsAhead() {
				t.Skip("mappings are not aligned here")
			}
		}
		e, err := batch.Open(context.Background(), c, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for at, req := range []batch.Request{{K: 10, Method: batch.Certain}, {K: 3, Method: batch.Adaptive}, {K: 400, Method: batch.Certain}, {MinScore: new(.3), Method: batch.Certain}} {
			req.Queries, req.SearchScores = rows[n*dim:], true
			got, err := e.Search(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			if !ahead {
				want = append(want, got)
			} else if diff := cmp.Diff(want[at].Answers, got.Answers); diff != "" {
				t.Errorf("request %d: %s", at, diff)
			}
		}
	}
}

// TestReadAheadOfBlocks: a scan of rows from the disk, which all queries take block by block, answers as one of rows in memory does, and
// reads as many. The engine finds out by itself that the rows take more than is free.
func TestReadAheadOfBlocks(t *testing.T) {
	const n, dim, m = 20000, 512, 130 // three blocks, the last of a few rows, and three passes
	rows := vectors.Embeddings(vectors.Rand(1), n+m, dim)
	allowed := make([]int64, 0, n/2)
	for i := range n / 2 {
		allowed = append(allowed, int64(2*i))
	}
	c, err := collection.Create(context.Background(), filepath.Join(t.TempDir(), "c.thresher"), &streamed{rows[:n*dim], dim}, false, &collection.Options{Metric: collection.Euclidean, NoCodes: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := cpu.New(cpu.Options{Threads: 2})
	defer b.Close()
	var want []*batch.Response
	for _, spare := range []int64{1 << 40, 1 << 20} {
		e, err := batch.Open(context.Background(), c, b, &batch.Options{Spare: func(int64) int64 { return spare }})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if ahead := spare < c.Bytes(); c.ReadsAhead() != ahead {
			t.Fatalf("with %d bytes to spare rows are read ahead: %v", spare, !ahead)
		}
		for at, req := range []batch.Request{{K: 10}, {K: 10, Filter: allowed}, {MinScore: new(-1.)}, {K: n}} {
			req.Queries, req.SearchScores, req.Method = rows[n*dim:], true, batch.Exact
			if req.K == n {
				req.Queries = req.Queries[:2*dim]
			}
			got, err := e.Search(context.Background(), req)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) < 4 {
				want = append(want, got)
			} else if diff := cmp.Diff(want[at].Answers, got.Answers); diff != "" {
				t.Errorf("request %d: %s", at, diff)
			}
		}
	}
}

// TestReadAheadMeanwhile: an engine is opened over a file, whose rows are read ahead from then on, while another searches it, as clients of a
// worker that ask for other numbers of threads have it. The race detector finds what both write.
func TestReadAheadMeanwhile(t *testing.T) {
	const n, dim, m = 2000, 64, 10
	rows := vectors.Gaussian(vectors.Rand(1), n+m, dim)
	c, err := collection.Create(t.Context(), filepath.Join(t.TempDir(), "c.thresher"), &streamed{rows[:n*dim], dim}, false, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := cpu.New(cpu.Options{Threads: 1})
	defer b.Close()
	first, err := batch.Open(t.Context(), c, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	searched := make(chan error)
	go func() {
		_, err := first.Search(context.Background(), batch.Request{Queries: rows[n*dim:], K: 3, Method: batch.Certain})
		searched <- err
	}()
	second, err := batch.Open(t.Context(), c, b, &batch.Options{Spare: func(int64) int64 { return 1 }})
	if err := errors.Join(err, <-searched); err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if !c.ReadsAhead() {
		t.Error("rows are not read ahead")
	}
}
