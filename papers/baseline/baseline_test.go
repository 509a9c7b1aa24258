package baseline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"thresher/internal/philox"
	"thresher/papers"
)

// gaussian is n x d values of N(0, 1).
func gaussian(n, d int, seed uint64) []float32 {
	r := rand.New(philox.New(seed, 1))
	rows := make([]float32, n*d)
	for p := range rows {
		rows[p] = float32(r.NormFloat64())
	}
	return rows
}

func vectors(t testing.TB, rows []float32, n, d int) *Vectors {
	t.Helper()
	v, err := NewVectors(rows, n, d)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// oracle adds all products in float64 and sorts all scores.
func oracle(rows, query []float32, k int) []int {
	d := len(query)
	n := len(rows) / d
	scores, ids := make([]float64, n), make([]int, n)
	for i := range scores {
		ids[i] = i
		for j, q := range query {
			scores[i] += float64(q) * float64(rows[i*d+j])
		}
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	return ids[:k]
}

// counting counts multiplications.
type counting struct {
	plain
	made atomic.Int64
}

func (c *counting) dot(a, b []float32) float64 {
	c.made.Add(int64(len(a)))
	return c.plain.dot(a, b)
}

func (c *counting) times(a, b float32) float64 {
	c.made.Add(1)
	return c.plain.times(a, b)
}

func (c *counting) add(sum []float64, a float64, b []float32) {
	c.made.Add(int64(len(b)))
	c.plain.add(sum, a, b)
}

// built is a method at its greatest setting and at others.
type built struct {
	name       string
	exhaustive Searcher
	greatest   Searcher // that the index was built for
	others     []Searcher
}

// all builds every method on v; each build is counted on its own.
func all(t testing.TB, v *Vectors, threads int, counted func(Searcher)) []built {
	t.Helper()
	ctx := context.Background()
	must := func(s Searcher, err error) Searcher {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	lsh, err := NewLSH(ctx, v, LSHOptions{Functions: 6, Tables: 4, Seed: 3, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	lshes := built{"lsh", must(lsh.At(0, 1)), must(lsh.At(6, 4)), []Searcher{must(lsh.At(1, 4)), must(lsh.At(6, 1)), must(lsh.At(3, 2))}}
	counted(lshes.greatest)
	greedy, err := NewGreedy(ctx, v, threads)
	if err != nil {
		t.Fatal(err)
	}
	greedies := built{"greedy", must(greedy.At(v.n)), must(greedy.At(v.n)), []Searcher{must(greedy.At(1)), must(greedy.At(v.n / 3))}}
	counted(greedies.greatest)
	pca, err := NewPCA(ctx, v, PCAOptions{Depth: 5, Seed: 3, Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	pcas := built{"pca", must(pca.At(0)), must(pca.At(5)), []Searcher{must(pca.At(1)), must(pca.At(3))}}
	counted(pcas.greatest)
	scan := NewScan(v)
	return []built{lshes, greedies, pcas, {"scan", scan, scan, nil}}
}

// A method at its exhaustive setting finds what the oracle finds, also of equal scores and of a query of zeros.
func TestExhaustive(t *testing.T) {
	const n, d = 60, 17
	rows := gaussian(n, d, 1)
	copy(rows[40*d:41*d], rows[7*d:8*d]) // two equal atoms
	v := vectors(t, rows, n, d)
	queries := [][]float32{gaussian(1, d, 2), gaussian(1, d, 3), slices.Clone(rows[7*d : 8*d]), make([]float32, d)}
	for _, b := range all(t, v, 1, func(Searcher) {}) {
		for q, query := range queries {
			for _, k := range []int{1, 5, n} {
				found, err := b.exhaustive.Search(context.Background(), query, k)
				if err != nil {
					t.Fatal(err)
				}
				if want := oracle(rows, query, k); !cmp.Equal(found.IDs, want) {
					t.Errorf("%s, query %d, k %d: %v, true %v", b.name, q, k, found.IDs, want)
				}
				if found.Candidates != n || len(found.Scores) != k {
					t.Errorf("%s, query %d, k %d: %d candidates, %d scores", b.name, q, k, found.Candidates, len(found.Scores))
				}
			}
		}
	}
}

// What a method says that it multiplied is what it multiplied, when it was built and at every setting, and so many candidates
// were met and scored.
func TestCounts(t *testing.T) {
	const n, d, k = 50, 20, 3
	v := vectors(t, gaussian(n, d, 4), n, d)
	count := &counting{}
	v.products = count
	methods := all(t, v, 3, func(s Searcher) {
		if made := count.made.Swap(0); made != s.Preprocessing().Multiplications {
			t.Errorf("%s: %d multiplications when built, %d counted", s, made, s.Preprocessing().Multiplications)
		}
	})
	for _, b := range methods {
		for _, s := range append(b.others, b.exhaustive, b.greatest) {
			for q := range 5 {
				found, err := s.Search(context.Background(), gaussian(1, d, uint64(10+q)), k)
				if err != nil {
					t.Fatal(err)
				}
				made := count.made.Swap(0)
				if made != found.Effort.Multiplications || made < int64(found.Candidates)*d {
					t.Errorf("%s %s: %d multiplications, %d counted, %d candidates", b.name, s, made, found.Effort.Multiplications, found.Candidates)
				}
			}
		}
	}
}

// The formulas of the counts.
func TestCountFormulas(t *testing.T) {
	const n, d, k = 64, 20, 3
	v := vectors(t, gaussian(n, d, 4), n, d)
	query := gaussian(1, d, 5)
	for _, b := range all(t, v, 1, func(Searcher) {}) {
		found, err := b.greatest.Search(context.Background(), query, k)
		if err != nil {
			t.Fatal(err)
		}
		got := found.Effort.Multiplications - int64(found.Candidates)*d
		want := map[string]int64{"lsh": 6 * 4 * (d + 1), "pca": 5 * d, "scan": 0}
		if b.name == "greedy" { // an entry for each coordinate, and at most one more for each that was taken
			if got < d || found.Candidates != n || found.Effort.Comparisons == 0 {
				t.Errorf("greedy: %d entries of the heap, %+v", got, found)
			}
		} else if got != want[b.name] {
			t.Errorf("%s: %d multiplications besides those of candidates, want %d", b.name, got, want[b.name])
		}
		if b.name == "pca" && found.Candidates != n>>5 {
			t.Errorf("a leaf of %d atoms", found.Candidates)
		}
	}
}

// Greedy meets atoms in the order of their greatest product with the query.
func TestGreedyOrder(t *testing.T) {
	const n, d = 30, 6
	rows, query := gaussian(n, d, 6), gaussian(1, d, 7)
	greatest := make([]float64, n)
	order := make([]int, n)
	for i := range greatest {
		order[i], greatest[i] = i, math.Inf(-1)
		for j, q := range query {
			greatest[i] = max(greatest[i], float64(q)*float64(rows[i*d+j]))
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if greatest[a] > greatest[b] {
			return -1
		}
		return 1
	})
	greedy, err := NewGreedy(context.Background(), vectors(t, rows, n, d), 2)
	if err != nil {
		t.Fatal(err)
	}
	for budget := 1; budget <= n; budget++ {
		s, err := greedy.At(budget)
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Search(context.Background(), query, budget)
		if err != nil {
			t.Fatal(err)
		}
		got, want := slices.Sorted(slices.Values(found.IDs)), slices.Sorted(slices.Values(order[:budget]))
		if !cmp.Equal(got, want) {
			t.Errorf("budget %d: candidates %v, want %v", budget, got, want)
		}
	}
}

// A setting of LSH has the candidates that agree with the query in a signs of one table.
func TestLSHCandidates(t *testing.T) {
	const n, d, functions, tables = 40, 5, 4, 3
	rows, query := gaussian(n, d, 8), gaussian(1, d, 9)
	lsh, err := NewLSH(context.Background(), vectors(t, rows, n, d), LSHOptions{Functions: functions, Tables: tables, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	atom := func(i int) []float32 { return append(slices.Clone(rows[i*d:(i+1)*d]), lsh.atoms.tails[i]) }
	for i := range n {
		if got, longest := (plain{}).dot(atom(i), atom(i)), (plain{}).dot(atom(0), atom(0)); math.Abs(got/longest-1) > 1e-6 {
			t.Errorf("reduced atom %d has the square %v, atom 0 %v", i, got, longest)
		}
	}
	for a := range functions + 1 {
		for b := 1; b <= tables; b++ {
			var want []int
			for i := range n {
				for table := range b {
					agree := true
					for f := range a {
						plane := lsh.plane(table, f)
						agree = agree && (plain{}.dot(atom(i), plane) >= 0) == (plain{}.dot(query, plane[:d]) >= 0)
					}
					if agree {
						want = append(want, i)
						break
					}
				}
			}
			s, err := lsh.At(a, b)
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Search(context.Background(), query, n)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(slices.Values(found.IDs)); !cmp.Equal(got, want) {
				t.Errorf("a %d, b %d: %v, want %v", a, b, got, want)
			}
		}
	}
}

// The directions of the tree are the principal components as the singular value decomposition has them.
func TestPrincipalComponents(t *testing.T) {
	const n, d, depth = 80, 30, 4
	rows := gaussian(n, d, 11)
	for i := range n {
		for j := range d {
			rows[i*d+j] *= float32(math.Pow(.6, float64((j*7)%d))) // a spectrum with gaps
		}
	}
	v := vectors(t, rows, n, d)
	atoms := v.reduce()
	mean, err := centre(context.Background(), &atoms)
	if err != nil {
		t.Fatal(err)
	}
	centred := mat.NewDense(n, d+1, nil)
	for i := range n {
		for j := range d {
			centred.Set(i, j, float64(rows[i*d+j])-mean[j])
		}
		centred.Set(i, d, float64(atoms.tails[i])-mean[d])
	}
	var svd mat.SVD
	if !svd.Factorize(centred, mat.SVDThin) {
		t.Fatal("no decomposition")
	}
	var right mat.Dense
	svd.VTo(&right)
	basis, err := principal(context.Background(), &atoms, depth+pcaSurplus, PCAOptions{Seed: 1, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	for l := range depth {
		cosine := 0.0
		for j, x := range basis[l] {
			cosine += float64(x) * right.At(j, l)
		}
		if math.Abs(math.Abs(cosine)-1) > 1e-5 {
			t.Errorf("component %d has cosine %v with the decomposition's", l, cosine)
		}
	}
}

// A query that is an atom arrives at the leaf of its nearest neighbour along the components: of a tree of one level over
// atoms of equal length, the half that its first component says.
func TestPCAHalves(t *testing.T) {
	const n, d = 40, 3
	rows := make([]float32, n*d)
	for i := range n { // on a quarter of a circle, as long as each other
		angle := float64(i) / n * math.Pi / 2
		rows[i*d], rows[i*d+1] = float32(math.Cos(angle)), float32(math.Sin(angle))
	}
	pca, err := NewPCA(context.Background(), vectors(t, rows, n, d), PCAOptions{Depth: 1, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	s, err := pca.At(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if i == n/2 {
			continue // it is the median, up to rounding
		}
		found, err := s.Search(context.Background(), rows[i*d:(i+1)*d], n)
		if err != nil {
			t.Fatal(err)
		}
		if lower := slices.Max(found.IDs) < n/2; len(found.IDs) != n/2 || lower != (i < n/2) || !slices.Contains(found.IDs, i) {
			t.Errorf("atom %d finds %v", i, found.IDs)
		}
	}
}

// The number of threads changes nothing.
func TestThreads(t *testing.T) {
	const n, d, k = 70, 25, 4
	v := vectors(t, gaussian(n, d, 12), n, d)
	query := gaussian(1, d, 13)
	one, three := all(t, v, 1, func(Searcher) {}), all(t, v, 3, func(Searcher) {})
	for m := range one {
		a, err := one[m].greatest.Search(context.Background(), query, k)
		if err != nil {
			t.Fatal(err)
		}
		b, err := three[m].greatest.Search(context.Background(), query, k)
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(a, b) {
			t.Errorf("%s: one thread %+v, three %+v", one[m].name, a, b)
		}
	}
}

// Atoms that do not vary, and fewer atoms than levels, are no obstacle.
func TestDegenerate(t *testing.T) {
	same := slices.Repeat([]float32{1, 2, 3}, 9)
	for _, v := range []*Vectors{vectors(t, same, 9, 3), vectors(t, make([]float32, 12), 4, 3), vectors(t, []float32{4}, 1, 1)} {
		ctx, query := context.Background(), make([]float32, v.d)
		query[0] = 1
		pca, err := NewPCA(ctx, v, PCAOptions{Depth: v.d})
		if err != nil {
			t.Fatal(err)
		}
		lsh, err := NewLSH(ctx, v, LSHOptions{Functions: 32, Tables: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []func() (Searcher, error){func() (Searcher, error) { return pca.At(pca.depth) }, func() (Searcher, error) { return lsh.At(32, 2) }} {
			s, err := at()
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Search(ctx, query, 1)
			if err != nil || len(found.IDs) > 1 {
				t.Errorf("%s of %d atoms: %+v, %v", s, v.n, found, err)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	const n, d = 6, 3
	rows := gaussian(n, d, 1)
	v := vectors(t, rows, n, d)
	ctx := context.Background()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	methods := all(t, vectors(t, gaussian(50, 20, 1), 50, 20), 1, func(Searcher) {})
	for _, b := range methods {
		for name, c := range map[string]struct {
			ctx   context.Context
			query []float32
			k     int
			want  error
		}{
			"short query":  {ctx, make([]float32, 19), 1, papers.ErrDim},
			"query of NaN": {ctx, slices.Repeat([]float32{float32(math.NaN())}, 20), 1, papers.ErrReward},
			"no k":         {ctx, make([]float32, 20), 0, papers.ErrK},
			"great k":      {ctx, make([]float32, 20), 51, papers.ErrK},
			"cancelled":    {cancelled, make([]float32, 20), 1, context.Canceled},
		} {
			if _, err := b.greatest.Search(c.ctx, c.query, c.k); !errors.Is(err, c.want) {
				t.Errorf("%s, %s: error %v, want %v", b.name, name, err, c.want)
			}
		}
	}
	lsh, err := NewLSH(ctx, v, LSHOptions{Functions: 2, Tables: 2})
	if err != nil {
		t.Fatal(err)
	}
	greedy, err := NewGreedy(ctx, v, 1)
	if err != nil {
		t.Fatal(err)
	}
	pca, err := NewPCA(ctx, v, PCAOptions{Depth: 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err  func() error
		want error
	}{
		"shape":            {func() error { _, err := NewVectors(rows, n, d+1); return err }, papers.ErrDim},
		"infinite":         {func() error { _, err := NewVectors([]float32{float32(math.Inf(1))}, 1, 1); return err }, papers.ErrReward},
		"33 functions":     {func() error { _, err := NewLSH(ctx, v, LSHOptions{Functions: 33, Tables: 1}); return err }, ErrSetting},
		"no tables":        {func() error { _, err := NewLSH(ctx, v, LSHOptions{Functions: 3}); return err }, ErrSetting},
		"depth":            {func() error { _, err := NewPCA(ctx, v, PCAOptions{Depth: d + 1}); return err }, ErrSetting},
		"lsh a":            {func() error { _, err := lsh.At(3, 1); return err }, ErrSetting},
		"lsh b":            {func() error { _, err := lsh.At(1, 3); return err }, ErrSetting},
		"greedy budget":    {func() error { _, err := greedy.At(n + 1); return err }, ErrSetting},
		"pca depth":        {func() error { _, err := pca.At(3); return err }, ErrSetting},
		"lsh cancelled":    {func() error { _, err := NewLSH(cancelled, v, LSHOptions{Functions: 2, Tables: 2}); return err }, context.Canceled},
		"greedy cancelled": {func() error { _, err := NewGreedy(cancelled, v, 1); return err }, context.Canceled},
		"pca cancelled":    {func() error { _, err := NewPCA(cancelled, v, PCAOptions{Depth: 2}); return err }, context.Canceled},
	} {
		if err := c.err(); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}
