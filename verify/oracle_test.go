package verify

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"thresher/collection"
	_ "thresher/internal/draws"
	"thresher/internal/vectors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oracle returns an oracle over valid atoms.
func oracle(t *testing.T, rows []float32, dim int, metric collection.Metric, threads int) *Oracle {
	t.Helper()
	o, err := NewOracle(rows, dim, metric, threads)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func gaussian(seed uint64, n, dim int) []float32 {
	return vectors.Gaussian(vectors.Rand(seed), n, dim)
}

func TestOracleRefuses(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, x := range []struct {
		rows []float32
		dim  int
		want string
	}{
		{make([]float32, 6), 0, "6 values are no rows of 0 columns"},
		{make([]float32, 6), 4, "6 values are no rows of 4 columns"},
		{[]float32{1, 2, 3, inf - inf}, 2, "row 1 is not finite"},
		{[]float32{1, -inf, 3, 4}, 2, "row 0 is not finite"},
	} {
		if _, err := NewOracle(x.rows, x.dim, collection.InnerProduct, 1); err == nil || err.Error() != x.want {
			t.Errorf("%d values of %d columns: %v, want %s", len(x.rows), x.dim, err, x.want)
		}
	}
	o := oracle(t, make([]float32, 6), 3, collection.InnerProduct, 1)
	if err := o.Each(t.Context(), make([]float32, 4), func(int, *Scores) {}); err == nil {
		t.Error("no error from 4 values as queries of 3 dimensions")
	}
}

func TestOracleScores(t *testing.T) {
	const n, d, m = 7, 5, 6 // m leaves a short tile
	atoms, queries := gaussian(1, n, d), gaussian(2, m, d)
	clear(atoms[d : 2*d])
	clear(queries[:d])
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		o := oracle(t, atoms, d, metric, 3)
		var mu sync.Mutex
		seen := make([]int, m)
		err := o.Each(t.Context(), queries, func(j int, s *Scores) {
			mu.Lock()
			defer mu.Unlock()
			seen[j]++
			for i := range n {
				var dot, nq, nv, far float64
				for c := range d {
					q, v := float64(queries[j*d+c]), float64(atoms[i*d+c])
					dot, nq, nv, far = dot+q*v, nq+q*q, nv+v*v, far+(q-v)*(q-v)
				}
				want := dot
				switch {
				case metric == collection.Cosine && (nq == 0 || nv == 0):
					want = 0
				case metric == collection.Cosine:
					want = dot / math.Sqrt(nq*nv)
				case metric == collection.Euclidean:
					want = -far / 2
				}
				if math.Abs(s.Search[i]-want) > 1e-12 {
					t.Errorf("%v: query %d, vector %d: %g, want %g", metric, j, i, s.Search[i], want)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]int{1, 1, 1, 1, 1, 1}, seen); d != "" {
			t.Errorf("%v: visits: %s", metric, d)
		}
	}
}

func TestOracleHeedsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := oracle(t, gaussian(1, 10, 4), 4, collection.InnerProduct, 2)
	err := o.Each(ctx, gaussian(2, 1000, 4), func(int, *Scores) {})
	if err == nil {
		t.Error("no error from a cancelled context")
	}
}

func TestRanking(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var buf []int
	for range 300 {
		scores := make([]float64, 1+r.IntN(30))
		for i := range scores {
			scores[i] = float64(r.IntN(6)) // many ties
		}
		k, skip := 1+r.IntN(12), int64(r.IntN(len(scores)+1)-1)
		var allowed []bool // all
		if r.IntN(2) == 1 {
			for range scores {
				allowed = append(allowed, r.IntN(3) > 0)
			}
		}
		var want []int
		for i := range scores {
			if int64(i) != skip && (allowed == nil || allowed[i]) {
				want = append(want, i)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return int(scores[b] - scores[a]) })
		want = want[:min(k, len(want))]
		buf = ranking(scores, k, allowed, skip, buf)
		if !slices.Equal(buf, want) {
			t.Fatalf("scores %v, k %d, allowed %v, skip %d: %v, want %v", scores, k, allowed, skip, buf, want)
		}
	}
}
