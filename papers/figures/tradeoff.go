package figures

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"thresher/papers"
	"thresher/papers/baseline"
)

// Names of lines, as Row.Algorithm has them.
const (
	nameNaive     = "naive"
	nameBoundedME = "BoundedME"
	nameLSH       = "LSH-MIPS"
	nameGreedy    = "Greedy-MIPS"
	namePCA       = "PCA-MIPS"
)

// tradeoff is vectors and queries that methods are compared on, by their precision against their work at many settings. Rows
// that it returns have X, the saving n d / multiplications, and Y, the precision; Point, Panel and Draw are the caller's.
//
// Queries are spread over Env.Threads goroutines. Wall is the median over the queries, each taken in one goroutine.
type tradeoff struct {
	name    string
	n, d    int
	vectors []float32   // n x d, row-major
	queries [][]float32 // of d
	truths  [][]float64 // of each query, the greatest scores, descending
	stored  *baseline.Vectors
	columns *columns // made on first use
}

// newTradeoff computes the exact scores of all queries in float64 and keeps the kmax best of each. Vectors and queries are kept
// and not changed.
func newTradeoff(ctx context.Context, e *Env, name string, vectors []float32, d int, queries [][]float32, kmax int) (*tradeoff, error) {
	t := &tradeoff{name: name, n: len(vectors) / d, d: d, vectors: vectors, queries: queries, truths: make([][]float64, len(queries))}
	if kmax > t.n {
		return nil, fmt.Errorf("%s: k = %d of %d vectors", name, kmax, t.n)
	}
	var err error
	if t.stored, err = baseline.NewVectors(vectors, t.n, d); err != nil {
		return nil, err
	}
	err = eachOf(ctx, e.Threads, len(queries), func(q int) error {
		scores, err := trueScores(ctx, vectors, d, queries[q])
		if err != nil {
			return err
		}
		slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
		t.truths[q] = slices.Clone(scores[:kmax])
		return nil
	})
	return t, err
}

// method is one at one setting.
type method struct {
	algorithm, variant, setting string
	preprocessing               float64       // multiplications
	built                       time.Duration // what precedes the first query, of all settings that share an index
	// nested says that its answer for k is the beginning of its answer for more, with the same work.
	nested bool
	search func(ctx context.Context, q int, query []float32, k int) (ids []int, effort baseline.Effort, err error)
}

// answered is what a method did for one query.
type answered struct {
	ids    []int
	effort baseline.Effort
	took   time.Duration
}

// answers are those of a method to all queries.
func (t *tradeoff) answers(ctx context.Context, e *Env, k int, m *method) ([]answered, error) {
	out := make([]answered, len(t.queries))
	return out, eachOf(ctx, e.Threads, len(out), func(q int) error {
		began := time.Now()
		ids, effort, err := m.search(ctx, q, t.queries[q], k)
		out[q] = answered{ids, effort, time.Since(began)}
		if err != nil {
			return fmt.Errorf("%s, %s, %s: %w", t.name, m.algorithm, m.setting, err)
		}
		return nil
	})
}

// row is what a method found and took, as the mean over the queries; of longer answers the first k count.
func (t *tradeoff) row(k int, m *method, answers []answered) Row {
	r := Row{
		Algorithm: m.algorithm, Variant: m.variant, Setting: m.setting, Data: t.name, N: t.n, D: t.d, K: k, Draws: 1,
		Answers: len(answers), Preprocessing: m.preprocessing, BuildWall: m.built,
	}
	multiplications, walls := make([]float64, len(answers)), make([]time.Duration, len(answers))
	for q, a := range answers {
		right := 0
		for _, id := range a.ids[:min(k, len(a.ids))] {
			if reaches(t.vectors[id*t.d:(id+1)*t.d], t.queries[q], t.truths[q][k-1]) {
				right++
			}
		}
		r.Precision += float64(right) / float64(k*len(answers))
		r.Comparisons += float64(a.effort.Comparisons) / float64(len(answers))
		if right < k {
			r.Wrong++
		}
		multiplications[q], walls[q] = float64(a.effort.Multiplications), a.took
	}
	r.Multiplications, r.MultiplicationsSD = meanSD(multiplications)
	r.Wall = median(walls)
	t.place(&r)
	return r
}

// place sets what a trade-off shows of a row.
func (t *tradeoff) place(r *Row) {
	r.X, r.Y = float64(t.n)*float64(t.d)/max(1, r.Multiplications), r.Precision
}

// rows measures methods for every k.
func (t *tradeoff) rows(ctx context.Context, e *Env, ks []int, methods []method) (rows []Row, err error) {
	for i := range methods {
		m := &methods[i]
		var answers []answered
		if m.nested {
			if answers, err = t.answers(ctx, e, slices.Max(ks), m); err != nil {
				return nil, err
			}
		}
		for _, k := range ks {
			if !m.nested {
				if answers, err = t.answers(ctx, e, k, m); err != nil {
					return nil, err
				}
			}
			rows = append(rows, t.row(k, m, answers))
		}
		e.Progress(i+1, len(methods))
	}
	return rows, nil
}

// by is the method of a baseline at a setting.
func by(algorithm string, s baseline.Searcher, built time.Duration) method {
	return method{
		algorithm: algorithm, setting: s.String(), built: built, preprocessing: float64(s.Preprocessing().Multiplications), nested: true,
		search: func(ctx context.Context, _ int, query []float32, k int) ([]int, baseline.Effort, error) {
			found, err := s.Search(ctx, query, k)
			return found.IDs, found.Effort, err
		},
	}
}

// naive is the row of the scan that savings are relative to, for every k.
func (t *tradeoff) naive(ctx context.Context, e *Env, ks []int) ([]Row, error) {
	return t.rows(ctx, e, ks, []method{by(nameNaive, baseline.NewScan(t.stored), 0)})
}

// lsh are the rows of LSH-MIPS at every pair of a functions and b tables, of one index.
func (t *tradeoff) lsh(ctx context.Context, e *Env, ks, functions, tables []int, seed uint64) ([]Row, error) {
	began := time.Now()
	index, err := baseline.NewLSH(ctx, t.stored, baseline.LSHOptions{Functions: max(1, slices.Max(functions)), Tables: slices.Max(tables), Seed: seed, Threads: e.Threads})
	if err != nil {
		return nil, err
	}
	built := time.Since(began)
	var methods []method
	for _, a := range functions {
		for _, b := range tables {
			s, err := index.At(a, b)
			if err != nil {
				return nil, err
			}
			methods = append(methods, by(nameLSH, s, built))
		}
	}
	return t.rows(ctx, e, ks, methods)
}

// greedy are the rows of Greedy-MIPS at budgets of 1 to n candidates, of one index. Its memory is that of the vectors.
func (t *tradeoff) greedy(ctx context.Context, e *Env, ks, budgets []int) ([]Row, error) {
	began := time.Now()
	index, err := baseline.NewGreedy(ctx, t.stored, e.Threads)
	if err != nil {
		return nil, err
	}
	built := time.Since(began)
	var methods []method
	for _, budget := range budgets {
		s, err := index.At(budget)
		if err != nil {
			return nil, err
		}
		methods = append(methods, by(nameGreedy, s, built))
	}
	return t.rows(ctx, e, ks, methods)
}

// pca are the rows of PCA-MIPS at depths, of one tree.
func (t *tradeoff) pca(ctx context.Context, e *Env, ks, depths []int, seed uint64) ([]Row, error) {
	began := time.Now()
	tree, err := baseline.NewPCA(ctx, t.stored, baseline.PCAOptions{Depth: slices.Max(depths), Seed: seed, Threads: e.Threads})
	if err != nil {
		return nil, err
	}
	built := time.Since(began)
	var methods []method
	for _, depth := range depths {
		s, err := tree.At(depth)
		if err != nil {
			return nil, err
		}
		methods = append(methods, by(namePCA, s, built))
	}
	return t.rows(ctx, e, ks, methods)
}

// boundedME are the rows of BoundedME at every pair of an epsilon, of the paper's in [0, 1], and a delta. The rewards' range is that
// of a query's products with the least and the greatest value of each coordinate, which the columns know.
func (t *tradeoff) boundedME(ctx context.Context, e *Env, ks []int, epsilons, deltas []float64, union papers.BoundedMEUnion, seed uint64) ([]Row, error) {
	began := time.Now()
	c := t.columnMajor()
	built := time.Since(began)
	var methods []method
	for _, epsilon := range epsilons {
		for _, delta := range deltas {
			methods = append(methods, method{
				algorithm: nameBoundedME, variant: union.String(), setting: fmt.Sprintf("epsilon %g, delta %g", epsilon, delta), built: built,
				search: func(ctx context.Context, q int, query []float32, k int) ([]int, baseline.Effort, error) {
					arms, err := papers.NewProducts(c, query)
					if err != nil {
						return nil, baseline.Effort{}, err
					}
					lo, hi := c.products(query)
					out, err := papers.BoundedME(ctx, arms, papers.BoundedMEOptions{
						K: k, Delta: delta, Epsilon: epsilon * float64(t.d) * (hi - lo), Lo: lo, Hi: hi, Union: union, Seed: seed + uint64(q),
					})
					return out.IDs, baseline.Effort{Multiplications: out.Pulls}, err
				},
			})
		}
	}
	return t.rows(ctx, e, ks, methods)
}

// own are thresher's rows; adaptive has the failure probability delta.
func (t *tradeoff) own(ctx context.Context, e *Env, ks []int, delta float64) ([]Row, error) {
	queries := slices.Concat(t.queries...)
	var rows []Row
	for _, k := range ks {
		found, err := ownRows(ctx, e, t.vectors, t.n, t.d, queries, len(t.queries), k, delta)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			r.Data = t.name
			t.place(&r)
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// columns are the vectors by column, as a method that pulls one coordinate of many atoms reads them fastest.
type columns struct {
	values          []float32 // d x n
	n, d            int
	least, greatest []float32 // of each column
}

func (t *tradeoff) columnMajor() *columns {
	if t.columns != nil {
		return t.columns
	}
	c := &columns{values: make([]float32, t.n*t.d), n: t.n, d: t.d}
	const tile = 64 // rows and columns that stay in a cache
	for from := 0; from < t.n; from += tile {
		for left := 0; left < t.d; left += tile {
			for i := from; i < min(t.n, from+tile); i++ {
				for j := left; j < min(t.d, left+tile); j++ {
					c.values[j*t.n+i] = t.vectors[i*t.d+j]
				}
			}
		}
	}
	for j := range t.d {
		column := c.values[j*t.n : (j+1)*t.n]
		c.least, c.greatest = append(c.least, slices.Min(column)), append(c.greatest, slices.Max(column))
	}
	t.columns = c
	return c
}

func (c *columns) Len() int { return c.n }

func (c *columns) Dim() int { return c.d }

// Pull copies column j of the listed atoms.
func (c *columns) Pull(j int, arms []int, dst []float64) {
	column := c.values[j*c.n : (j+1)*c.n]
	for p, i := range arms {
		dst[p] = float64(column[i])
	}
}

// products is the range of a query's products with the atoms.
func (c *columns) products(query []float32) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for j, q := range query {
		a, b := float64(q)*float64(c.least[j]), float64(q)*float64(c.greatest[j])
		lo, hi = min(lo, a, b), max(hi, a, b)
	}
	return lo, hi
}

// only returns the rows of a data set and k; "" and 0 are any.
func only(rows []Row, data string, k int) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return data != "" && r.Data != data || k != 0 && r.K != k })
}

// eachOf calls do for 0 to n-1 from so many goroutines and returns the first error by index, or the context's.
func eachOf(ctx context.Context, threads, n int, do func(i int) error) error {
	failed := make([]error, n)
	var next atomic.Int64
	var group sync.WaitGroup
	for range threads {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if failed[i] = ctx.Err(); failed[i] == nil {
					failed[i] = do(i)
				}
			}
		})
	}
	group.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
