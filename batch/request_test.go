package batch_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestRequestErrors fixes the field and the text of every RequestError.
func TestRequestErrors(t *testing.T) {
	rng := vectors.Rand(1)
	const n, dim = 50, 20
	rows := vectors.Gaussian(rng, n, dim)
	queries := rows[:3*dim]
	with := func(at int, v float32) []float32 {
		q := slices.Clone(queries)
		q[at] = v
		return q
	}
	nan, inf := math.NaN(), math.Inf(1)
	rotated := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct}, 1)
	euclidean := open(t, rows, dim, &collection.Options{Metric: collection.Euclidean}, 1)
	raw := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Basis: collection.Raw}, 1)
	rawEuclidean := open(t, rows, dim, &collection.Options{Basis: collection.Raw, Metric: collection.Euclidean}, 1)
	small := open(t, rows, 10, &collection.Options{Metric: collection.InnerProduct}, 1)
	least, negative := .5, -1.
	for _, x := range []struct {
		name  string
		e     *batch.Engine
		req   batch.Request
		field string
		query int
		says  string
	}{
		{"no queries", rotated, batch.Request{K: 1}, "queries", -1, "queries: none given"},
		{"dimension", rotated, batch.Request{K: 1, Queries: queries[:dim+1]}, "queries", -1, "queries: 21 values are no rows of the collection's 20 dimensions"},
		{"NaN", rotated, batch.Request{K: 1, Queries: with(dim+7, float32(nan))}, "queries", 1, "queries: query 1: column 7: value NaN"},
		{"infinite", rotated, batch.Request{K: 1, Queries: with(2*dim, float32(-inf))}, "queries", 2, "queries: query 2: column 0: value -Inf"},
		{"overflow", rotated, batch.Request{K: 1, Queries: with(0, math.MaxFloat32)}, "queries", 0, "queries: query 0: norm 3.4028234663852886e+38: scores could overflow float32"},
		{"overflow of squares", euclidean, batch.Request{K: 1, Queries: with(dim, 2e19)}, "queries", 1, "queries: query 1: norm 1.9999999961012896e+19: scores could overflow float32"},
		{"k 0", rotated, batch.Request{Queries: queries}, "k", -1, "k: 0, at least 1"},
		{"k negative", rotated, batch.Request{K: -3, Queries: queries, MinScore: &least}, "k", -1, "k: -3, at least 1"},
		{"delta negative", rotated, batch.Request{K: 1, Queries: queries, Delta: -.1}, "delta", -1, "delta: -0.1 is not inside (0, 1)"},
		{"delta 1", rotated, batch.Request{K: 1, Queries: queries, Delta: 1}, "delta", -1, "delta: 1 is not inside (0, 1)"},
		{"delta NaN", rotated, batch.Request{K: 1, Queries: queries, Delta: nan}, "delta", -1, "delta: NaN is not inside (0, 1)"},
		{"epsilon negative", rotated, batch.Request{K: 1, Queries: queries, Epsilon: -1}, "epsilon", -1, "epsilon: -1 is not a finite number from 0 on"},
		{"epsilon infinite", rotated, batch.Request{K: 1, Queries: queries, Epsilon: inf}, "epsilon", -1, "epsilon: +Inf is not a finite number from 0 on"},
		{"epsilon NaN", rotated, batch.Request{K: 1, Queries: queries, Epsilon: nan}, "epsilon", -1, "epsilon: NaN is not a finite number from 0 on"},
		{"limit", rotated, batch.Request{Queries: queries, MinScore: &least, Limit: -1}, "limit", -1, "limit: -1, at least 1, or 0 for none"},
		{"reaching", rotated, batch.Request{Queries: queries, MinScore: &least, Reaching: nan}, "reaching", -1, "reaching: NaN"},
		{"least score NaN", rotated, batch.Request{K: 1, Queries: queries, MinScore: &nan}, "min_score", -1, "min_score: NaN is not finite"},
		{"least score infinite", rotated, batch.Request{K: 1, Queries: queries, MinScore: &inf}, "min_score", -1, "min_score: +Inf is not finite"},
		{"filter", rotated, batch.Request{K: 1, Queries: queries, Filter: []int64{3, 50}}, "filter", -1, "filter: entry 1: row 50 of 50"},
		{"exclude", rotated, batch.Request{K: 1, Queries: queries, Exclude: []int64{-1}}, "exclude", -1, "exclude: entry 0: row -1 of 50"},
		{"self negative", rotated, batch.Request{K: 1, Queries: queries, ExcludeSelf: true, SelfFirst: -1}, "exclude_self", -1, "exclude_self: queries stand for rows -1 to 1, there are 50"},
		{"self beyond", rotated, batch.Request{K: 1, Queries: queries, ExcludeSelf: true, SelfFirst: 48}, "exclude_self", -1, "exclude_self: queries stand for rows 48 to 50, there are 50"},
		{"too few selves", rotated, batch.Request{K: 1, Queries: queries, ExcludeSelf: true, Selves: []int64{1, 2}}, "selves", -1, "selves: 2 for 3 queries"},
		{"a self beyond", rotated, batch.Request{K: 1, Queries: queries, ExcludeSelf: true, Selves: []int64{1, 50, 2}}, "selves", 1, "selves: query 1: entry 0: row 50 of 50"},
		{"self far beyond", rotated, batch.Request{K: 1, Queries: queries, ExcludeSelf: true, SelfFirst: math.MaxInt64}, "exclude_self", -1, "exclude_self: queries stand for rows"},
		{"method", rotated, batch.Request{K: 1, Queries: queries, Method: "hnsw"}, "method", -1, `method: "hnsw" is none of [auto exact certain`},
		{"adaptive, raw", raw, batch.Request{K: 1, Queries: queries, Method: batch.Adaptive}, "method", -1, "method: adaptive needs rotated codes; the basis is raw"},
		{"adaptive, small", small, batch.Request{K: 1, Queries: queries[:10], Method: batch.Adaptive}, "method", -1, "method: adaptive needs at least 16 dimensions, there are 10; use certain or exact"},
		{"strict, rotated", rotated, batch.Request{K: 1, Queries: queries, Method: batch.Strict}, "method", -1, "method: strict promises to preprocess nothing: build with basis raw"},
		{"prefix, codes only", rotated, batch.Request{K: 1, Queries: queries, Method: batch.PrefixF32}, "method", -1, "method: prefix-f32 needs a collection built without head"},
		{"published range", raw, batch.Request{Queries: queries, Method: batch.BanditMIPS, MinScore: &least}, "min_score", -1, "min_score: banditmips finds the k best only"},
		{"published epsilon", raw, batch.Request{K: 1, Queries: queries, Method: batch.BanditMIPSBeta, Epsilon: .1}, "epsilon", -1, "epsilon: banditmips-beta has none"},
		{"sigma", raw, batch.Request{K: 1, Queries: queries, Method: batch.BanditMIPS, Published: batch.Published{Sigma: batch.Sigma{Given: nan}}}, "published.sigma", -1, `published.sigma: NaN is not a number above 0, "range", "data" or "bernstein"`},
		{"two sigmas", raw, batch.Request{K: 1, Queries: queries, Method: batch.BanditMIPS, Published: batch.Published{Sigma: batch.Sigma{Given: 1, Source: batch.SigmaData}}}, "published.sigma", -1, "published.sigma: 1 is not a number above 0"},
		{"beta", raw, batch.Request{K: 1, Queries: queries, Method: batch.BanditMIPSBeta, Published: batch.Published{Beta: &negative}}, "published.beta", -1, "published.beta: -1 is not a number from 0 on"},
		{"another's option", raw, batch.Request{K: 1, Queries: queries, Method: batch.BoundedME, Published: batch.Published{Sigma: batch.Sigma{Given: 1}}}, "published.sigma", -1, "published.sigma: method boundedme has no such option, banditmips, banditmips-alpha, banditmips-beta and bucket-ae have"},
		{"no published method", rotated, batch.Request{K: 1, Queries: queries, Published: batch.Published{Union: batch.UnionPublished}}, "published.union", -1, "published.union: method auto has no such option, boundedme has"},
		{"warm", raw, batch.Request{K: 1, Queries: queries, Method: batch.BanditMIPS, Published: batch.Published{Warm: 21}}, "published.warm", -1, "published.warm: 21 coordinates, there are 20"},
		{"published metric", rawEuclidean, batch.Request{K: 1, Queries: queries, Method: batch.BucketAE}, "method", -1, "method: bucket-ae is defined for inner products, the metric is l2"},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := x.e.Search(t.Context(), x.req)
			var re *batch.RequestError
			if !errors.As(err, &re) {
				t.Fatalf("error %v, want a RequestError", err)
			}
			if re.Field != x.field || re.Query != x.query || !strings.HasPrefix(err.Error(), x.says) {
				t.Errorf("field %q, query %d: %v\nwant %q, %d: %s", re.Field, re.Query, err, x.field, x.query, x.says)
			}
			if errors.Unwrap(re) == nil {
				t.Error("wraps nothing")
			}
		})
	}
}

// TestRequestDefaults checks the defaults of zero values.
func TestRequestDefaults(t *testing.T) {
	rows := vectors.PowerLaw(vectors.Rand(2), 600, 300)
	e := open(t, rows, 300, &collection.Options{Metric: collection.InnerProduct}, 1)
	a := search(t, e, batch.Request{Queries: rows[:300], K: 2, Method: batch.Adaptive}).Answers[0].Certificate
	if a.Delta != .01 || a.Epsilon != 0 {
		t.Errorf("delta %g, epsilon %g", a.Delta, a.Epsilon)
	}
	none := search(t, e, batch.Request{Queries: rows[:300], K: 2})
	auto := search(t, e, batch.Request{Queries: rows[:300], K: 2, Method: batch.Auto})
	same(t, auto.Answers, none.Answers)
}

// TestClosedEngine checks that every method fails on a closed Engine.
func TestClosedEngine(t *testing.T) {
	rows := vectors.Gaussian(vectors.Rand(1), 200, 40)
	for _, x := range []struct {
		basis  collection.Basis
		method batch.Method
	}{{collection.Rotated, batch.Auto}, {collection.Rotated, batch.Certain}, {collection.Raw, batch.Strict}} {
		e := open(t, rows, 40, &collection.Options{Metric: collection.InnerProduct, Basis: x.basis}, 1)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Search(t.Context(), batch.Request{Queries: rows[:40], K: 1, Method: x.method}); !errors.Is(err, backend.ErrClosed) {
			t.Errorf("%s: error %v, want ErrClosed", x.method, err)
		}
	}
}
