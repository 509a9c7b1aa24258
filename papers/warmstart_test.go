package papers

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/internal/philox"
)

func TestBanditMIPSWarmStart(t *testing.T) {
	const n, d, cached = 60, 4000, 200
	for _, sampling := range []Sampling{WithReplacement, WithoutReplacement} {
		t.Run(sampling.String(), func(t *testing.T) {
			s := newPublishedSet(t, "NORMAL_CUSTOM", n, d, separated(t, "NORMAL_CUSTOM", 1)[0])
			reads := int64(0)
			counting, err := NewComputed(n, d, func(i, j int) float64 {
				reads++
				one := []float64{0}
				s.Atoms.Pull(j, []int{i}, one)
				return one[0]
			})
			if err != nil {
				t.Fatal(err)
			}
			warm, err := NewWarmStart(counting, cached, sampling, 8)
			if err != nil {
				t.Fatal(err)
			}
			if reads != warm.Cost() || warm.Cost() > n*cached {
				t.Errorf("filling took %d reads, Cost %d", reads, warm.Cost())
			}
			reads = 0
			products, err := NewProducts(warm, s.query)
			if err != nil {
				t.Fatal(err)
			}
			out := mustBanditMIPS(t, products, BanditMIPSOptions{K: 1, Delta: .001, Sigma: 1, Sampling: sampling, Warm: warm})
			if best, _ := oracle(s.products, allArms(n), 1); !cmp.Equal(out.IDs, best) {
				t.Errorf("answer %v, true %v", out.IDs, best)
			}
			// With replacement a fresh draw may hit a cached coordinate, and so may
			// the reading of survivors in full.
			fresh := out.Pulls - out.CachedPulls
			if reads > fresh || (sampling == WithoutReplacement && reads != fresh) {
				t.Errorf("%d pulls, %d cached, yet %d reads", out.Pulls, out.CachedPulls, reads)
			}
			if out.CachedPulls < cached {
				t.Errorf("%d cached pulls of %d coordinates", out.CachedPulls, cached)
			}
		})
	}
}

// The cache holds the coordinates themselves, whatever arms are asked for, and
// its draws come first.
func TestWarmStartValues(t *testing.T) {
	atoms := randomRows(t, 9, 20, 2, func(r *rand.Rand, _ int) float32 { return r.Float32() })
	for _, sampling := range []Sampling{WithReplacement, WithoutReplacement} {
		warm, err := NewWarmStart(atoms, 8, sampling, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, arms := range [][]int{allArms(9), {4, 8}, {7}, {}} {
			got, want := make([]float64, len(arms)), make([]float64, len(arms))
			for j := range 20 {
				warm.Pull(j, arms, got)
				atoms.Pull(j, arms, want)
				if !cmp.Equal(got, want) {
					t.Errorf("%v, coordinate %d of %v: %v, want %v", sampling, j, arms, got, want)
				}
			}
		}
		first, seen := warm.newStream(rand.New(philox.New(5, 5))), map[int]bool{}
		for s := range 20 {
			j, _ := first.next()
			if _, cached := warm.column[j]; s < warm.Coordinates() && !cached {
				t.Errorf("%v: draw %d is coordinate %d, not cached", sampling, s, j)
			}
			seen[j] = true
		}
		if sampling == WithoutReplacement && len(seen) != 20 {
			t.Errorf("%d of 20 coordinates drawn", len(seen))
		}
	}
}

// A warm start of all coordinates leaves a fresh query nothing to read.
func TestWarmStartOfEverything(t *testing.T) {
	atoms := randomRows(t, 5, 30, 2, func(r *rand.Rand, _ int) float32 { return r.Float32() })
	warm, err := NewWarmStart(atoms, 30, WithoutReplacement, 1)
	if err != nil {
		t.Fatal(err)
	}
	out := mustBanditMIPS(t, warm, BanditMIPSOptions{K: 1, Delta: .1, Sigma: .5, Sampling: WithoutReplacement, Warm: warm})
	best, scores := oracle(atoms, allArms(5), 1)
	if !cmp.Equal(out.IDs, best) || math.Abs(out.Scores[0]-scores[0]) > 1e-12 || out.CachedPulls != out.Pulls {
		t.Errorf("outcome %+v, true %v %v", out, best, scores)
	}
}

// Every permutation of 4 coordinates comes up as often as the others: chi-square
// with 23 degrees of freedom, whose tail beyond 70 is below 2e-6.
func TestShuffledCoordinatesAreUniform(t *testing.T) {
	const draws = 24 * 500
	rng := rand.New(philox.New(3, 0))
	seen := map[[4]int]int{}
	for range draws {
		c := newShuffled(4, rng)
		var order [4]int
		for p := range order {
			order[p], _ = c.next()
		}
		seen[order]++
	}
	chi := 0.0
	for _, count := range seen {
		chi += math.Pow(float64(count)-draws/24, 2) / (draws / 24)
	}
	if len(seen) != 24 || chi > 70 {
		t.Errorf("%d permutations, chi-square %.1f", len(seen), chi)
	}
}

// A warm start of some atoms draws as that of all, and reads no atom where that has read.
func TestWarmStartOf(t *testing.T) {
	atoms := randomRows(t, 9, 20, 2, func(r *rand.Rand, _ int) float32 { return r.Float32() })
	which := []int{7, 2, 5}
	some := randomRows(t, 3, 20, 2, func(*rand.Rand, int) float32 { return 0 })
	for p, i := range which {
		copy(some.rows[p*20:(p+1)*20], atoms.rows[i*20:])
	}
	for _, sampling := range []Sampling{WithReplacement, WithoutReplacement} {
		all, err := NewWarmStart(atoms, 8, sampling, 1)
		if err != nil {
			t.Fatal(err)
		}
		reads := 0
		counting, err := NewComputed(3, 20, func(i, j int) float64 { reads++; return float64(some.rows[i*20+j]) })
		if err != nil {
			t.Fatal(err)
		}
		of, err := all.Of(counting, which)
		if err != nil {
			t.Fatal(err)
		}
		opt := BanditMIPSOptions{K: 1, Delta: .1, Sigma: .001, Sampling: sampling, Seed: 3}
		want := opt
		if want.Warm, err = NewWarmStart(some, 8, sampling, 1); err != nil {
			t.Fatal(err)
		}
		opt.Warm = of
		a, b := mustBanditMIPS(t, of, opt), mustBanditMIPS(t, want.Warm, want)
		if !cmp.Equal(a, b) {
			t.Errorf("%v: %+v with some of the atoms, %+v with them alone", sampling, a, b)
		}
		if a.Rounds[len(a.Rounds)-1].Coordinates <= 8 && reads != 0 {
			t.Errorf("%v: %d reads for %d cached coordinates", sampling, reads, a.Rounds[0].Coordinates)
		}
		last, err := of.Of(some, []int{2, 2, 0})
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(last.which, []int{5, 5, 7}) {
			t.Errorf("atoms 2, 2 and 0 of %v are %v", which, last.which)
		}
		for _, wrong := range [][]int{{0, 1}, {0, 1, 9}, {0, -1, 1}} {
			if _, err := all.Of(some, wrong); !errors.Is(err, ErrWarmStart) {
				t.Errorf("atoms %v: %v", wrong, err)
			}
		}
	}
}
