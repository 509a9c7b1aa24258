package papers

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/internal/philox"
)

// spiky is a query with few large coordinates and atoms of like size in them.
func spiky(t testing.TB, n, d int) (*Matrix, []float32) {
	t.Helper()
	r := rand.New(philox.New(21, 0))
	query := make([]float32, d)
	for j := range query {
		query[j] = float32(math.Exp(2*r.NormFloat64())) * float32(2*r.IntN(2)-1) / 10
	}
	rows := make([]float32, n*d)
	for p := range rows {
		sign := float32(math.Copysign(1, float64(query[p%d])))
		rows[p] = sign * r.Float32() * float32(1+p/d) / float32(n)
	}
	m, err := NewMatrix(rows, n, d)
	if err != nil {
		t.Fatal(err)
	}
	return m, query
}

func TestBanditMIPSBetaAgainstOracle(t *testing.T) {
	const n, d = 30, 3000
	atoms, query := spiky(t, n, d)
	products, err := NewProducts(atoms, query)
	if err != nil {
		t.Fatal(err)
	}
	optimal, pulls, err := OptimalWeights(context.Background(), products)
	if err != nil || pulls != n*d {
		t.Fatalf("optimal weights: %d pulls, %v", pulls, err)
	}
	half, err := BetaWeights(query, .5)
	if err != nil {
		t.Fatal(err)
	}
	uniform, err := BetaWeights(query, 0)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]int64{}
	for name, w := range map[string][]float64{"uniform": uniform, "beta 1/2": half, "optimal": optimal} {
		t.Run(name, func(t *testing.T) {
			lo, hi, err := WeightedRange(query, w, -1, 1)
			if err != nil {
				t.Fatal(err)
			}
			out, err := BanditMIPSBeta(context.Background(), products, w,
				BanditMIPSOptions{K: 2, Delta: 1e-4, Spread: SigmaBounded, Lo: lo, Hi: hi, Seed: 4, LookEvery: 8})
			if err != nil {
				t.Fatal(err)
			}
			ids, _ := oracle(products, allArms(n), 2)
			slices.Sort(ids)
			slices.Sort(out.IDs)
			if !cmp.Equal(out.IDs, ids) {
				t.Errorf("answer %v, true %v", out.IDs, ids)
			}
			used[name] = out.Pulls
		})
	}
	// The range of q_j v/(d w_j) is smallest for w proportional to |q_j|.
	if used["beta 1/2"] >= used["uniform"] {
		t.Errorf("pulls %v: weights by |q| do not help on a spiky query", used)
	}
}

// E[X_iJ] = mu_i for any weights (section 4), summed over J exactly.
func TestWeightedRewardsAreUnbiased(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 12).Draw(t, "d")
		query := rapid.SliceOfN(rapid.Float32Range(-4, 4), d, d).Draw(t, "query")
		row := rapid.SliceOfN(rapid.Float32Range(-4, 4), d, d).Draw(t, "row")
		w, err := BetaWeights(query, rapid.Float64Range(0, 2).Draw(t, "beta"))
		if errors.Is(err, ErrWeights) {
			t.Skip("underflow")
		}
		if err != nil {
			t.Fatal(err)
		}
		lo, hi, err := WeightedRange(query, w, -4, 4)
		if err != nil {
			t.Fatal(err)
		}
		mean, want, size := 0.0, 0.0, 0.0
		for j, q := range query {
			product := float64(row[j]) * float64(q)
			want += product / float64(d)
			size += math.Abs(product) / float64(d)
			if w[j] == 0 && q != 0 {
				t.Fatalf("coordinate %d (q = %v) has no weight", j, q)
			}
			if w[j] == 0 {
				continue
			}
			x := product * weightFactor(w[j], d)
			if x < lo || x > hi {
				t.Fatalf("reward %v outside [%v, %v]", x, lo, hi)
			}
			mean += w[j] * x
		}
		if math.Abs(mean-want) > 1e-12*size {
			t.Fatalf("expectation %v, mean %v", mean, want)
		}
	})
}

// Draws follow the weights, and never fall where the weight is 0: chi-square
// with 3 degrees of freedom, whose tail beyond 33 is below 1e-6.
func TestWeightedCoordinatesFollowWeights(t *testing.T) {
	weights := []float64{0, .1, .2, 0, .4, .3, 0}
	c := newWeighted(weights, rand.New(philox.New(1, 1)))
	const draws = 400000
	count := make([]int, len(weights))
	for range draws {
		j, factor := c.next()
		if want := 1 / (7 * weights[j]); factor != want {
			t.Fatalf("coordinate %d has factor %v, want %v", j, factor, want)
		}
		count[j]++
	}
	chi := 0.0
	for j, w := range weights {
		if w > 0 {
			chi += math.Pow(float64(count[j])-w*draws, 2) / (w * draws)
		} else if count[j] > 0 {
			t.Errorf("coordinate %d of weight 0 drawn %d times", j, count[j])
		}
	}
	if chi > 33 {
		t.Errorf("counts %v, chi-square %.1f", count, chi)
	}
}

// Theorem 2: no weights have a smaller sum of second moments (equation 6) than
// those of equation 4.
func TestOptimalWeightsMinimiseVariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 5).Draw(t, "n"), rapid.IntRange(1, 8).Draw(t, "d")
		rows := rapid.SliceOfN(rapid.Float32Range(.1, 4), n*d, n*d).Draw(t, "rows")
		other := rapid.SliceOfN(rapid.Float64Range(.01, 1), d, d).Draw(t, "other")
		m, err := NewMatrix(rows, n, d)
		if err != nil {
			t.Fatal(err)
		}
		best, _, err := OptimalWeights(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		other, err = normalised(other, d)
		if err != nil {
			t.Fatal(err)
		}
		moment := func(w []float64) float64 {
			sum := 0.0
			for p, v := range rows {
				sum += float64(v) * float64(v) / w[p%d]
			}
			return sum
		}
		if a, b := moment(best), moment(other); a > b*(1+1e-12) {
			t.Fatalf("second moments %v, other weights %v", a, b)
		}
	})
}

func TestBanditMIPSBetaErrors(t *testing.T) {
	atoms, query := spiky(t, 3, 10)
	good := BanditMIPSOptions{K: 1, Delta: .1, Sigma: 1}
	warm, err := NewWarmStart(atoms, 2, WithReplacement, 1)
	if err != nil {
		t.Fatal(err)
	}
	run := func(w []float64, change func(o *BanditMIPSOptions)) error {
		opt := good
		change(&opt)
		_, err := BanditMIPSBeta(context.Background(), atoms, w, opt)
		return err
	}
	fine, same := slices.Repeat([]float64{1}, 10), func(*BanditMIPSOptions) {}
	cases := []struct {
		name string
		err  error
		want error
	}{
		{"nine weights", run(fine[:9], same), ErrDim},
		{"negative", run(append(slices.Clone(fine[:9]), -1), same), ErrWeights},
		{"zeros", run(make([]float64, 10), same), ErrWeights},
		{"without replacement", run(fine, func(o *BanditMIPSOptions) { o.Sampling = WithoutReplacement }), ErrSampling},
		{"warm", run(fine, func(o *BanditMIPSOptions) { o.Warm = warm }), ErrWarmStart},
		{"k", run(fine, func(o *BanditMIPSOptions) { o.K = 4 }), ErrK},
	}
	for _, c := range cases {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, c.err, c.want)
		}
	}
	if _, err := BetaWeights(query, -1); !errors.Is(err, ErrWeights) {
		t.Errorf("beta -1: %v", err)
	}
	if _, err := BetaWeights([]float32{1, 1e-30}, 50); !errors.Is(err, ErrWeights) {
		t.Errorf("underflowing beta: %v", err)
	}
	if w, err := BetaWeights(make([]float32, 4), 1); err != nil || !cmp.Equal(w, []float64{.25, .25, .25, .25}) {
		t.Errorf("query of zeros: %v, %v", w, err)
	}
}

func TestBanditMIPSAlpha(t *testing.T) {
	const n, d = 30, 3000
	atoms, query := spiky(t, n, d)
	products, err := NewProducts(atoms, query)
	if err != nil {
		t.Fatal(err)
	}
	out, err := BanditMIPSAlpha(context.Background(), products, query, BanditMIPSOptions{K: 1, Delta: .01, Sigma: 10, ExactScores: true})
	if err != nil {
		t.Fatal(err)
	}
	best, scores := oracle(products, allArms(n), 1)
	if !cmp.Equal(out.IDs, best) || math.Abs(out.Scores[0]-scores[0]) > 1e-9 {
		t.Errorf("answer %v %v, true %v %v", out.IDs, out.Scores, best, scores)
	}
	if out.Guarantee != Heuristic || out.Method != "banditmips-alpha" {
		t.Errorf("outcome %+v", out)
	}
	if _, err := BanditMIPSAlpha(context.Background(), products, query[1:], BanditMIPSOptions{K: 1, Delta: .01, Sigma: 10}); !errors.Is(err, ErrDim) {
		t.Errorf("short query: %v", err)
	}
}

// Why alpha is a heuristic: the 20 largest coordinates point to arm 0, all the
// others to arm 1. BanditMIPS, whose coordinates are random, is not misled.
func TestBanditMIPSAlphaCanBeMisled(t *testing.T) {
	const d = 2000
	query, rows := make([]float32, d), make([]float32, 2*d)
	for j := range query {
		query[j] = 1
		rows[d+j] = .5
		if j < 20 {
			query[j], rows[j], rows[d+j] = 1.5, 1, -1
		}
	}
	atoms, err := NewMatrix(rows, 2, d)
	if err != nil {
		t.Fatal(err)
	}
	products, err := NewProducts(atoms, query)
	if err != nil {
		t.Fatal(err)
	}
	opt := BanditMIPSOptions{K: 1, Delta: .1, Sigma: .5}
	out, err := BanditMIPSAlpha(context.Background(), products, query, opt)
	if err != nil {
		t.Fatal(err)
	}
	if out.IDs[0] != 0 {
		t.Errorf("alpha was not misled: %+v", out)
	}
	if out := mustBanditMIPS(t, products, opt); out.IDs[0] != 1 {
		t.Errorf("BanditMIPS answered %v", out.IDs)
	}
}

func TestDescendingOrder(t *testing.T) {
	if got, want := descending([]float32{1, -3, 2, -1, 3}), []int{1, 4, 2, 0, 3}; !cmp.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}
