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

func mustBanditMIPS(t testing.TB, arms Arms, opt BanditMIPSOptions) Outcome {
	t.Helper()
	out, err := BanditMIPS(context.Background(), arms, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// separated returns seeds of a data set whose top gap is at least .3: chosen draws. Theorem 1
// promises pulls free of d only where d exceeds what the gap asks for; of NORMAL_CUSTOM's draws about
// a third have this gap, and over all of them pulls grow with d, as figure banditmips-1 shows.
func separated(t *testing.T, name string, want int) []uint64 {
	var seeds []uint64
	for seed := uint64(1); len(seeds) < want; seed++ {
		if newPublishedSet(t, name, 100, 1, seed).gap() >= .3 {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

// Section 5 and figure 1 of arXiv 2212.07551 with its settings: 100 atoms,
// delta .001, sigma 1. The right answer every time, and pulls that do not grow.
func TestBanditMIPSFlatInDimension(t *testing.T) {
	for _, name := range []string{"NORMAL_CUSTOM", "CORRELATED_NORMAL_CUSTOM"} {
		t.Run(name, func(t *testing.T) {
			pulls := map[int]int64{}
			dims := []int{1e3, 1e4, 1e5, 1e6}
			if testing.Short() {
				dims = dims[:3]
			}
			for _, seed := range separated(t, name, 4) {
				for _, d := range dims {
					s := newPublishedSet(t, name, 100, d, seed)
					out := mustBanditMIPS(t, s.products, BanditMIPSOptions{K: 1, Delta: .001, Sigma: 1, Seed: seed})
					pulls[d] += out.Pulls
					// Up to 1e4 the oracle reads everything. Beyond, it reads the
					// two largest expectations: all others lie .3 or more below the
					// first, and a mean has a standard deviation of less than .02.
					contenders := allArms(100)
					if d > 1e4 {
						contenders, _ = ranked(contenders, s.means, 2)
					}
					best, _ := oracle(s.products, contenders, 1)
					if !cmp.Equal(out.IDs, best) {
						t.Errorf("seed %d, d %d: answer %v, true %v", seed, d, out.IDs, best)
					}
				}
			}
			t.Logf("pulls by dimension: %v", pulls)
			for _, d := range dims[2:] {
				if ratio := float64(pulls[d]) / float64(pulls[1e4]); ratio > 2 || ratio < .5 {
					t.Errorf("pulls at %d are %.2f times those at 1e4", d, ratio)
				}
			}
		})
	}
}

// Appendix 13: symmetric atoms have gaps of order 1/sqrt(d), and pulls grow with d.
func TestBanditMIPSLinearOnSymmetricNormal(t *testing.T) {
	pulls := map[int]int64{}
	for _, d := range []int{500, 2000} {
		for seed := range uint64(4) {
			s := newPublishedSet(t, "SymmetricNormal", 100, d, seed)
			out := mustBanditMIPS(t, s.products, BanditMIPSOptions{K: 1, Delta: .001, Sigma: 1, Seed: seed})
			pulls[d] += out.Pulls
			if best, _ := oracle(s.products, allArms(100), 1); !cmp.Equal(out.IDs, best) {
				t.Errorf("seed %d, d %d: answer %v, true %v", seed, d, out.IDs, best)
			}
		}
	}
	if ratio := float64(pulls[2000]) / float64(pulls[500]); ratio < 3 || ratio > 5 {
		t.Errorf("4 times the dimension costs %.2f times the pulls", ratio)
	}
}

// Every spread and sampling against the oracle, for several k, at a delta small
// enough that no failure is to be expected.
func TestBanditMIPSAgainstOracle(t *testing.T) {
	const n, d = 40, 1500
	atoms := randomRows(t, n, d, 11, func(r *rand.Rand, i int) float32 {
		return float32(r.IntN(2)) * float32(i%8+1) / 8
	})
	query := make([]float32, d)
	r := rand.New(philox.New(12, 0))
	for j := range query {
		query[j] = r.Float32()
	}
	products, err := NewProducts(atoms, query)
	if err != nil {
		t.Fatal(err)
	}
	lo, hi := products.Range(0, 1)
	spreads := map[string]BanditMIPSOptions{
		"given":     {Spread: SigmaGiven, Sigma: bandit.BoundedSigma(lo, hi)},
		"bounded":   {Spread: SigmaBounded, Lo: lo, Hi: hi},
		"bernstein": {Spread: EmpiricalBernstein, Lo: lo, Hi: hi},
	}
	for name, opt := range spreads {
		for _, opt.Sampling = range []Sampling{WithReplacement, WithoutReplacement} {
			for _, opt.K = range []int{1, 3, 17, n} {
				for _, opt.LookEvery = range []int{0, 64} {
					t.Run(fmt.Sprintf("%s/%v/k=%d/every=%d", name, opt.Sampling, opt.K, opt.LookEvery), func(t *testing.T) {
						opt.Delta, opt.ExactScores, opt.Seed = 1e-4, true, 5
						out := mustBanditMIPS(t, products, opt)
						ids, scores := oracle(products, allArms(n), opt.K)
						if !cmp.Equal(out.IDs, ids) {
							t.Errorf("answer %v, true %v", out.IDs, ids)
						}
						for p := range scores {
							if math.Abs(out.Scores[p]-scores[p]) > 1e-9 {
								t.Errorf("score %d: %v, true %v", p, out.Scores[p], scores[p])
							}
						}
						if !out.ScoresExact || out.Guarantee != Probabilistic || out.Delta != 1e-4 {
							t.Errorf("outcome %+v", out)
						}
					})
				}
			}
		}
	}
}

// wrongTop counts trials in which BanditMIPS misses the best arm of Bernoulli
// rewards with close means, told that sigma is half the range times shrink.
func wrongTop(t *testing.T, trials int, delta, shrink float64, sampling Sampling) int {
	t.Helper()
	const n, d = 8, 300
	wrong := 0
	for trial := range trials {
		atoms := randomRows(t, n, d, uint64(trial), func(r *rand.Rand, i int) float32 {
			if r.Float64() < .5+.02*float64(i) {
				return 1
			}
			return 0
		})
		out := mustBanditMIPS(t, atoms, BanditMIPSOptions{
			K: 1, Delta: delta, Sigma: shrink * bandit.BoundedSigma(0, 1), Sampling: sampling, Seed: uint64(trial),
		})
		_, best := oracle(atoms, allArms(n), 1)
		_, got := oracle(atoms, out.IDs, 1)
		if got[0] < best[0] {
			wrong++
		}
	}
	return wrong
}

// The failure rate of the bounded sigma stays within delta; sigma of a fifth of
// the truth must be caught by the same test, or the test could not fail.
func TestBanditMIPSFailureRate(t *testing.T) {
	trials := 1500
	if testing.Short() {
		trials = 300
	}
	for _, sampling := range []Sampling{WithReplacement, WithoutReplacement} {
		for _, delta := range []float64{.1, .01} {
			if wrong := wrongTop(t, trials, delta, 1, sampling); exceeds(trials, wrong, delta) {
				t.Errorf("%v: %d of %d wrong at delta %v", sampling, wrong, trials, delta)
			}
		}
		if wrong := wrongTop(t, trials, .1, .2, sampling); !exceeds(trials, wrong, .1) {
			t.Errorf("%v: a sigma 5 times too small passed with %d of %d wrong", sampling, wrong, trials)
		}
	}
}

// Two arms of equal score can never be told apart: without replacement the pulls
// are n d and the answer certain, with replacement 2 n d.
func TestBanditMIPSTiesReadEverything(t *testing.T) {
	const n, d = 6, 50
	atoms := randomRows(t, n, d, 1, func(*rand.Rand, int) float32 { return 1 })
	for sampling, pulls := range map[Sampling]int64{WithoutReplacement: n * d, WithReplacement: 2 * n * d} {
		out := mustBanditMIPS(t, atoms, BanditMIPSOptions{K: 2, Delta: .1, Sigma: .5, Sampling: sampling})
		want := Outcome{
			Method: "banditmips", IDs: []int{0, 1}, Scores: []float64{d, d}, ScoresExact: true, Exact: true,
			Pulls: pulls, Delta: .1, Sampling: sampling, Rounds: []RoundTally{{Coordinates: d, Survivors: n}},
		}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%v (-want +got):\n%s", sampling, diff)
		}
	}
}

// Pulls are what Pull was asked for: rounds and survivors add up to them.
func TestBanditMIPSCountsItsPulls(t *testing.T) {
	s := newPublishedSet(t, "CORRELATED_NORMAL_CUSTOM", 50, 2000, 3)
	counted := int64(0)
	arms, err := NewComputed(50, 2000, func(i, j int) float64 {
		counted++
		one := []float64{0}
		s.products.Pull(j, []int{i}, one)
		return one[0]
	})
	if err != nil {
		t.Fatal(err)
	}
	out := mustBanditMIPS(t, arms, BanditMIPSOptions{K: 3, Delta: .01, Sigma: 1, Seed: 9})
	if out.Pulls != counted {
		t.Errorf("%d pulls reported, %d made", out.Pulls, counted)
	}
	sum, from, alive := int64(0), 0, 50
	for _, r := range out.Rounds {
		sum += int64(r.Coordinates-from) * int64(alive)
		from, alive = r.Coordinates, r.Survivors
	}
	if out.ScoresExact {
		sum += int64(alive) * 2000 // more than k left: read in full
	}
	if sum != out.Pulls {
		t.Errorf("rounds %v add up to %d pulls and %d arms, outcome %d", out.Rounds, sum, alive, out.Pulls)
	}
}

func TestBanditMIPSOptionErrors(t *testing.T) {
	atoms := randomRows(t, 4, 10, 1, func(r *rand.Rand, _ int) float32 { return r.Float32() })
	warm, err := NewWarmStart(atoms, 3, WithReplacement, 1)
	if err != nil {
		t.Fatal(err)
	}
	good := BanditMIPSOptions{K: 1, Delta: .1, Sigma: 1}
	cases := []struct {
		name   string
		change func(o *BanditMIPSOptions)
		want   error
	}{
		{"k zero", func(o *BanditMIPSOptions) { o.K = 0 }, ErrK},
		{"k above n", func(o *BanditMIPSOptions) { o.K = 5 }, ErrK},
		{"delta zero", func(o *BanditMIPSOptions) { o.Delta = 0 }, ErrDelta},
		{"delta one", func(o *BanditMIPSOptions) { o.Delta = 1 }, ErrDelta},
		{"delta NaN", func(o *BanditMIPSOptions) { o.Delta = math.NaN() }, ErrDelta},
		{"sigma zero", func(o *BanditMIPSOptions) { o.Sigma = 0 }, ErrSigma},
		{"sigma infinite", func(o *BanditMIPSOptions) { o.Sigma = math.Inf(1) }, ErrSigma},
		{"spread", func(o *BanditMIPSOptions) { o.Spread = 7 }, ErrSigma},
		{"range of one point", func(o *BanditMIPSOptions) { o.Spread = SigmaBounded }, ErrRange},
		{"range reversed", func(o *BanditMIPSOptions) { o.Spread, o.Lo = EmpiricalBernstein, 1 }, ErrRange},
		{"range too narrow", func(o *BanditMIPSOptions) { o.Spread, o.Hi = SigmaBounded, .01 }, ErrRange},
		{"sampling", func(o *BanditMIPSOptions) { o.Sampling = 2 }, ErrSampling},
		{"look every", func(o *BanditMIPSOptions) { o.LookEvery = -1 }, ErrLookEvery},
		{"warm sampling", func(o *BanditMIPSOptions) { o.Warm, o.Sampling = warm, WithoutReplacement }, ErrWarmStart},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			opt := good
			c.change(&opt)
			if _, err := BanditMIPS(context.Background(), atoms, opt); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
	if _, err := BanditMIPS(context.Background(), nil, good); !errors.Is(err, ErrNoArms) {
		t.Errorf("no arms: %v", err)
	}
	if _, err := NewWarmStart(atoms, 11, WithReplacement, 1); !errors.Is(err, ErrWarmStart) {
		t.Errorf("11 of 10 coordinates cached: %v", err)
	}
	bad, err := NewComputed(2, 3, func(i, j int) float64 { return math.NaN() })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := BanditMIPS(context.Background(), bad, good); !errors.Is(err, ErrReward) {
		t.Errorf("NaN reward: %v", err)
	}
}

// A query of zeros makes every reward 0 and every range [0, 0]; all methods
// answer it, lowest ids first.
func TestQueryOfZeros(t *testing.T) {
	const n, d = 4, 10
	atoms := randomRows(t, n, d, 1, func(r *rand.Rand, _ int) float32 { return r.Float32() })
	query := make([]float32, d)
	products, err := NewProducts(atoms, query)
	if err != nil {
		t.Fatal(err)
	}
	lo, hi := products.Range(0, 1)
	weights, err := BetaWeights(query, 1)
	if err != nil {
		t.Fatal(err)
	}
	bounded := BanditMIPSOptions{K: 2, Delta: .1, Spread: SigmaBounded, Lo: lo, Hi: hi}
	bernstein := bounded
	bernstein.Spread = EmpiricalBernstein
	ctx := context.Background()
	answers := map[string]func() (Outcome, error){
		"bounded":   func() (Outcome, error) { return BanditMIPS(ctx, products, bounded) },
		"bernstein": func() (Outcome, error) { return BanditMIPS(ctx, products, bernstein) },
		"beta":      func() (Outcome, error) { return BanditMIPSBeta(ctx, products, weights, bounded) },
		"alpha":     func() (Outcome, error) { return BanditMIPSAlpha(ctx, products, query, bounded) },
		"bucket-ae": func() (Outcome, error) {
			return BucketAE(ctx, atoms, query, BucketAEOptions{BanditMIPSOptions: bounded})
		},
		"boundedme": func() (Outcome, error) {
			return BoundedME(ctx, products, BoundedMEOptions{K: 2, Delta: .1, Epsilon: .1, Lo: lo, Hi: hi})
		},
	}
	for name, answer := range answers {
		out, err := answer()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !cmp.Equal(out.IDs, []int{0, 1}) || out.Scores[0] != 0 || out.Scores[1] != 0 {
			t.Errorf("%s: %v %v", name, out.IDs, out.Scores)
		}
	}
}

func TestBanditMIPSCancelled(t *testing.T) {
	atoms := randomRows(t, 4, 10, 1, func(r *rand.Rand, _ int) float32 { return r.Float32() })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := BanditMIPS(ctx, atoms, BanditMIPSOptions{K: 1, Delta: .1, Sigma: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
