package batch_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// TestCertificates recomputes every figure of every certificate.
func TestCertificates(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, m = 1200, 6
	for _, dim := range []int{8, 144, 300} {
		if testing.Short() && dim == 300 {
			continue
		}
		rng := vectors.Rand(1)
		for name, rows := range map[string][]float32{"power-law": vectors.PowerLaw(rng, n, dim), "gaussian": vectors.Gaussian(rng, n, dim)} {
			for _, opt := range []collection.Options{
				{Metric: collection.InnerProduct, Seed: 1}, {Seed: 1, Metric: collection.Cosine}, {Seed: 1, Metric: collection.Euclidean},
				{Metric: collection.InnerProduct, Seed: 1, NoHead: true, KeepRotated: true}, {Metric: collection.InnerProduct, Seed: 1, Basis: collection.Raw},
			} {
				c := build(t, rows, dim, &opt)
				e, o := over(t, c, 1, nil), backendtest.NewOracle(c)
				queries := slices.Concat(rows[:(m-1)*dim], make([]float32, dim))
				for _, req := range []batch.Request{
					{K: 1}, {K: 10, Epsilon: .25}, {K: 100, Delta: .2},
					{K: 10, Method: batch.Exact}, {K: 10, Method: batch.Certain, Epsilon: .5}, {K: 10, Method: batch.Adaptive, Delta: .1},
					{K: 10, Method: batch.Strict}, {K: 10, Method: batch.PrefixF32},
					{K: 5, Exclude: []int64{1, 3, 5, 7, 9}}, {K: 5, Method: batch.Certain, Filter: []int64{1, 300, 5, 7, 1100, 70}},
					{K: 10, ExcludeSelf: true, Method: batch.Certain}, {K: 10, Delta: .1, Plan: "signs128,whole,rescore"},
				} {
					req.Queries = queries
					resp, err := e.Search(t.Context(), req)
					if err != nil {
						continue // TestMethodsAgainstOracle lists which methods a basis has
					}
					var sum batch.Stats
					for j := range resp.Answers {
						a := &resp.Answers[j]
						cert := &a.Certificate
						what := name + " " + c.Metric.String() + " " + c.Basis.String() + " " + cert.Plan
						recompute(t, what, c, &req, a)
						allowed := n - len(req.Exclude)
						if req.Filter != nil {
							allowed = len(req.Filter)
						}
						if req.ExcludeSelf {
							allowed--
						}
						if want := int64(allowed * dim); cert.DensePulls != want {
							t.Errorf("%s: dense pulls %d, want %d", what, cert.DensePulls, want)
						}
						// the threshold, search-score units
						q := queries[j*dim : (j+1)*dim]
						least := math.Inf(1)
						row := 0
						for _, id := range a.IDs {
							if s := o.Scores(q)[id]; s < least {
								least, row = s, int(id)
							}
						}
						eps := req.Epsilon
						if c.Metric == collection.Euclidean {
							eps /= 2
						}
						if cert.Threshold == nil || math.Abs(*cert.Threshold-least-eps) > 2*o.Precision(q, row)+1e-15*eps {
							t.Errorf("%s: threshold %v, the k-th score is %g, epsilon %g", what, cert.Threshold, least, eps)
						}
						sum.Pulls += cert.Pulls
						sum.DensePulls += cert.DensePulls
						sum.Bytes += cert.Bytes
						sum.RowsScored += int64(cert.RowsScored)
						if cert.Exact {
							sum.Exact++
						}
						if cert.Fallback != "" {
							sum.Dense++
						}
					}
					if d := cmp.Diff(sum, resp.Stats); d != "" {
						t.Errorf("stats (-sum of certificates +given):\n%s", d)
					}
					if !resp.Complete() {
						t.Error("not complete")
					}
				}
			}
		}
	}
}

// recompute checks the figures of an answer to a search that was not stopped.
func recompute(t *testing.T, what string, c *collection.Collection, req *batch.Request, a *batch.Answer) {
	t.Helper()
	cert := &a.Certificate
	var pulls, bytes int64
	before, width, resolved := c.N, 0, 0
	for _, l := range cert.Looks {
		if l.Seen > before || l.Survivors > l.Seen {
			t.Errorf("%s: a look saw %d of %d and kept %d", what, l.Seen, before, l.Survivors)
		}
		before = l.Survivors
		codes := l.Width
		if l.Reads == "sign panels" { // eight signs a pull
			codes = c.R + (l.Width-c.R)/8
		}
		read := int64(l.Seen+l.Disallowed) * int64(codes)
		if l.Reads == "float32" {
			read = int64(l.Seen) * int64(l.Width-width)
			width = l.Width
			bytes += 4 * read
			if c.Basis == collection.Raw && l.Width == c.Dim {
				resolved = l.Seen // every coordinate was read, so their scores are known
			}
		} else {
			bytes += read + 12*int64(l.Seen+l.Disallowed)
		}
		pulls += read
		random := l.Rule == "student" || l.Rule == "martingale" || l.Rule == "mean-radius"
		if random != (l.Alpha > 0) {
			t.Errorf("%s: rule %s spends alpha %g", what, l.Rule, l.Alpha)
		}
		if random && l.Survivors < l.Seen && resolved == 0 && cert.Exact && cert.Fallback == "" {
			t.Errorf("%s: a %s look dropped %d arms, yet the answer is called exact", what, l.Rule, l.Seen-l.Survivors)
		}
	}
	pulls += int64(cert.RowsScored-resolved) * int64(c.Dim)
	bytes += 4 * int64(cert.RowsScored-resolved) * int64(c.Dim)
	// rows of codes that were read only for lower bounds are not part of a look
	if codes := int64(c.R + c.D); c.Coded() && cert.Pulls > pulls && len(cert.Looks) > 0 && (cert.Looks[0].Reads == "panels" || cert.Looks[0].Reads == "sign panels") {
		tightening := (cert.Pulls - pulls) / codes
		if tightening > int64(cert.Looks[0].Survivors) {
			t.Errorf("%s: %d rows of codes made thresholds, %d arms passed the first look", what, tightening, cert.Looks[0].Survivors)
		}
		pulls += tightening * codes
		bytes += tightening * (codes + 12)
	}
	if cert.Pulls != pulls || cert.Bytes != bytes {
		t.Errorf("%s: %d pulls of %d bytes, the looks and %d rows make %d of %d\n%+v", what, cert.Pulls, cert.Bytes, cert.RowsScored, pulls, bytes, cert.Looks)
	}
	if cert.OpenBound != nil || cert.StoppedBy != batch.Done {
		t.Errorf("%s: open bound %v, stopped by %s", what, cert.OpenBound, cert.StoppedBy)
	}
	delta := req.Delta
	if delta == 0 {
		delta = .01
	}
	switch cert.Guarantee {
	case batch.GuaranteeExact, batch.GuaranteeCertain:
		if cert.Delta != 0 || !cert.Exact {
			t.Errorf("%s: guarantee %s with delta %g, exact %v", what, cert.Guarantee, cert.Delta, cert.Exact)
		}
	default:
		if cert.Delta != delta {
			t.Errorf("%s: delta %g, asked for %g", what, cert.Delta, delta)
		}
	}
	if cert.Epsilon != req.Epsilon {
		t.Errorf("%s: epsilon %g, asked for %g", what, cert.Epsilon, req.Epsilon)
	}
	if req.Method != "" && req.Method != cert.Method {
		t.Errorf("%s: method %s, asked for %s", what, cert.Method, req.Method)
	}
}

// TestCertificateJSON fixes the names that readers of certificates rely on.
func TestCertificateJSON(t *testing.T) {
	rows := vectors.PowerLaw(vectors.Rand(1), 500, 300)
	e := open(t, rows, 300, &collection.Options{Metric: collection.InnerProduct}, 1)
	b, err := json.Marshal(search(t, e, batch.Request{Queries: rows[:300], K: 3, Method: batch.Adaptive}).Answers[0].Certificate)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	want := []string{"backend", "bytes", "delta", "dense_pulls", "epsilon", "exact", "guarantee", "law", "looks", "method", "open_bound", "plan",
		"predicted_ns", "predicted_survivors", "pulls", "rows_scored", "stopped_by", "threshold"}
	if d := cmp.Diff(want, slices.Sorted(maps.Keys(fields))); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
	look := fields["looks"].([]any)[0].(map[string]any)
	if d := cmp.Diff([]string{"alpha", "reads", "rule", "seen", "survivors", "width"}, slices.Sorted(maps.Keys(look))); d != "" {
		t.Errorf("fields of a look (-want +got):\n%s", d)
	}
	if fields["open_bound"] != nil || fields["method"] != "adaptive" || fields["guarantee"] != "probabilistic" || fields["stopped_by"] != "done" {
		t.Errorf("certificate %s", b)
	}
}

// TestLaws checks the law of certificates on both sides of the greatest dimension of a Haar
// rotation, and that certificates without a probability have none. Laws survive JSON, and
// old certificates without a law can be read.
func TestLaws(t *testing.T) {
	const n = 600
	plain := &collection.Options{Metric: collection.InnerProduct}
	raw := &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}
	prefixes := &collection.Options{Metric: collection.InnerProduct, NoHead: true, KeepRotated: true}
	for _, x := range []struct {
		dim       int
		opt       *collection.Options
		req       batch.Request
		guarantee batch.Guarantee
		law       batch.Law
	}{
		{256, plain, batch.Request{Method: batch.Adaptive}, batch.GuaranteeProbabilistic, batch.LawHaar},
		{257, plain, batch.Request{Method: batch.Adaptive}, batch.GuaranteeProbabilistic, batch.LawCalibrated},
		{257, plain, batch.Request{Plan: "64,rescore"}, batch.GuaranteeProbabilistic, batch.LawCalibrated},
		{256, prefixes, batch.Request{Method: batch.PrefixF32}, batch.GuaranteeProbabilistic, batch.LawHaar},
		{257, prefixes, batch.Request{Method: batch.PrefixF32}, batch.GuaranteeProbabilistic, batch.LawCalibrated},
		{257, raw, batch.Request{Method: batch.Strict}, batch.GuaranteeProbabilistic, batch.LawOrder},
		{32, raw, batch.Request{Method: batch.BanditMIPS}, batch.GuaranteeProbabilistic, batch.LawPublished},
		{32, raw, batch.Request{Method: batch.BanditMIPS, Published: batch.Published{Sigma: batch.Sigma{Given: 9}}}, batch.GuaranteeProbabilistic, batch.LawAssumed},
		{32, raw, batch.Request{Method: batch.BanditMIPSBeta}, batch.GuaranteeProbabilistic, batch.LawPublished},
		{32, raw, batch.Request{Method: batch.BanditMIPSBeta, Published: batch.Published{Sigma: batch.Sigma{Given: 9}}}, batch.GuaranteeProbabilistic, batch.LawAssumed},
		{32, raw, batch.Request{Method: batch.BanditMIPS, Published: batch.Published{Sigma: batch.Sigma{Source: batch.SigmaRange}}}, batch.GuaranteeProbabilistic, batch.LawPublished},
		{32, raw, batch.Request{Method: batch.BanditMIPS, Published: batch.Published{Sigma: batch.Sigma{Source: batch.SigmaBernstein}}}, batch.GuaranteeProbabilistic, batch.LawPublished},
		{32, raw, batch.Request{Method: batch.BanditMIPS, Published: batch.Published{Sigma: batch.Sigma{Source: batch.SigmaData}}}, batch.GuaranteeHeuristic, ""},
		{32, raw, batch.Request{Method: batch.BanditMIPSBeta, Published: batch.Published{Sigma: batch.Sigma{Source: batch.SigmaData}}}, batch.GuaranteeHeuristic, ""},
		{32, raw, batch.Request{Method: batch.BoundedME, Epsilon: 1}, batch.GuaranteeProbabilistic, batch.LawPublished},
		{32, raw, batch.Request{Method: batch.BoundedME, Epsilon: 1, Published: batch.Published{Union: batch.UnionPublished}}, batch.GuaranteeHeuristic, ""},
		{32, raw, batch.Request{Method: batch.BanditMIPSAlpha, Published: batch.Published{Sigma: batch.Sigma{Given: 9}}}, batch.GuaranteeHeuristic, ""},
		{32, raw, batch.Request{Method: batch.BucketAE, Published: batch.Published{Sigma: batch.Sigma{Given: 9}}}, batch.GuaranteeHeuristic, ""},
		{32, raw, batch.Request{}, batch.GuaranteeCertain, ""},
		{257, plain, batch.Request{Method: batch.Certain}, batch.GuaranteeCertain, ""},
		{257, plain, batch.Request{Method: batch.Exact}, batch.GuaranteeExact, ""},
	} {
		rows := vectors.PowerLaw(vectors.Rand(1), n, x.dim)
		e := open(t, rows, x.dim, x.opt, 1)
		x.req.Queries, x.req.K = rows[:2*x.dim], 3
		for _, a := range search(t, e, x.req).Answers {
			cert := a.Certificate
			if cert.Guarantee != x.guarantee || cert.Law != x.law {
				t.Errorf("%d dimensions, %s, plan %s, options %q: %s by law %q, want %s by %q",
					x.dim, cert.Method, cert.Plan, x.req.Published.String(), cert.Guarantee, cert.Law, x.guarantee, x.law)
			}
			text, err := json.Marshal(cert)
			if err != nil {
				t.Fatal(err)
			}
			named := bytes.Contains(text, []byte(`,"law":"`+x.law+`"`))
			if named != (x.law != "") || x.law != "" && !slices.Contains(batch.Laws(), x.law) {
				t.Errorf("law %q: %s", x.law, text)
			}
			for _, former := range []bool{false, true} {
				if former {
					text = bytes.Replace(text, []byte(`,"law":"`+x.law+`"`), nil, 1)
					cert.Law = ""
				}
				var back batch.Certificate
				if err := json.Unmarshal(text, &back); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(cert, back); d != "" {
					t.Errorf("law %q: from JSON (-want +got):\n%s", x.law, d)
				}
			}
		}
	}
}

// TestSaving checks the ratio, also without pulls.
func TestSaving(t *testing.T) {
	if s := (batch.Stats{Pulls: 50, DensePulls: 200}).Saving(); s != 4 {
		t.Errorf("saving %g, want 4", s)
	}
	if s := (batch.Stats{}).Saving(); s != 1 {
		t.Errorf("saving of nothing %g, want 1", s)
	}
}
