package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// misstated returns what is wrong with how a search ended: a response is complete, and then there is
// no error, or partial, and then the error is that of the context which ended, and each stopped answer
// has the guarantee bound. An error without a response is returned as it is.
func misstated(resp *batch.Response, err error) error {
	if resp == nil {
		return err
	}
	var want error
	for j := range resp.Answers {
		c := &resp.Answers[j].Certificate
		stopped := c.StoppedBy != batch.Done
		if stopped != (c.Guarantee == batch.GuaranteeBound) || stopped != (c.OpenBound != nil) || stopped && c.Exact {
			return fmt.Errorf("answer %d, stopped by %s: guarantee %s, open bound %v, exact %v", j, c.StoppedBy, c.Guarantee, c.OpenBound, c.Exact)
		}
		if stopped && want == nil {
			want = map[batch.Stop]error{batch.Deadline: context.DeadlineExceeded, batch.Cancelled: context.Canceled}[c.StoppedBy]
		}
	}
	if !errors.Is(err, want) || (want == nil) != (err == nil) {
		return fmt.Errorf("error %v, want %v", err, want)
	}
	return nil
}

// TestStoppedIsNotCertain: an ended context gives the partial response and its error, and no stopped
// answer claims what its method would have promised; by every method, directly and coalesced.
func TestStoppedIsNotCertain(t *testing.T) {
	const n, dim, m = 400, 48, 8
	rows := vectors.PowerLaw(vectors.Rand(3), n, dim)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, x := range []struct {
		opt     collection.Options
		methods []batch.Method
	}{
		{collection.Options{Seed: 1, Metric: collection.InnerProduct}, []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive}},
		{collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}, []batch.Method{batch.Strict, batch.BanditMIPS, batch.BanditMIPSAlpha, batch.BanditMIPSBeta, batch.BucketAE, batch.BoundedME}},
	} {
		c := build(t, rows, dim, &x.opt)
		e := over(t, c, 1, nil)
		co := batch.NewCoalescer(e, nil)
		defer co.Close()
		for _, method := range x.methods {
			req := batch.Request{Queries: rows[:m*dim], K: 3, Method: method}
			if method == batch.BoundedME {
				req.Epsilon = .5 // it needs one
			}
			ks := req
			ks.Goals = make([]batch.QueryGoal, m)
			for j := range ks.Goals {
				ks.Goals[j].K = 1 + j%2 // searched one k after the other
			}
			for _, search := range []func(context.Context, batch.Request) (*batch.Response, error){e.Search, co.Search} {
				for _, r := range []batch.Request{req, ks} {
					resp, err := search(ended, r)
					if resp == nil || !errors.Is(err, context.Canceled) || resp.Stats.Unfinished != m || len(resp.Answers) != m {
						t.Fatalf("%s: response %v, error %v; want a partial response of %d answers with the context's error", method, resp, err, m)
					}
					if err := misstated(resp, err); err != nil {
						t.Errorf("%s: %v", method, err)
					}
				}
			}
		}
	}
}

// TestStoppedRisk: a stopped answer keeps the delta and law of its method if a bound that can fail
// dropped arms, and has none otherwise.
func TestStoppedRisk(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim = 4000, 300
	rows := vectors.Embeddings(vectors.Rand(5), n, dim)
	c := build(t, rows, dim, &collection.Options{Seed: 1, Metric: collection.InnerProduct})
	e := over(t, c, 1, scoresLast())
	var risks, none int
	for _, method := range []batch.Method{batch.Adaptive, batch.Certain} {
		for polls := range 400 {
			ctx := backendtest.NewCountdown(polls, context.Canceled)
			resp, err := e.Search(ctx, batch.Request{Queries: rows[:4*dim], K: 5, Method: method, Delta: .125})
			if err := misstated(resp, err); err != nil {
				t.Fatalf("%s, struck after %d: %v", method, polls, err)
			}
			for j := range resp.Answers {
				cert := &resp.Answers[j].Certificate
				if cert.StoppedBy == batch.Done {
					continue
				}
				switch {
				case cert.Delta == 0 && cert.Law == "":
					none++
				case cert.Delta == .125 && slices.Contains(batch.Laws(), cert.Law) && method == batch.Adaptive:
					risks++
				default:
					t.Fatalf("%s, struck after %d: delta %g, law %q", method, polls, cert.Delta, cert.Law)
				}
			}
			if !ctx.Ended() {
				break
			}
		}
	}
	if risks == 0 || none == 0 {
		t.Errorf("%d stopped answers with a risk, %d without: nothing was struck midway", risks, none)
	}
}
