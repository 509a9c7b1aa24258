package batch_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/internal/vectors"
)

// afterChecks is a context that is cancelled after so many checks.
type afterChecks struct {
	context.Context
	left atomic.Int64
}

func (c *afterChecks) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestThreadsOfOneQuery: the answers to one query and their certificates do not depend on the number of
// threads, nor on runs beside it, also after runs that were cancelled, and closing the backend ends its
// helpers.
func TestThreadsOfOneQuery(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const n, dim, queries = 60_000, 64, 8
	rows := vectors.Embeddings(vectors.Rand(1), n+queries, dim)
	c := build(t, rows[queries*dim:], dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	var engines []*batch.Engine
	for _, threads := range []int{1, 2, 4} {
		b := cpu.New(cpu.Options{Threads: threads})
		e, err := batch.Open(t.Context(), c, b, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		defer e.Close()
		engines = append(engines, e)
	}
	floor := float64(0)
	for _, req := range []batch.Request{
		{K: 1, Method: batch.Adaptive}, {K: 10, Method: batch.Adaptive}, {K: 100, Method: batch.Adaptive},
		{K: 1, Method: batch.Certain}, {K: 100, Method: batch.Certain}, {K: 10, Method: batch.Exact},
		{K: 10, Method: batch.Adaptive, MinScore: &floor}, {K: 10, Method: batch.Certain, MaxScore: &floor},
	} {
		t.Run(fmt.Sprintf("%s/k=%d", req.Method, req.K), func(t *testing.T) {
			for j := range queries {
				req.Queries = rows[j*dim : (j+1)*dim]
				want := search(t, engines[0], req).Answers
				for i, e := range engines[1:] {
					for checks := range 3 {
						ctx := &afterChecks{Context: t.Context()}
						ctx.left.Store(int64(4 * checks))
						if err := misstated(e.Search(ctx, req)); err != nil {
							t.Fatal(err)
						}
					}
					var together sync.WaitGroup
					for range 2 {
						together.Go(func() {
							resp, err := e.Search(t.Context(), req)
							if err != nil {
								t.Error(err)
							} else if diff := cmp.Diff(want, resp.Answers); diff != "" {
								t.Errorf("query %d on %d threads (-one +more):\n%s", j, 2<<i, diff)
							}
						})
					}
					together.Wait()
				}
			}
		})
	}
}
