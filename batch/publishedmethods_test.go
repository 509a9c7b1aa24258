package batch_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// asking is a context whose Err blocks all calls after the first until open is closed.
type asking struct {
	context.Context
	asked  atomic.Int64
	opened chan struct{}
}

func (c *asking) Err() error {
	if c.asked.Add(1) > 1 {
		<-c.opened
	}
	return nil
}

// TestPublishedThreads: as many queries are answered concurrently as the backend has threads.
func TestPublishedThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const threads, m, dim = 3, 10, 16
		rows := vectors.PowerLaw(vectors.Rand(1), 50, dim)
		e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}, threads)
		ctx := &asking{Context: t.Context(), opened: make(chan struct{})}
		done := make(chan error)
		go func() {
			_, err := e.Search(ctx, batch.Request{Queries: rows[:m*dim], K: 2, Method: batch.BoundedME, Epsilon: 1})
			done <- err
		}()
		synctest.Wait()
		if n := ctx.asked.Load() - 1; n != threads { // the first call is by the search itself
			t.Errorf("%d queries at once on %d threads", n, threads)
		}
		close(ctx.opened)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestPublished runs the methods of the papers. Those with a guarantee may fail with
// probability delta per query, so 7 failures of 60 at delta .01 have probability below 1e-6;
// their bounds are loose, and none is expected. In all answers the scores must be exact and the
// certificates must state the right guarantee.
func TestPublished(t *testing.T) {
	const n, dim, m, k = 150, 64, 10, 5
	rng := vectors.Rand(1)
	rows := vectors.PowerLaw(rng, n, dim)
	queries := slices.Concat(vectors.PowerLaw(rng, m-1, dim), make([]float32, dim))
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		c := build(t, rows, dim, &collection.Options{Basis: collection.Raw, Metric: metric, Seed: 1})
		e, o := over(t, c, 2, nil), backendtest.NewOracle(c)
		for _, x := range []struct {
			method    batch.Method
			guarantee batch.Guarantee
			epsilon   float64
			euclidean bool
		}{
			{batch.BanditMIPS, batch.GuaranteeProbabilistic, 0, true},
			{batch.BanditMIPSBeta, batch.GuaranteeProbabilistic, 0, false},
			{batch.BanditMIPSAlpha, batch.GuaranteeHeuristic, 0, false},
			{batch.BucketAE, batch.GuaranteeHeuristic, 0, false},
			{batch.BoundedME, batch.GuaranteeProbabilistic, 0, true},
			{batch.BoundedME, batch.GuaranteeProbabilistic, 1, true},
		} {
			if metric == collection.Euclidean && !x.euclidean {
				continue
			}
			name := metric.String() + " " + string(x.method)
			resp, err := e.Search(t.Context(), batch.Request{Queries: queries, K: k, Method: x.method, Epsilon: x.epsilon})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			bad := 0
			for j := range resp.Answers {
				a := &resp.Answers[j]
				if a.Certificate.Guarantee != x.guarantee || a.Certificate.Method != x.method {
					t.Errorf("%s: certificate %+v", name, a.Certificate)
				}
				if x.guarantee == batch.GuaranteeHeuristic && a.Certificate.Exact {
					t.Errorf("%s: a heuristic answer is called exact", name)
				}
				if len(a.IDs) != k || a.Certificate.Pulls <= 0 || a.Certificate.RowsScored < k {
					t.Errorf("%s query %d: %d ids, %d pulls, %d rows", name, j, len(a.IDs), a.Certificate.Pulls, a.Certificate.RowsScored)
				}
				g := goal(c, k)
				g.Epsilon = x.epsilon
				if metric == collection.Euclidean {
					g.Epsilon /= 2
				}
				if ds := explain(t, o, c, queries[j*dim:(j+1)*dim], g, a); backendtest.Count(ds, backendtest.Tie) < len(ds) {
					bad++
				}
			}
			if x.guarantee != batch.GuaranteeHeuristic {
				if p := backendtest.AtLeast(bad, m, .01); p < backendtest.FalseAlarm {
					t.Errorf("%s: %d of %d answers wrong", name, bad, m)
				}
			}
		}
	}
}

// TestPublishedAlone compares queries of a batch with the same queries alone. A small sigma
// and a wide epsilon make the methods stop early, after random coordinates.
func TestPublishedAlone(t *testing.T) {
	const n, dim, m = 300, 64, 6
	rng := vectors.Rand(2)
	rows := vectors.PowerLaw(rng, n, dim)
	e := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw, Seed: 1}, 2)
	for _, method := range []batch.Method{batch.BanditMIPS, batch.BanditMIPSAlpha, batch.BanditMIPSBeta, batch.BucketAE, batch.BoundedME, batch.Strict, batch.Certain} {
		req := batch.Request{Queries: rows[:m*dim], K: 3, Method: method}
		if method == batch.BanditMIPS || method == batch.BanditMIPSAlpha || method == batch.BanditMIPSBeta || method == batch.BucketAE {
			req.Published.Sigma.Given = .01
		}
		if method == batch.BoundedME {
			req.Epsilon = 50
		}
		all := search(t, e, req)
		if s := all.Stats.Saving(); s < 1.2 && (method == batch.BanditMIPS || method == batch.BanditMIPSBeta) {
			t.Errorf("%s: saving %g: it shows nothing", method, s)
		}
		for j := range m {
			req.Queries = rows[j*dim : (j+1)*dim]
			alone := search(t, e, req)
			if d := cmp.Diff(all.Answers[j:j+1], alone.Answers); d != "" {
				t.Errorf("%s: query %d of a batch and alone (-batch +alone):\n%s", method, j, d)
				break
			}
		}
	}
}
