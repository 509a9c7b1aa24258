package batch_test

import (
	"slices"
	"testing"

	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
)

// TestAuto checks which method auto picks: exact where nothing can be saved,
// adaptive where the forecast says that much can.
func TestAuto(t *testing.T) {
	rng := backendtest.Rand(1)
	for _, x := range []struct {
		name string
		dim  int
		rows []float32
		opt  collection.Options
		k    int
		want []batch.Method
	}{
		{"tiny", 300, backendtest.PowerLaw(rng, 50, 300), collection.Options{}, 1, []batch.Method{batch.Exact}},
		{"one atom", 40, backendtest.Gaussian(rng, 1, 40), collection.Options{}, 1, []batch.Method{batch.Exact}},
		{"most of the atoms wanted", 300, backendtest.PowerLaw(rng, 1000, 300), collection.Options{}, 500, []batch.Method{batch.Exact}},
		{"all wanted", 300, backendtest.PowerLaw(rng, 1000, 300), collection.Options{}, 1000, []batch.Method{batch.Exact}},
		{"iid", 256, backendtest.Gaussian(rng, 3000, 256), collection.Options{}, 100, []batch.Method{batch.Exact}},
		{"embeddings", 768, backendtest.PowerLaw(rng, 4000, 768), collection.Options{}, 1, []batch.Method{batch.Adaptive}},
		{"few dimensions", 8, backendtest.Gaussian(rng, 20000, 8), collection.Options{}, 1, []batch.Method{batch.Certain, batch.Exact}},
		{"raw", 300, backendtest.PowerLaw(rng, 2000, 300), collection.Options{Basis: collection.Raw}, 1, []batch.Method{batch.Certain, batch.Strict, batch.Exact}},
	} {
		e := open(t, x.rows, x.dim, &x.opt, 1)
		cert := search(t, e, batch.Request{Queries: x.rows[:x.dim], K: x.k}).Answers[0].Certificate
		if !slices.Contains(x.want, cert.Method) {
			t.Errorf("%s, k %d: auto picked %s (%s, forecast %g), want one of %v", x.name, x.k, cert.Method, cert.Plan, cert.Predicted, x.want)
		}
	}
}

// TestPlanIgnoresTheBatch checks that a query's plan is a function of the
// collection and what is asked, not of the queries or their number.
func TestPlanIgnoresTheBatch(t *testing.T) {
	const dim = 384
	rng := backendtest.Rand(2)
	rows := backendtest.PowerLaw(rng, 2000, dim)
	e := open(t, rows, dim, nil, 2)
	plans := map[string]bool{}
	for _, m := range []int{1, 3, 100} {
		for _, a := range search(t, e, batch.Request{Queries: rows[:m*dim], K: 10}).Answers {
			plans[a.Certificate.Plan] = true
		}
	}
	if len(plans) != 1 {
		t.Errorf("plans %v", plans)
	}
}

// TestAlphaIsShared checks that the levels which a query's looks spend sum to
// delta over its k true arms, and to delta for each atom of a range.
func TestAlphaIsShared(t *testing.T) {
	const delta = .05
	least := 5.
	looks := 0 // that can fail, the most of any answer
	for _, set := range []struct {
		n, dim int
		opt    collection.Options
	}{
		{2000, 384, collection.Options{}},
		{1000, 4096, collection.Options{}}, // two looks at prefixes
		{2000, 384, collection.Options{NoHead: true, KeepRotated: true}},
		{2000, 384, collection.Options{Basis: collection.Raw}},
	} {
		dim := set.dim
		if testing.Short() && dim == 4096 {
			continue
		}
		rows := backendtest.PowerLaw(backendtest.Rand(3), set.n, dim)
		e := open(t, rows, dim, &set.opt, 1)
		for _, x := range []struct {
			k, arms int
			least   *float64
		}{{1, 1, nil}, {10, 10, nil}, {100, 100, nil}, {0, 1, &least}} {
			for _, method := range []batch.Method{batch.Adaptive, batch.PrefixF32, batch.Strict} {
				resp, err := e.Search(t.Context(), batch.Request{Queries: rows[:20*dim], K: x.k, MinScore: x.least, Method: method, Delta: delta})
				if err != nil {
					continue
				}
				for _, a := range resp.Answers {
					spent, random := 0., 0
					for _, l := range a.Certificate.Looks {
						if method == batch.Strict {
							spent = max(spent, l.Alpha) // one bound for all looks
						} else {
							spent += l.Alpha
						}
						if l.Alpha > 0 {
							random++
						}
					}
					if method == batch.Adaptive {
						looks = max(looks, random)
					}
					if most := delta / float64(x.arms) * (1 + 1e-12); spent > most {
						t.Errorf("%s k %d: looks spend %g an arm, at most %g\n%+v", method, x.k, spent, most, a.Certificate.Looks)
					}
				}
			}
		}
	}
	if looks < 2 && !testing.Short() {
		t.Errorf("%d looks that can fail at most: sharing was not seen", looks)
	}
}
