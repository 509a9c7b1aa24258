package figures

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"thresher/papers"
	"thresher/papers/baseline"
	"thresher/papers/data"
)

// Names of the BanditMIPS paper's lines, as Row.Algorithm has them, and of their variants.
const (
	nameBanditMIPS = "BanditMIPS"
	nameAlpha      = "BanditMIPS-alpha"
	nameBucketAE   = "Bucket_AE"

	variantText      = "text"
	variantTrue      = "true sigma"
	variantBernstein = "empirical Bernstein"
	variantAsRun     = "asrun"
)

// sigmaSample is the number of coordinates that the true sigma is computed from; where there are more it is an estimate.
const sigmaSample = 10000

// bandit makes a method of a search over the products of a query with the vectors.
func (t *tradeoff) bandit(algorithm, variant, setting string, search func(ctx context.Context, q int, arms papers.Arms, query []float32, k int) (papers.Outcome, error)) method {
	atoms := t.columnMajor()
	return method{algorithm: algorithm, variant: variant, setting: setting, search: func(ctx context.Context, q int, query []float32, k int) ([]int, baseline.Effort, error) {
		arms, err := papers.NewProducts(atoms, query)
		if err != nil {
			return nil, baseline.Effort{}, err
		}
		out, err := search(ctx, q, arms, query, k)
		return out.IDs, baseline.Effort{Multiplications: out.Pulls}, err
	}}
}

// text is Algorithm 1 with a given sigma.
func (t *tradeoff) text(sigma, delta float64, seed uint64) method {
	return t.bandit(nameBanditMIPS, variantText, fmt.Sprintf("sigma %g, delta %g", sigma, delta),
		func(ctx context.Context, q int, arms papers.Arms, _ []float32, k int) (papers.Outcome, error) {
			return papers.BanditMIPS(ctx, arms, papers.BanditMIPSOptions{K: k, Delta: delta, Sigma: sigma, Seed: seed + uint64(q)})
		})
}

// trueSigmas are the sigmas that the products of each query have, and the mean of the multiplications that they take.
func (t *tradeoff) trueSigmas(ctx context.Context, e *Env, seed uint64) (sigmas []float64, multiplications float64, err error) {
	atoms := t.columnMajor()
	sigmas = make([]float64, len(t.queries))
	err = eachOf(ctx, e.Threads, len(sigmas), func(q int) error {
		arms, err := papers.NewProducts(atoms, t.queries[q])
		if err != nil {
			return err
		}
		sigmas[q], _, err = papers.SubGaussianSigma(ctx, arms, nil, sigmaSample, seed)
		return err
	})
	return sigmas, float64(t.n) * float64(min(t.d, sigmaSample)), err
}

// textTrue is Algorithm 1 with the sigma that a query's products have, whose computation is preprocessing.
func (t *tradeoff) textTrue(sigmas []float64, multiplications, delta float64, seed uint64) method {
	m := t.bandit(nameBanditMIPS, variantTrue, fmt.Sprintf("delta %g", delta),
		func(ctx context.Context, q int, arms papers.Arms, _ []float32, k int) (papers.Outcome, error) {
			return papers.BanditMIPS(ctx, arms, papers.BanditMIPSOptions{K: k, Delta: delta, Sigma: sigmas[q], Seed: seed + uint64(q)})
		})
	m.preprocessing = multiplications
	return m
}

// bernstein is Algorithm 1 with radii from each arm's variance and from the range of the query's products, that of each
// coordinate's extremes. It drops arms after every eight coordinates, for a radius an arm takes longer than a pull.
func (t *tradeoff) bernstein(delta float64, seed uint64) method {
	columns := t.columnMajor()
	return t.bandit(nameBanditMIPS, variantBernstein, fmt.Sprintf("delta %g", delta),
		func(ctx context.Context, q int, arms papers.Arms, query []float32, k int) (papers.Outcome, error) {
			lo, hi := columns.products(query)
			return papers.BanditMIPS(ctx, arms, papers.BanditMIPSOptions{
				K: k, Delta: delta, Spread: papers.EmpiricalBernstein, Lo: lo, Hi: hi, LookEvery: 8, Seed: seed + uint64(q)})
		})
}

// asRun is BanditMIPS as the authors' program runs it.
func (t *tradeoff) asRun(sigma, delta, epsilon float64, seed uint64) method {
	return t.bandit(nameBanditMIPS, variantAsRun, fmt.Sprintf("sigma %g, delta %g, epsilon %g", sigma, delta, epsilon),
		func(ctx context.Context, q int, arms papers.Arms, _ []float32, k int) (papers.Outcome, error) {
			return papers.BanditMIPSAsRun(ctx, arms, papers.AsRunOptions{K: k, Delta: delta, Sigma: sigma, Epsilon: epsilon, Seed: seed + uint64(q)})
		})
}

// sorted counts the comparisons of a sort of the query's coordinates, d log2 d.
func (t *tradeoff) sorted(m method) method {
	search := m.search
	m.search = func(ctx context.Context, q int, query []float32, k int) ([]int, baseline.Effort, error) {
		ids, effort, err := search(ctx, q, query, k)
		effort.Comparisons += int64(float64(t.d) * math.Log2(float64(t.d)))
		return ids, effort, err
	}
	return m
}

// alpha is BanditMIPS-alpha of the text.
func (t *tradeoff) alpha(sigma, delta float64) method {
	return t.sorted(t.bandit(nameAlpha, variantText, fmt.Sprintf("sigma %g, delta %g", sigma, delta),
		func(ctx context.Context, _ int, arms papers.Arms, query []float32, k int) (papers.Outcome, error) {
			return papers.BanditMIPSAlpha(ctx, arms, query, papers.BanditMIPSOptions{K: k, Delta: delta, Sigma: sigma})
		}))
}

// alphaAsRun is BanditMIPS-alpha as the authors' program runs it.
func (t *tradeoff) alphaAsRun(sigma, delta, epsilon float64) method {
	return t.sorted(t.bandit(nameAlpha, variantAsRun, fmt.Sprintf("sigma %g, delta %g, epsilon %g", sigma, delta, epsilon),
		func(ctx context.Context, _ int, arms papers.Arms, query []float32, k int) (papers.Outcome, error) {
			return papers.BanditMIPSAsRun(ctx, arms, papers.AsRunOptions{K: k, Delta: delta, Sigma: sigma, Epsilon: epsilon, Query: query})
		}))
}

// gap is Delta of the first query, the distance of the means of the best and the next atom's products.
func (t *tradeoff) gap() float64 { return (t.truths[0][0] - t.truths[0][1]) / float64(t.d) }

// newContest computes a set's coordinates and makes a trade-off of them, which knows the two best scores or more.
func newContest(ctx context.Context, e *Env, s *data.Set, k int) (*tradeoff, error) {
	rows, err := data.Rows(ctx, s.Atoms, e.Threads)
	if err != nil {
		return nil, err
	}
	return newTradeoff(ctx, e, s.Name, rows, s.Atoms.Dim(), s.Queries, min(max(2, k), s.Atoms.Len()))
}

// scaling sets what rows show where multiplications are drawn against x, and whose they are.
func scaling(rows []Row, t *tradeoff, key string, draw int, x float64) []Row {
	gap := t.gap()
	for i := range rows {
		r := &rows[i]
		r.Point, r.Data, r.Draw, r.Gap, r.X, r.Y = key, t.name, draw, gap, x, r.Multiplications
	}
	return rows
}

// drawSeed is the seed of a draw of a data set, the same at every dimension.
func drawSeed(e *Env, name string, draw int) uint64 {
	return pointSeed(e.Seed, fmt.Sprintf("%s draw=%d", name, draw))
}

// Names of the sets that settings list.
const (
	setNormal    = "NORMAL_CUSTOM"
	setText      = "CORRELATED_NORMAL_CUSTOM"
	setPrograms  = "CORRELATED (programs)"
	setMovieLens = "MovieLens"
	setViewers   = "MovieLens transposed"
	setCustomers = "customers (for Netflix)"
)

// generated draws one of the synthetic sets; the text's CORRELATED_NORMAL_CUSTOM has one query whatever m.
func generated(name string, n, d, m int, seed uint64) *data.Set {
	switch name {
	case setNormal:
		return data.Normal(n, d, m, seed)
	case setText:
		return data.Correlated(n, d, seed)
	case setPrograms:
		return data.Mixed(n, d, m, seed)
	}
	panic(fmt.Sprintf("no generated set %q", name))
}

// sweepsOfFactors is the number of multiplicative updates of each side; after them the error falls by less than a thousandth
// a sweep.
const sweepsOfFactors = 60

// readFilms reads MovieLens 1M and factorizes it as the paper does.
func readFilms(ctx context.Context, e *Env, rank int) (*data.Factors, error) {
	r, err := readMovieLens(e, "ml-1m")
	if err != nil {
		return nil, err
	}
	return r.NonNegative(ctx, rank, sweepsOfFactors, e.Seed)
}

// readFactors is readFilms of the first ratings, as many as the settings say.
func readFactors(ctx context.Context, e *Env, s *Settings) (*data.Factors, error) {
	r, err := readFirst(e, "ml-1m", s.Int("ratings"))
	if err != nil {
		return nil, err
	}
	return r.NonNegative(ctx, s.Int("rank of MovieLens"), sweepsOfFactors, e.Seed)
}

// readCustomers reads the first ratings of MovieLens 1M and fits the customers that stand for Netflix's.
func readCustomers(ctx context.Context, e *Env, s *Settings) (*data.Customers, error) {
	r, err := readFirst(e, "ml-1m", s.Int("ratings"))
	if err != nil {
		return nil, err
	}
	return data.NewCustomers(ctx, r, s.Int("rank of customers"), e.Seed)
}

// readMovieLens reads the ratings of a folder of data sets.
func readMovieLens(e *Env, folder string) (*data.Ratings, error) { return readFirst(e, folder, 0) }

// readFirst reads the first ratings of a folder of data sets, 0 for all.
func readFirst(e *Env, folder string, most int) (*data.Ratings, error) {
	if e.Folder == "" {
		return nil, fmt.Errorf("%w: no folder of data sets", ErrMissing)
	}
	r, err := data.ReadRatings(filepath.Join(e.Folder, folder), most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return r, err
}
