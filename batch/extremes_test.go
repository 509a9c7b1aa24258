package batch_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// TestExtremeNorms searches with queries and atoms whose norms are near the limits of float32,
// where products of scaled terms could overflow or underflow: no arm may be lost. With -short each
// pair of norms is tried in one metric.
func TestExtremeNorms(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, dim, m, k = 1200, 160, 6, 5
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		for i, x := range []struct {
			query, atom float32
			spread      float64 // ratio of the last atom's norm to the first's
		}{
			{1e-36, 1e-28, 1}, {1e-41, 1e-28, 1}, {1e-36, 1e-41, 1}, {1, 1e-41, 1}, {1e-20, 1e13, 1}, {1e-36, 1e13, 1},
			{1e-36, 1, 1}, {1e15, 1e-30, 1}, {1e13, 1e-41, 1}, {1e13, 1e13, 1},
			{1, 1e-44, 1}, {1, 1e-30, 1e43}, {1e-36, 1e-41, 1e54}, {1e-20, 1e-20, 1e33}, {1, 1e-41, 1e6},
		} {
			if testing.Short() && (i+int(metric))%3 != 0 {
				continue
			}
			rng := vectors.Rand(3)
			rows, queries := vectors.PowerLaw(rng, n, dim), vectors.PowerLaw(rng, m, dim)
			for i := range rows {
				rows[i] = float32(float64(rows[i]) * float64(x.atom) * math.Pow(x.spread, float64(i/dim)/n))
			}
			for i := range queries {
				queries[i] *= x.query
			}
			e := open(t, rows, dim, &collection.Options{Metric: metric, Seed: 2}, 1)
			float := open(t, rows, dim, &collection.Options{Metric: metric, Seed: 2, NoHead: true, KeepRotated: true}, 1)
			want := search(t, e, batch.Request{Queries: queries, K: k, Method: batch.Exact})
			for _, method := range []batch.Method{batch.Adaptive, batch.Certain, batch.PrefixF32} {
				t.Run(fmt.Sprintf("%v/%g/%g/%g/%s", metric, x.query, x.atom, x.spread, method), func(t *testing.T) {
					e := e
					if method == batch.PrefixF32 {
						e = float
					}
					got := search(t, e, batch.Request{Queries: queries, K: k, Method: method, Delta: 1e-9})
					for j := range got.Answers {
						if a, b := got.Answers[j].IDs, want.Answers[j].IDs; !slices.Equal(a, b) {
							t.Errorf("query %d: %v, exact scan %v", j, a, b)
						}
					}
				})
			}
		}
	}
}

// TestDistancesOfTinyQueries searches atoms of one norm for the nearest to queries so short
// that their products vanish when they are added to |v|^2/2.
func TestDistancesOfTinyQueries(t *testing.T) {
	const n, dim, m, k = 600, 64, 16, 3
	rng := vectors.Rand(5)
	base, rows := vectors.Gaussian(rng, 1, dim), make([]float32, n*dim)
	for i := range n {
		for j, p := range rng.Perm(dim) {
			rows[i*dim+j] = base[p]
		}
	}
	queries := vectors.Gaussian(rng, m, dim)
	for i := range queries {
		queries[i] *= 1e-14
	}
	for basis, methods := range map[collection.Basis][]batch.Method{
		collection.Rotated: {batch.Exact, batch.Certain, batch.Adaptive},
		collection.Raw:     {batch.Exact, batch.Certain, batch.Strict, batch.BoundedME},
	} {
		c := build(t, rows, dim, &collection.Options{Metric: collection.Euclidean, Basis: basis, Seed: 1})
		e, o := over(t, c, 1, nil), backendtest.NewOracle(c)
		for _, method := range methods {
			resp := search(t, e, batch.Request{Queries: queries, K: k, Method: method, Delta: 1e-9})
			if bad := wrong(t, o, c, queries, goal(c, k), resp); bad > 0 {
				t.Errorf("%v %s: %d of %d answers wrong", basis, method, bad, m)
			}
		}
	}
}
