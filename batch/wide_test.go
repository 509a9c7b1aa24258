package batch_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

// levelled returns n rows of dim coordinates, each about a mean of its own, so that few atoms compete.
func levelled(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	for i := range n {
		level := r.NormFloat64()
		for j := range dim {
			x[i*dim+j] = float32(level + r.NormFloat64())
		}
	}
	return x
}

// TestWideSearches: rows of more than 65,536 dimensions are searched by looks that the backend takes, which
// read few of the coordinates, as below.
func TestWideSearches(t *testing.T) {
	race.Skip(t, "one goroutine")
	const n, m = 192, 3
	for _, dim := range []int{66_000, 140_000} {
		rows, queries := levelled(vectors.Rand(4), n, dim), levelled(vectors.Rand(5), m, dim)
		for i := range queries { // alike, so that a few coordinates tell who is best
			queries[i] += 3
		}
		e := over(t, build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 3}), 1, nil)
		want := search(t, e, batch.Request{Queries: queries, K: 2, Method: batch.Exact})
		for _, x := range []struct {
			method batch.Method
			plan   string
		}{{batch.Auto, ""}, {batch.Certain, ""}, {batch.Adaptive, ""}, {batch.Adaptive, "256,whole,rescore"}} {
			got := search(t, e, batch.Request{Queries: queries, K: 2, Method: x.method, Plan: x.plan, Delta: 1e-9})
			for j := range got.Answers {
				cert := &got.Answers[j].Certificate
				if !slices.Equal(got.Answers[j].IDs, want.Answers[j].IDs) {
					t.Errorf("%d dimensions, %s (%s), query %d: %v, exact finds %v", dim, x.method, cert.Plan, j, got.Answers[j].IDs, want.Answers[j].IDs)
				}
				if x.plan != "" && cert.Pulls > int64(n*dim/3) {
					t.Errorf("%d dimensions, %s: %d of %d coordinates read", dim, x.plan, cert.Pulls, n*dim)
				}
			}
		}
	}
}

// maxWideValues bounds the values of a drawn collection.
const maxWideValues = 1 << 20

// TestNoPlanIsRefused: over methods, metrics, numbers of atoms and dimensions up to the greatest, a search
// whose request is valid is answered, and certain answers are those of exact. Half of the widths are
// around those at which a representation ends.
func TestNoPlanIsRefused(t *testing.T) {
	race.Skip(t, "one goroutine")
	draw := draws.Rand(0x1de)
	edges := []int{15, 16, 256, 257, 768, 1280, 65_472, 65_504, 65_505, 65_536, 65_537, 1 << 20, collection.MaxDim}
	for i := range 26 {
		dim := edges[i/2]
		if i%2 == 1 {
			dim = int(math.Exp(draw.Float64() * math.Log(collection.MaxDim)))
		}
		n := 1 + draw.IntN(min(400, max(1, maxWideValues/dim)))
		metric := collection.InnerProduct + collection.Metric(i%len(collection.Metrics()))
		rows, queries := levelled(draw, n, dim), levelled(draw, 2, dim)
		k := 1 + draw.IntN(max(1, n/5)) // of more, most would be scored anyway
		var exact *batch.Response
		engines := map[string]*batch.Engine{}
		for _, method := range batch.Methods() {
			if dim > 1<<17 && !slices.Contains([]batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive, batch.Strict}, method) {
				continue // the published methods visit coordinates one by one
			}
			o := wideOptions(method, metric)
			kind := fmt.Sprint(o.Basis, o.NoHead)
			e := engines[kind]
			if e == nil {
				e = over(t, build(t, rows, dim, o), 1, nil)
				engines[kind] = e
			}
			got, err := e.Search(t.Context(), batch.Request{Queries: queries, K: k, Method: method, Epsilon: epsilonOf(method)})
			var refused *batch.RequestError
			switch {
			case errors.As(err, &refused) && refused.Field == "method" && mayRefuse(method, metric, dim):
				continue
			case err != nil:
				t.Errorf("%s, %v, %d x %d, k %d: %v", method, metric, n, dim, k, err)
				continue
			}
			if method == batch.Exact {
				exact = got
			}
			for j := range got.Answers {
				if len(got.Answers[j].IDs) != k {
					t.Errorf("%s, %v, %d x %d: %d of %d vectors", method, metric, n, dim, len(got.Answers[j].IDs), k)
				}
				if g := got.Answers[j].Certificate.Guarantee; exact != nil && (g == batch.GuaranteeExact || g == batch.GuaranteeCertain) && !slices.Equal(got.Answers[j].IDs, exact.Answers[j].IDs) {
					t.Errorf("%s (%s), %v, %d x %d: %v, exact finds %v", method, got.Answers[j].Certificate.Plan, metric, n, dim, got.Answers[j].IDs, exact.Answers[j].IDs)
				}
			}
		}
	}
}

// wideOptions are those of a collection that a method can search.
func wideOptions(m batch.Method, metric collection.Metric) *collection.Options {
	o := &collection.Options{Metric: metric, Seed: 3}
	switch m {
	case batch.Auto, batch.Exact, batch.Certain, batch.Adaptive:
	case batch.PrefixF32:
		o.NoHead, o.KeepRotated = true, true
	default:
		o.Basis = collection.Raw
	}
	return o
}

// epsilonOf is what a method needs to end early.
func epsilonOf(m batch.Method) float64 {
	if m == batch.BoundedME {
		return 1
	}
	return 0
}

// mayRefuse reports whether docs/guarantee.md excludes a method for a metric or so few dimensions.
func mayRefuse(m batch.Method, metric collection.Metric, dim int) bool {
	switch m {
	case batch.Auto, batch.Exact, batch.Certain:
		return false
	case batch.Adaptive, batch.PrefixF32:
		return dim < collection.MinRotated
	}
	return metric != collection.InnerProduct
}
