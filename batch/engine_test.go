package batch_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// gaussian returns n rows of dim independent normals.
func gaussian(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// powerLaw returns rows whose coordinates decay like j^-0.7 in a random basis
// of few-term mixtures: like text embeddings.
func powerLaw(r *rand.Rand, n, dim int) []float32 {
	x := make([]float32, n*dim)
	centers := gaussian(r, 32, dim)
	for i := range n {
		c := r.IntN(32)
		for j := range dim {
			x[i*dim+j] = (centers[c*dim+j]*1.5 + float32(r.NormFloat64())) * float32(math.Pow(float64(j+1), -.7))
		}
	}
	return x
}

type oracle struct {
	metric collection.Metric
	rows   []float32
	dim    int
}

// scores are the float64 search scores of every row.
func (o oracle) scores(q []float32) []float64 {
	n := len(o.rows) / o.dim
	s := make([]float64, n)
	var qq float64
	for _, v := range q {
		qq += float64(v) * float64(v)
	}
	for i := range s {
		var dot, vv float64
		for j, v := range o.rows[i*o.dim : (i+1)*o.dim] {
			dot += float64(v) * float64(q[j])
			vv += float64(v) * float64(v)
		}
		switch o.metric {
		case collection.Cosine:
			if qq*vv > 0 {
				dot /= math.Sqrt(qq) * math.Sqrt(vv)
			}
		case collection.Euclidean:
			dot -= vv / 2
		}
		s[i] = dot
	}
	return s
}

// wrong reports why ids are no valid top k, or "".
func (o oracle) wrong(q []float32, ids []int64, k int) string {
	s := o.scores(q)
	if len(ids) != min(k, len(s)) {
		return fmt.Sprintf("%d ids for k %d", len(ids), k)
	}
	sorted := slices.Clone(s)
	slices.Sort(sorted)
	kth := sorted[len(sorted)-len(ids)]
	var qq, most float64
	for _, v := range q {
		qq += float64(v) * float64(v)
	}
	for i := range s {
		var vv float64
		for _, v := range o.rows[i*o.dim : (i+1)*o.dim] {
			vv += float64(v) * float64(v)
		}
		most = max(most, vv)
	}
	tol := math.Ldexp(math.Sqrt(qq)*math.Sqrt(most), -22)
	if o.metric == collection.Cosine {
		tol = math.Ldexp(1, -22)
	}
	seen := map[int64]bool{}
	for _, id := range ids {
		if seen[id] {
			return fmt.Sprintf("id %d twice", id)
		}
		seen[id] = true
		if s[id] < kth-tol {
			return fmt.Sprintf("id %d scores %g, the k-th best %g", id, s[id], kth)
		}
	}
	return ""
}

func open(t testing.TB, rows []float32, dim int, o *collection.Options, threads int) *batch.Engine {
	t.Helper()
	c, err := collection.Build(context.Background(), rows, dim, o)
	if err != nil {
		t.Fatal(err)
	}
	e, err := batch.Open(context.Background(), c, cpu.New(cpu.Options{Threads: threads}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestMethodsAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, set := range []struct {
		name string
		rows []float32
		dim  int
	}{
		{"gaussian 3000x100", gaussian(r, 3000, 100), 100},
		{"powerlaw 5000x300", powerLaw(r, 5000, 300), 300},
		{"powerlaw 2000x770", powerLaw(r, 2000, 770), 770},
	} {
		for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
			e := open(t, set.rows, set.dim, &collection.Options{Metric: metric, Seed: 7}, 2)
			o := oracle{metric, set.rows, set.dim}
			m := 20
			queries := set.rows[:m*set.dim]
			for _, method := range []batch.Method{batch.Exact, batch.Certain, batch.Adaptive, batch.Auto} {
				for _, k := range []int{1, 10, 100} {
					resp, err := e.Search(context.Background(), batch.Request{Queries: queries, K: k, Method: method, Delta: .001})
					if err != nil {
						t.Fatal(err)
					}
					bad := 0
					for j, a := range resp.Answers {
						if why := o.wrong(queries[j*set.dim:(j+1)*set.dim], a.IDs, k); why != "" {
							bad++
							if method != batch.Adaptive && method != batch.Auto || bad > 1 {
								t.Errorf("%s %v %s k=%d query %d: %s", set.name, metric, method, k, j, why)
							}
						}
					}
					t.Logf("%s %v %s k=%d: saving %.2f rows %d dense %d exact %d", set.name, metric, method, k, resp.Stats.Saving(), resp.Stats.RowsScored, resp.Stats.Dense, resp.Stats.Exact)
				}
			}
		}
	}
}
