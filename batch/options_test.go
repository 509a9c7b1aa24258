package batch_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestPublishedReach: each option reaches the algorithm, which then reads other coordinates or gives another
// guarantee; what is a default changes nothing.
func TestPublishedReach(t *testing.T) {
	const n, dim, m = 80, 256, 3
	rng := vectors.Rand(3)
	rows := vectors.PowerLaw(rng, n, dim)
	queries := vectors.PowerLaw(rng, m, dim)
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw, Seed: 1})
	e := over(t, c, 2, nil)
	ask := func(method batch.Method, options string) *batch.Response {
		req := batch.Request{Queries: queries, K: 3, Method: method}
		if method == batch.BoundedME {
			req.Epsilon = 20
		}
		if err := json.Unmarshal([]byte(options), &req.Published); err != nil {
			t.Fatal(err)
		}
		return search(t, e, req)
	}
	work := func(r *batch.Response) string {
		of := r.Answers[0].Certificate
		return fmt.Sprint(of.Guarantee, of.Law, r.Stats.Pulls, r.Stats.Bytes)
	}
	for _, x := range []struct {
		method   batch.Method
		than, by string
		same     bool
	}{
		{batch.BanditMIPS, `{}`, `{"sigma": "range"}`, true},
		{batch.BanditMIPS, `{}`, `{"sampling": "without_replacement"}`, true},
		{batch.BanditMIPS, `{}`, `{"warm": 0}`, true},
		{batch.BanditMIPS, `{}`, `{"sigma": 0.02}`, false},
		{batch.BanditMIPS, `{"sigma": 0.02}`, `{"sigma": 0.01}`, false},
		{batch.BanditMIPS, `{}`, `{"sigma": "data"}`, false},
		{batch.BanditMIPS, `{}`, `{"sigma": "bernstein"}`, false},
		{batch.BanditMIPS, `{"sigma": 0.02}`, `{"sigma": 0.02, "sampling": "with_replacement"}`, false},
		{batch.BanditMIPS, `{"sigma": 0.02, "sampling": "with_replacement"}`, `{"sigma": 0.02, "sampling": "with_replacement", "warm": 16}`, false},
		{batch.BanditMIPS, `{"sigma": 0.02, "warm": 32}`, `{"sigma": 0.02, "warm": 16}`, false},
		{batch.BanditMIPSAlpha, `{}`, `{"sigma": 0.01}`, false},
		{batch.BanditMIPSAlpha, `{}`, `{"sigma": "data"}`, false},
		{batch.BanditMIPSBeta, `{"sigma": 0.01}`, `{"sigma": 0.01, "beta": 1}`, true},
		{batch.BanditMIPSBeta, `{"sigma": 0.01}`, `{"sigma": 0.01, "beta": 0.5}`, false},
		{batch.BanditMIPSBeta, `{"sigma": 0.01}`, `{"sigma": 0.01, "beta": 0}`, false},
		{batch.BanditMIPSBeta, `{}`, `{"sigma": "data"}`, false},
		{batch.BanditMIPSBeta, `{"sigma": 0.01}`, `{"sigma": "bernstein"}`, false},
		{batch.BucketAE, `{"sigma": 0.01}`, `{"sigma": 0.01, "sampling": "with_replacement", "bins": 30}`, true},
		{batch.BucketAE, `{"sigma": 0.01}`, `{"sigma": 0.01, "sampling": "without_replacement"}`, false},
		{batch.BucketAE, `{"sigma": 0.01}`, `{"sigma": 0.01, "bins": 7}`, false},
		{batch.BucketAE, `{}`, `{"sigma": "data"}`, false},
		{batch.BoundedME, `{}`, `{"union": "corrected"}`, true},
		{batch.BoundedME, `{}`, `{"union": "published"}`, false},
	} {
		a, b := ask(x.method, x.than), ask(x.method, x.by)
		if same := work(a) == work(b); same != x.same {
			t.Errorf("%s: %s by %s and %s by %s", x.method, work(a), x.than, work(b), x.by)
		}
		if x.same {
			for j := range a.Answers {
				a.Answers[j].Certificate.Plan, b.Answers[j].Certificate.Plan = "", ""
			}
			if d := cmp.Diff(a.Answers, b.Answers); d != "" {
				t.Errorf("%s: answers by %s and by %s:\n%s", x.method, x.than, x.by, d)
			}
		} else if plan := b.Answers[0].Certificate.Plan; !strings.Contains(plan, ", ") {
			t.Errorf("%s: plan %q does not name %s", x.method, plan, x.by)
		}
	}
}

// TestWarm: the coordinates of a warm start are read once for all queries, of all vectors whichever a query may
// have, and a query alone gets the same answer.
func TestWarm(t *testing.T) {
	const n, dim, m, warm = 60, 128, 6, 40
	rng := vectors.Rand(4)
	rows, queries := vectors.PowerLaw(rng, n, dim), vectors.PowerLaw(rng, m, dim)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		e := over(t, build(t, rows, dim, &collection.Options{Metric: metric, Basis: collection.Raw, Seed: 1}), 2, nil)
		req := batch.Request{Queries: queries, K: 2, Method: batch.BanditMIPS, Published: batch.Published{Sigma: batch.Sigma{Given: 1e-9}, Warm: warm}}
		req.Goals = make([]batch.QueryGoal, m)
		for j := range req.Goals {
			req.Goals[j].Exclude = []int64{int64(j), int64(2 * j)}
		}
		resp, bytes := search(t, e, req), int64(0)
		for j, a := range resp.Answers {
			bytes += a.Certificate.Bytes
			alone := req
			alone.Queries, alone.Goals = queries[j*dim:(j+1)*dim], req.Goals[j:j+1]
			if d := cmp.Diff(search(t, e, alone).Answers[0], a); d != "" {
				t.Errorf("%v: query %d alone and in a batch:\n%s", metric, j, d)
			}
			if c := a.Certificate; c.Bytes >= 4*c.Pulls || slices.Contains(a.IDs, int64(j)) {
				t.Errorf("%v: query %d: %d bytes for %d pulls, answer %v", metric, j, c.Bytes, c.Pulls, a.IDs)
			}
		}
		if read := resp.Stats.Bytes - bytes; read <= 0 || read > 4*n*warm {
			t.Errorf("%v: %d bytes were read once for all queries, at most %d coordinates of %d vectors", metric, read, warm, n)
		}
	}
	c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw, Seed: 1})
	e := over(t, c, 1, &batch.Options{RunBytes: 8*n*warm - 1})
	_, err := e.Search(t.Context(), batch.Request{Queries: queries, K: 2, Method: batch.BanditMIPS, Published: batch.Published{Warm: warm}})
	if want := "published.warm: 40 coordinates of 60 vectors take 19200 bytes, 19199 are allowed"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestPublishedForms: options have one form in JSON and one in text, and what is none is refused by name.
func TestPublishedForms(t *testing.T) {
	beta := .5
	for _, p := range []batch.Published{
		{},
		{Sigma: batch.Sigma{Given: 2.5}, Sampling: batch.WithReplacement, Warm: 9},
		{Sigma: batch.Sigma{Source: batch.SigmaData}, Beta: &beta},
		{Bins: 12, Union: batch.UnionPublished},
	} {
		text, err := json.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		var back, set batch.Published
		if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(back, p) {
			t.Errorf("%s is %+v, was %+v (%v)", text, back, p, err)
		}
		for part := range strings.SplitSeq(p.String(), ", ") {
			if name, value, ok := strings.Cut(part, " "); ok {
				if err := set.Set(name, value); err != nil {
					t.Error(err)
				}
			}
		}
		if !cmp.Equal(set, p) {
			t.Errorf("%q is %+v, was %+v", p.String(), set, p)
		}
	}
	for text, says := range map[string]string{
		`[]`:                               "published: [] is not an object with some of sigma, beta, sampling, bins, union, warm",
		`null`:                             "published: null is not an object",
		`{"sigma": 0}`:                     `published.sigma: 0 is not a number above 0, "range", "data" or "bernstein"`,
		`{"sigma": "1"}`:                   `published.sigma: "1" is not`,
		`{"sigma": 1e999}`:                 `published.sigma: 1e999 is not`,
		`{"sigma": true}`:                  `published.sigma: true is not`,
		`{"sigma": 1, "sigma": 1}`:         "published.sigma: given twice",
		`{"Sigma": 1}`:                     "published.Sigma: there is no such option; there are sigma, beta",
		`{"beta": -1}`:                     "published.beta: -1 is not a number from 0 on",
		`{"sampling": "with replacement"}`: `published.sampling: "with replacement" is not "with_replacement" or`,
		`{"bins": 0}`:                      "published.bins: 0 is not a whole number of vectors a bin, at least 1",
		`{"bins": 1.5}`:                    "published.bins: 1.5 is not",
		`{"union": ""}`:                    `published.union: "" is not "published" or "corrected"`,
		`{"warm": -1}`:                     "published.warm: -1 is not a whole number of coordinates",
	} {
		p := batch.Published{Bins: 3}
		if err := json.Unmarshal([]byte(text), &p); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
		if !cmp.Equal(p, batch.Published{Bins: 3}) {
			t.Errorf("%s: half read: %+v", text, p)
		}
	}
	var p batch.Published
	for _, x := range [][2]string{{"sigma", "0"}, {"sigma", "NaN"}, {"sigma", "inf"}, {"sigma", "given"}, {"beta", "x"}, {"sampling", "1"}, {"bins", "-3"}, {"union", "corrected "}, {"warm", "0.5"}, {"delta", "0.1"}} {
		if err := p.Set(x[0], x[1]); err == nil || !strings.HasPrefix(err.Error(), "published."+x[0]+": ") {
			t.Errorf("%s %s: %v", x[0], x[1], err)
		}
	}
}

// TestPublishedMethods: every option is refused by every method but those that have it.
func TestPublishedMethods(t *testing.T) {
	has := map[string][]batch.Method{
		`{"sigma": 1}`:                        {batch.BanditMIPS, batch.BanditMIPSAlpha, batch.BanditMIPSBeta, batch.BucketAE},
		`{"beta": 1}`:                         {batch.BanditMIPSBeta},
		`{"sampling": "without_replacement"}`: {batch.BanditMIPS, batch.BucketAE},
		`{"bins": 30}`:                        {batch.BucketAE},
		`{"union": "corrected"}`:              {batch.BoundedME},
		`{"warm": 1}`:                         {batch.BanditMIPS},
	}
	if len(has) != len(batch.PublishedNames()) {
		t.Errorf("%d options are tested, there are %v", len(has), batch.PublishedNames())
	}
	for text, methods := range has {
		var p batch.Published
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		for _, m := range batch.Methods() {
			err := p.Check(m)
			if slices.Contains(methods, m) != (err == nil) || err != nil && !strings.Contains(err.Error(), string(methods[0])+" ha") && !strings.Contains(err.Error(), string(methods[0])+", ") && !strings.Contains(err.Error(), string(methods[0])+" and") {
				t.Errorf("%s and %s: %v", text, m, err)
			}
		}
	}
}

// TestSmallSigma: with a sigma far below that of the data, bounds of different looks contradict each other, and the
// answer is likely to be wrong, but has k vectors all the same.
func TestSmallSigma(t *testing.T) {
	const n, dim, m, k = 60, 512, 20, 3
	rng := vectors.Rand(5)
	rows, queries := vectors.Gaussian(rng, n, dim), vectors.Gaussian(rng, m, dim)
	e := over(t, build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw, Seed: 1}), 2, nil)
	for _, method := range []batch.Method{batch.BanditMIPS, batch.BanditMIPSAlpha, batch.BanditMIPSBeta, batch.BucketAE} {
		for _, sigma := range []float64{1e-9, .01, .1, .3} {
			resp := search(t, e, batch.Request{Queries: queries, K: k, Method: method, Published: batch.Published{Sigma: batch.Sigma{Given: sigma}}})
			for j, a := range resp.Answers {
				if len(a.IDs) != k {
					t.Errorf("%s, sigma %g, query %d: %d ids", method, sigma, j, len(a.IDs))
				}
			}
		}
	}
}

// TestPublishedCheckOfNone: a search without options, as nearly all are, does not pay for the table of them.
func TestPublishedCheckOfNone(t *testing.T) {
	var none batch.Published
	allocations := testing.AllocsPerRun(20, func() {
		if err := none.Check(batch.Auto); err != nil {
			t.Error(err)
		}
	})
	if allocations > 0 {
		t.Errorf("%g allocations", allocations)
	}
}
