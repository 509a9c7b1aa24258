package batch_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// scoresLast are costs, the same on every processor, by which thresholds come from codes, so that looks
// leave arms that are scored at the end.
func scoresLast() *batch.Options {
	costs := backend.Portable()
	costs.Fetch, costs.Score, costs.DenseOne = 1, 80, 10
	return &batch.Options{Costs: &costs}
}

// TestDeadlines interrupts searches at every check of their context.
func TestDeadlines(t *testing.T) {
	const n, m = 2000, 5
	for _, x := range []struct {
		dim     int
		opt     collection.Options
		methods []batch.Method
	}{
		{8, collection.Options{Metric: collection.InnerProduct}, []batch.Method{batch.Auto}},
		{144, collection.Options{Metric: collection.InnerProduct, Seed: 1}, []batch.Method{batch.Adaptive, batch.Certain, batch.Exact}},
		{144, collection.Options{Seed: 1, Metric: collection.Cosine}, []batch.Method{batch.Adaptive, batch.Exact}},
		{144, collection.Options{Seed: 1, Metric: collection.Euclidean}, []batch.Method{batch.Certain, batch.Exact}},
		{48, collection.Options{Metric: collection.InnerProduct, Seed: 1, Basis: collection.Raw}, []batch.Method{batch.Certain, batch.Strict}},
	} {
		rng := vectors.Rand(1)
		rows := vectors.Gaussian(rng, n, x.dim)
		queries := vectors.Gaussian(rng, m, x.dim)
		c := build(t, rows, x.dim, &x.opt)
		e, o := over(t, c, 1, scoresLast()), backendtest.NewOracle(c)
		for _, method := range x.methods {
			for _, k := range []int{1, 10} {
				partial, found := 0, 0
				for polls, struck := 0, true; struck; polls += 1 + polls/4 {
					reason, stop := context.DeadlineExceeded, batch.Deadline
					if polls%2 == 1 {
						reason, stop = context.Canceled, batch.Cancelled
					}
					ctx := backendtest.NewCountdown(polls, reason)
					resp, err := e.Search(ctx, batch.Request{Queries: queries, K: k, Method: method, Delta: 1e-9})
					if err := misstated(resp, err); err != nil {
						t.Fatalf("%s, struck after %d: %v", method, polls, err)
					}
					struck = ctx.Ended()
					for j := range resp.Answers {
						a := &resp.Answers[j]
						cert := a.Certificate
						if (cert.OpenBound == nil) != (cert.StoppedBy == batch.Done) || cert.OpenBound != nil && (cert.Exact || cert.StoppedBy != stop || !struck) {
							t.Fatalf("%v %v %s, struck after %d: open bound %v, exact %v, stopped by %s", c.Metric, c.Basis, method, polls, cert.OpenBound, cert.Exact, cert.StoppedBy)
						}
						if _, err := json.Marshal(cert); err != nil {
							t.Fatalf("%v %v %s, struck after %d: %v", c.Metric, c.Basis, method, polls, err)
						}
						ds := explain(t, o, c, queries[j*x.dim:(j+1)*x.dim], goal(c, k), a)
						if bad := backendtest.Count(ds, backendtest.Wrong) + backendtest.Count(ds, backendtest.BoundFailed); bad > 0 {
							t.Fatalf("%v %v %s, struck after %d, query %d: %v", c.Metric, c.Basis, method, polls, j, ds)
						}
						if cert.OpenBound != nil {
							partial++
							if len(a.IDs) == k {
								found++
							}
						}
					}
					if resp.Complete() != (resp.Stats.Unfinished == 0) || !struck && !resp.Complete() {
						t.Fatalf("%s, struck after %d: complete %v with %d partial answers", method, polls, resp.Complete(), resp.Stats.Unfinished)
					}
				}
				if partial == 0 || found == 0 {
					t.Errorf("%v %v dim %d, %s, k %d: %d partial answers, %d of them with k vectors: nothing was struck midway", c.Metric, c.Basis, x.dim, method, k, partial, found)
				}
			}
		}
	}
}

// TestTimeoutOver searches with a timeout that passes before the search begins.
func TestTimeoutOver(t *testing.T) {
	rows := vectors.Gaussian(vectors.Rand(1), 3000, 40)
	e := open(t, rows, 40, &collection.Options{Metric: collection.InnerProduct}, 1)
	resp, err := e.Search(t.Context(), batch.Request{Queries: rows[:80], K: 3, Deadline: time.Nanosecond})
	if err := misstated(resp, err); err != nil {
		t.Fatal(err)
	}
	for _, a := range resp.Answers {
		if c := a.Certificate; c.StoppedBy != batch.Deadline || c.OpenBound == nil || c.Exact {
			t.Errorf("certificate %+v", c)
		}
	}
	if resp.Complete() || resp.Stats.Unfinished != 2 {
		t.Errorf("complete %v, %d partial answers of 2", resp.Complete(), resp.Stats.Unfinished)
	}
}
