package papers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/bandit"
	"thresher/internal/philox"
)

// normSpread is n atoms whose norms fall by a factor 50, the best of them
// aligned with the query, and their norms in float64.
func normSpread(t testing.TB, n, d int, seed uint64) (*Matrix, []float32, []float64) {
	t.Helper()
	r := rand.New(philox.New(seed, 9))
	query := make([]float32, d)
	for j := range query {
		query[j] = float32(1 + .1*r.NormFloat64())
	}
	rows, norms := make([]float32, n*d), make([]float64, n)
	for _, i := range r.Perm(n) {
		size := math.Pow(50, -r.Float64())
		lean := 2*r.Float64() - 1
		for j := range d {
			v := float32(size * (lean + .3*r.NormFloat64()))
			rows[i*d+j] = v
			norms[i] += float64(v) * float64(v)
		}
		norms[i] = math.Sqrt(norms[i])
	}
	m, err := NewMatrix(rows, n, d)
	if err != nil {
		t.Fatal(err)
	}
	return m, query, norms
}

func TestBucketAEAgainstOracle(t *testing.T) {
	const n, d = 200, 1000
	for seed := range uint64(2) {
		atoms, query, norms := normSpread(t, n, d, seed)
		products, err := NewProducts(atoms, query)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{1, 5, 30, 40} {
			for name, known := range map[string][]float64{"estimated": nil, "known": norms} {
				t.Run(fmt.Sprintf("seed=%d/k=%d/%s norms", seed, k, name), func(t *testing.T) {
					opt := BucketAEOptions{Norms: known}
					opt.K, opt.Delta, opt.Sigma, opt.ExactScores, opt.Seed = k, .001, 1, true, seed
					opt.Sampling = WithoutReplacement
					out, err := BucketAE(context.Background(), atoms, query, opt)
					if err != nil {
						t.Fatal(err)
					}
					ids, _ := oracle(products, allArms(n), k)
					if !cmp.Equal(out.IDs, ids) {
						t.Errorf("answer %v, true %v", out.IDs, ids)
					}
					want := Heuristic
					if known != nil {
						want = Probabilistic
					}
					if out.Guarantee != want || out.Method != "bucket-ae" || out.Delta != .001 {
						t.Errorf("outcome %+v", out)
					}
				})
			}
		}
	}
}

// Figure 7: pulls grow more slowly than n, because later bins are skipped. The
// rule that skips them is what makes the difference: with norms that reach
// everything it is never used, and pulls grow with n.
func TestBucketAESublinearInAtoms(t *testing.T) {
	const d = 500
	run := func(n int, reach bool) int64 {
		atoms, query, norms := normSpread(t, n, d, 77)
		if reach {
			for i := range norms {
				norms[i] = 1e6
			}
		}
		opt := BucketAEOptions{Norms: norms}
		opt.K, opt.Delta, opt.Sigma = 1, .01, 1
		out, err := BucketAE(context.Background(), atoms, query, opt)
		if err != nil {
			t.Fatal(err)
		}
		return out.Pulls
	}
	with := float64(run(1600, false)) / float64(run(200, false))
	without := float64(run(1600, true)) / float64(run(200, true))
	if with > 6 || without < 1.1*with {
		t.Errorf("8 times the atoms cost %.1f times the pulls, %.1f without the skipping rule", with, without)
	}
}

// The skipping rule alone: |q| = 2, d = 2, and the second best standing is a mean
// of 3, so that arms of norms below 3 are out of reach.
func TestBucketAEReachable(t *testing.T) {
	atoms, err := NewMatrix(make([]float32, 10), 5, 2)
	if err != nil {
		t.Fatal(err)
	}
	opt := BucketAEOptions{Norms: []float64{9, 3, 2.99, 3.01, 0}}
	opt.K, opt.Delta, opt.Sigma = 2, .1, 1
	b, err := newBucketSearch(atoms, []float32{0, 2}, opt)
	if err != nil {
		t.Fatal(err)
	}
	b.add(0, 0, 5, 5)
	if got := b.reachable(allArms(5)); !cmp.Equal(got, allArms(5)) || b.dropped {
		t.Errorf("with one standing for k = 2: %v", got)
	}
	b.add(1, 0, 3, 3)
	b.add(1, 0, 1, 1)
	if got := b.reachable(allArms(5)); !cmp.Equal(got, []int{0, 1, 3}) || !b.dropped {
		t.Errorf("reachable %v, dropped %v", got, b.dropped)
	}
}

// What later bins are compared with: the sampled mean, or with known norms its
// lower bound at half of delta and the union over all n arms.
func TestBucketAEStanding(t *testing.T) {
	const n, d = 8, 4000
	rows, query, norms := make([]float32, n*d), make([]float32, d), make([]float64, n)
	for p := range rows {
		query[p%d] = 1
		rows[p] = float32(p/d) + float32(p%3-1)/2
		norms[p/d] += float64(rows[p]) * float64(rows[p])
	}
	for i := range norms {
		norms[i] = math.Sqrt(norms[i])
	}
	atoms, err := NewMatrix(rows, n, d)
	if err != nil {
		t.Fatal(err)
	}
	for name, known := range map[string][]float64{"estimated": nil, "known": norms} {
		opt := BucketAEOptions{Norms: known}
		opt.K, opt.Delta, opt.Sigma, opt.BinSize = 1, .1, 1, n
		b, err := newBucketSearch(atoms, query, opt)
		if err != nil {
			t.Fatal(err)
		}
		if known == nil {
			b.estimateNorms()
		}
		if err := b.searchBin(context.Background(), 0, allArms(n), 0); err != nil {
			t.Fatal(err)
		}
		if b.exact {
			t.Fatal("the bin was read in full: nothing to compare")
		}
		want := b.scores[0] / d
		if known != nil {
			want -= bandit.MeanRadius(1, n, b.rounds[0].Coordinates, .05)
		}
		if math.Abs(b.standing[0]-want) > 1e-12 {
			t.Errorf("%s norms: standing %v, want %v", name, b.standing[0], want)
		}
		if want := b.scores[0]/d - bandit.MeanRadius(1, n, b.rounds[0].Coordinates, .05); math.Abs(b.lower[0]-want) > 1e-12 {
			t.Errorf("%s norms: lower bound %v, want %v", name, b.lower[0], want)
		}
	}
}

// Sampling stops during a bin, too: an arm whose upper bound, or known potential, is below a lower bound
// carried in is not sampled further, and a bin may end without a winner.
func TestBucketAEStopsInBins(t *testing.T) {
	const n, d = 60, 2000
	atoms, query, norms := normSpread(t, n, d, 5)
	for i := range norms {
		norms[i] = math.Max(norms[i], 100) // no bin is left out before it is sampled
	}
	opt := BucketAEOptions{Norms: norms, BinSize: 10}
	opt.K, opt.Delta, opt.Sigma, opt.Seed = 1, .01, 1, 1
	b, err := newBucketSearch(atoms, query, opt)
	if err != nil {
		t.Fatal(err)
	}
	pulls := func(lower float64) (int64, int) {
		c := *b
		c.add(0, 0, math.Inf(-1), lower)
		if err := c.searchBin(context.Background(), 1, []int{20, 21, 22, 23, 24, 25, 26, 27, 28, 29}, 0); err != nil {
			t.Fatal(err)
		}
		return c.pulls, len(c.winners) - 1
	}
	alone, won := pulls(math.Inf(-1))
	if won != 1 {
		t.Errorf("%d winners of a bin after nothing", won)
	}
	if with, won := pulls(50); won != 0 || with >= alone/2 {
		t.Errorf("%d pulls and %d winners below a lower bound that none reaches, %d pulls without it", with, won, alone)
	}
}

// With true norms and a true sigma (rewards deviate by .34 at most) the answer is wrong with probability delta at most, tests during bins
// included. (A delta of .3 may fail 60 of 100 times by chance with probability below 1e-6; the bounds are
// loose, and none is expected.)
func TestBucketAEFailureRate(t *testing.T) {
	const n, d, trials = 60, 1000, 100
	wrong, pulls := 0, int64(0)
	for seed := range uint64(trials) {
		atoms, query, norms := normSpread(t, n, d, seed)
		for i := range norms {
			norms[i] *= 1 + 1e-9
		}
		products, err := NewProducts(atoms, query)
		if err != nil {
			t.Fatal(err)
		}
		opt := BucketAEOptions{Norms: norms, BinSize: 10}
		opt.K, opt.Delta, opt.Sigma, opt.Seed = 2, .3, .4, seed
		out, err := BucketAE(context.Background(), atoms, query, opt)
		if err != nil {
			t.Fatal(err)
		}
		if best, _ := oracle(products, allArms(n), 2); !cmp.Equal(out.IDs, best) && !cmp.Equal(out.IDs, []int{best[1], best[0]}) {
			wrong++
		}
		pulls += out.Pulls
	}
	if exceeds(trials, wrong, .3) || pulls > trials*n*d/4 {
		t.Errorf("%d of %d wrong, %d pulls", wrong, trials, pulls)
	}
}

func TestBucketAECountsNorms(t *testing.T) {
	atoms, query, norms := normSpread(t, 50, 100, 1)
	run := func(o BucketAEOptions) int64 {
		o.K, o.Delta, o.Sigma = 50, .1, 1 // everything is returned: only exact scores are pulled
		out, err := BucketAE(context.Background(), atoms, query, o)
		if err != nil {
			t.Fatal(err)
		}
		if !out.Exact {
			t.Errorf("outcome %+v", out)
		}
		return out.Pulls
	}
	if got := run(BucketAEOptions{Norms: norms}); got != 50*100 {
		t.Errorf("%d pulls with known norms", got)
	}
	if got := run(BucketAEOptions{NormCoordinates: 7}); got != 50*100+50*7 {
		t.Errorf("%d pulls with 7 coordinates for norms", got)
	}
}

func TestBucketAEErrors(t *testing.T) {
	atoms, query, norms := normSpread(t, 5, 10, 1)
	good := BanditMIPSOptions{K: 1, Delta: .1, Sigma: 1}
	warm, err := NewWarmStart(atoms, 2, WithReplacement, 1)
	if err != nil {
		t.Fatal(err)
	}
	warmed := good
	warmed.Warm = warm
	cases := []struct {
		name string
		opt  BucketAEOptions
		want error
	}{
		{"bin size", BucketAEOptions{BanditMIPSOptions: good, BinSize: -1}, ErrBins},
		{"norm coordinates", BucketAEOptions{BanditMIPSOptions: good, NormCoordinates: 11}, ErrBins},
		{"four norms", BucketAEOptions{BanditMIPSOptions: good, Norms: norms[:4]}, ErrBins},
		{"NaN norm", BucketAEOptions{BanditMIPSOptions: good, Norms: []float64{1, 1, 1, 1, math.NaN()}}, ErrBins},
		{"warm", BucketAEOptions{BanditMIPSOptions: warmed}, ErrWarmStart},
		{"delta", BucketAEOptions{BanditMIPSOptions: BanditMIPSOptions{K: 1, Sigma: 1}}, ErrDelta},
	}
	for _, c := range cases {
		if _, err := BucketAE(context.Background(), atoms, query, c.opt); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := BucketAE(context.Background(), atoms, query[1:], BucketAEOptions{BanditMIPSOptions: good}); !errors.Is(err, ErrDim) {
		t.Errorf("short query: %v", err)
	}
}
