package papers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/internal/philox"
)

func TestBoundedMESamplesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 1e6).Draw(t, "d")
		u := rapid.Float64Range(0, 1e12).Draw(t, "u")
		m := boundedMESamples(u, d)
		if m < 0 || m > float64(d) {
			t.Fatalf("m(%v) = %v of %d", u, m, d)
		}
		if more := boundedMESamples(u*1.5+1e-3, d); more < m {
			t.Fatalf("m falls from %v to %v", m, more)
		}
		if more := boundedMESamples(u, d+1); u >= 1 && more < m*(1-1e-15) {
			t.Fatalf("m(%v) falls from %v to %v with the list", u, m, more)
		}
		// Equation 11 is what m solves: m/rho_m >= u for Bardenet and Maillard's rho.
		if m >= 1 {
			list := float64(d)
			rho := min(1-(m-1)/list, (1-m/list)*(1+1/m))
			if m < u*rho*(1-1e-6) {
				t.Fatalf("m = %v, rho = %v, u = %v: too few", m, rho, u)
			}
		}
	})
	if got := boundedMESamples(math.Inf(1), 77); got != 77 {
		t.Errorf("m(inf) = %v", got)
	}
}

func TestBoundedMEPullsFigures(t *testing.T) {
	// S-K = 9: floor(9/2)+1 = 5, so the logarithm is of 2*9/(.05*5) = 72.
	u := 2 / (.1 * .1) * math.Log(72)
	want := int(math.Ceil(min((u+1)/(1+u/1e4), (u+u/1e4)/(1+u/1e4))))
	if got := boundedMEPulls(10, 1, 1e4, .1, .05, Published); got != want {
		t.Errorf("published: %d, want %d", got, want)
	}
	// K = 3: delta' = .05/(3 + 7/4).
	u = 2 / (.1 * .1) * math.Log((3+7./4)/.05)
	want = int(math.Ceil(min((u+1)/(1+u/1e4), (u+u/1e4)/(1+u/1e4))))
	if got := boundedMEPulls(10, 3, 1e4, .1, .05, Corrected); got != want {
		t.Errorf("corrected: %d, want %d", got, want)
	}
}

func TestBoundedMEPullsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 20).Draw(t, "k")
		survivors := k + rapid.IntRange(1, 1e5).Draw(t, "others")
		d := rapid.IntRange(1, 1e6).Draw(t, "d")
		eps := rapid.Float64Range(1e-6, 1).Draw(t, "eps")
		delta := rapid.Float64Range(1e-6, .999).Draw(t, "delta")
		for _, union := range []BoundedMEUnion{Published, Corrected} {
			pulls := func(eps, delta float64) int { return boundedMEPulls(survivors, k, d, eps, delta, union) }
			at := pulls(eps, delta)
			if at < 1 || at > d {
				t.Fatalf("%v: %d pulls of %d", union, at, d)
			}
			if pulls(eps/2, delta) < at || pulls(eps, delta/2) < at {
				t.Fatalf("%v: a stricter goal takes fewer pulls", union)
			}
			if pulls(0, delta) != d {
				t.Fatalf("%v: eps = 0 does not read everything", union)
			}
			// The next round never asks for fewer pulls than this one has made.
			if next := survivors - (survivors-k+1)/2; next > k {
				if boundedMEPulls(next, k, d, eps*3/4, delta/2, union) < at {
					t.Fatalf("%v: pulls fall from one round to the next", union)
				}
			}
		}
		published, corrected := boundedMEPulls(survivors, k, d, eps, delta, Published), boundedMEPulls(survivors, k, d, eps, delta, Corrected)
		if k == 1 && corrected > published {
			t.Fatalf("for K = 1 the correction costs pulls: %d, published %d", corrected, published)
		}
		if k > 1 && corrected < published {
			t.Fatalf("for K = %d the correction saves pulls: %d, published %d", k, corrected, published)
		}
	})
}

// adversarial are the lists of the paper's figure 1: arm a has ones[a] rewards of
// 1 and hands them out before its zeros, so that arms look alike as long as can
// be. A running sum is min(ones, t) and needs no list.
type adversarial struct{ ones []int }

func newAdversarial(n, d int, seed uint64) adversarial {
	r := rand.New(philox.New(seed, 10))
	l := adversarial{ones: make([]int, n)}
	for a := range l.ones {
		l.ones[a] = int(r.Float64() * float64(d))
	}
	return l
}

func (l adversarial) Add(_ context.Context, _, to int, arms []int, sums []float64) error {
	for p, a := range arms {
		sums[p] = float64(min(l.ones[a], to))
	}
	return nil
}

// The guarantee of Theorem 2 on them: 10^4 arms of 10^5 rewards, means uniform,
// top 1, 5 and 10 as in figure 1. For every (eps, delta) the (1-delta)-percentile
// of the suboptimality lies below eps, under both unions.
func TestBoundedMEOnAdversarialLists(t *testing.T) {
	const n, d = 10000, 100000
	runs := 20
	if testing.Short() {
		runs = 3
	}
	lists := make([]adversarial, runs)
	for run := range lists {
		lists[run] = newAdversarial(n, d, uint64(run))
	}
	for _, union := range []BoundedMEUnion{Published, Corrected} {
		for _, k := range []int{1, 5, 10} {
			t.Run(fmt.Sprintf("%v/k=%d", union, k), func(t *testing.T) {
				for _, eps := range []float64{0, .1, .3, .6} {
					for _, delta := range []float64{.01, .1, .3} {
						gaps := make([]float64, runs)
						for run := range gaps {
							out, err := BoundedMEOfLists(context.Background(), lists[run], n, d,
								BoundedMEOptions{K: k, Delta: delta, Epsilon: eps * d, Lo: 0, Hi: 1, Union: union})
							if err != nil {
								t.Fatal(err)
							}
							gaps[run] = gapOfLists(lists[run].ones, out.IDs, k) / d
						}
						slices.Sort(gaps)
						at := gaps[min(runs-1, int(math.Ceil((1-delta)*float64(runs))))]
						if at > eps || (eps > 0 && at == eps) {
							t.Errorf("eps %v, delta %v: percentile of the suboptimality %v", eps, delta, at)
						}
					}
				}
			})
		}
	}
}

// gapOfLists is the K-th most ones of all less the K-th most of those returned.
func gapOfLists(ones, ids []int, k int) float64 {
	kth := func(values []int) int {
		slices.Sort(values)
		return values[len(values)-k]
	}
	var chosen []int
	for _, a := range ids {
		chosen = append(chosen, ones[a])
	}
	return float64(kth(slices.Clone(ones)) - kth(chosen))
}

// Pulls for an epsilon 40 times too large would not do on these lists: the test
// above can fail.
func TestAdversarialListsAreHard(t *testing.T) {
	const n, d, eps = 10000, 100000, .05
	lists := newAdversarial(n, d, 1)
	out, err := BoundedMEOfLists(context.Background(), lists, n, d,
		BoundedMEOptions{K: 1, Delta: .1, Epsilon: 40 * eps * d, Lo: 0, Hi: 1})
	if err != nil {
		t.Fatal(err)
	}
	if gap := gapOfLists(lists.ones, out.IDs, 1) / d; gap < eps {
		t.Errorf("an epsilon 40 times too large is only %v suboptimal", gap)
	}
}

// A query far from all atoms has the neighbours that its direction says, whatever
// its square rounds away.
func TestBoundedMEFarQuery(t *testing.T) {
	const n, d, k = 37, 64, 5
	value := func(r *rand.Rand, _ int) float32 { return float32(2*r.Float64() - 1) }
	atoms := randomRows(t, n, d, 33, value)
	query := randomRows(t, 1, d, 34, value).rows
	products, err := NewProducts(atoms, query)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := oracle(products, allArms(n), k)
	far := make([]float32, d)
	for j, v := range query {
		far[j] = v * 0x1p50 // |v|^2 is nothing beside q.v
	}
	distances, err := NewDistances(atoms, far, -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	lo, hi := distances.Range()
	out, err := BoundedME(context.Background(), distances, BoundedMEOptions{K: k, Delta: .1, Lo: lo, Hi: hi, Union: Corrected})
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(out.IDs, want) {
		t.Errorf("answer %v, by direction %v", out.IDs, want)
	}
}

// epsilon = 0 reads everything: products, distances and any bounded rewards come
// out as the oracle has them, certain.
func TestBoundedMEAgainstOracle(t *testing.T) {
	const n, d = 37, 200
	value := func(r *rand.Rand, _ int) float32 { return float32(2*r.Float64() - 1) }
	atoms := randomRows(t, n, d, 31, value)
	query := randomRows(t, 1, d, 32, value).rows
	products, err := NewProducts(atoms, query)
	if err != nil {
		t.Fatal(err)
	}
	distances, err := NewDistances(atoms, query, -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	waves, err := NewComputed(n, d, func(i, j int) float64 { return math.Sin(float64(i*i + j)) })
	if err != nil {
		t.Fatal(err)
	}
	plo, phi := products.Range(-1, 1)
	dlo, dhi := distances.Range()
	cases := []struct {
		name   string
		arms   Arms
		lo, hi float64
	}{
		{"products", products, plo, phi}, {"distances", distances, dlo, dhi}, {"waves", waves, -1, 1},
	}
	for _, c := range cases {
		for _, k := range []int{1, 2, 10, n - 1, n} {
			t.Run(fmt.Sprintf("%s/k=%d", c.name, k), func(t *testing.T) {
				out, err := BoundedME(context.Background(), c.arms, BoundedMEOptions{K: k, Delta: .1, Lo: c.lo, Hi: c.hi, Union: Corrected})
				if err != nil {
					t.Fatal(err)
				}
				ids, scores := oracle(c.arms, allArms(n), k)
				if !cmp.Equal(out.IDs, ids) {
					t.Errorf("answer %v, true %v", out.IDs, ids)
				}
				for p := range scores {
					if math.Abs(out.Scores[p]-scores[p]) > 1e-10 {
						t.Errorf("score %v, true %v", out.Scores[p], scores[p])
					}
				}
				if !out.Exact || out.Pulls != n*d || out.Guarantee != Probabilistic {
					t.Errorf("outcome %+v", out)
				}
			})
		}
	}
}

// lateLists counts trials in which the K-th best returned is below the K-th best
// by more than judged, for BoundedME told an epsilon (both of the mean).
func lateLists(t *testing.T, trials, k int, union BoundedMEUnion, delta, told, judged float64) (wrong int, share float64) {
	t.Helper()
	const n, d = 24, 400
	pulls := int64(0)
	for trial := range trials {
		atoms := randomRows(t, n, d, uint64(trial), func(r *rand.Rand, i int) float32 {
			if r.Float64() < .3+.015*float64(i) {
				return 1
			}
			return 0
		})
		out, err := BoundedME(context.Background(), atoms,
			BoundedMEOptions{K: k, Delta: delta, Epsilon: told * d, Lo: 0, Hi: 1, Union: union, Seed: uint64(trial)})
		if err != nil {
			t.Fatal(err)
		}
		_, best := oracle(atoms, allArms(n), k)
		_, got := oracle(atoms, out.IDs, k)
		if best[k-1]-got[k-1] > judged*d {
			wrong++
		}
		pulls += out.Pulls
	}
	return wrong, float64(pulls) / float64(trials*n*d)
}

// The failure rate over random orders stays within delta, one-sided binomial at
// 1e-6; an epsilon of 2 judged as if it were .01 must be caught by the same test.
func TestBoundedMEFailureRate(t *testing.T) {
	const delta = .1
	trials := 600
	if testing.Short() {
		trials = 150
	}
	cases := []struct {
		k     int
		union BoundedMEUnion
	}{{1, Published}, {1, Corrected}, {5, Corrected}}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%v/k=%d", c.union, c.k), func(t *testing.T) {
			wrong, share := lateLists(t, trials, c.k, c.union, delta, .4, .4)
			if exceeds(trials, wrong, delta) {
				t.Errorf("%d of %d wrong at delta %v", wrong, trials, delta)
			}
			if share > .95 {
				t.Errorf("%.0f%% of all rewards read: nothing was sampled", 100*share)
			}
			if wrong, _ := lateLists(t, trials, c.k, c.union, delta, 2, .01); !exceeds(trials, wrong, delta) {
				t.Errorf("an epsilon 200 times too large passed with %d of %d wrong", wrong, trials)
			}
		})
	}
}

// Rewards of another scale take the same pulls when epsilon and range scale with
// them.
func TestBoundedMEScalesWithItsRange(t *testing.T) {
	const n, d = 20, 300
	unit := randomRows(t, n, d, 5, func(r *rand.Rand, _ int) float32 { return float32(r.IntN(2)) })
	wide, err := NewComputed(n, d, func(i, j int) float64 { return 1000*float64(unit.rows[i*d+j]) - 300 })
	if err != nil {
		t.Fatal(err)
	}
	a, err := BoundedME(context.Background(), unit, BoundedMEOptions{K: 2, Delta: .1, Epsilon: .2 * d, Lo: 0, Hi: 1, Union: Corrected})
	if err != nil {
		t.Fatal(err)
	}
	b, err := BoundedME(context.Background(), wide, BoundedMEOptions{K: 2, Delta: .1, Epsilon: 200 * d, Lo: -300, Hi: 700, Union: Corrected})
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(a.IDs, b.IDs) || a.Pulls != b.Pulls || a.Pulls >= n*d || !cmp.Equal(a.Rounds, b.Rounds) {
		t.Errorf("unit rewards %+v\nscaled rewards %+v", a, b)
	}
}

// Rounds hold what the pulls add up to, and what each union promises is said.
func TestBoundedMEOutcome(t *testing.T) {
	const n, d, k = 50, 1000, 4
	atoms := randomRows(t, n, d, 6, func(r *rand.Rand, _ int) float32 { return r.Float32() })
	for union, want := range map[BoundedMEUnion]struct {
		method    string
		guarantee GuaranteeKind
	}{Published: {"boundedme/published", Heuristic}, Corrected: {"boundedme/corrected", Probabilistic}} {
		out, err := BoundedME(context.Background(), atoms, BoundedMEOptions{K: k, Delta: .2, Epsilon: .5 * d, Lo: 0, Hi: 1, Union: union})
		if err != nil {
			t.Fatal(err)
		}
		sum, from, alive := int64(0), 0, n
		for _, r := range out.Rounds {
			sum += int64(r.Coordinates-from) * int64(alive)
			if next := alive - (alive-k+1)/2; r.Survivors != next {
				t.Errorf("%v: %d survivors of %d, want %d", union, r.Survivors, alive, next)
			}
			from, alive = r.Coordinates, r.Survivors
		}
		if sum != out.Pulls || alive != k {
			t.Errorf("%v: rounds %v, pulls %d", union, out.Rounds, out.Pulls)
		}
		if out.Method != want.method || out.Guarantee != want.guarantee || out.Delta != .2 || out.Epsilon != .5*d || out.Sampling != WithoutReplacement {
			t.Errorf("outcome %+v", out)
		}
	}
}

func TestBoundedMEErrors(t *testing.T) {
	atoms := randomRows(t, 4, 10, 1, func(r *rand.Rand, _ int) float32 { return r.Float32() })
	good := BoundedMEOptions{K: 1, Delta: .1, Epsilon: .1, Lo: 0, Hi: 1}
	cases := []struct {
		name   string
		change func(o *BoundedMEOptions)
		want   error
	}{
		{"k zero", func(o *BoundedMEOptions) { o.K = 0 }, ErrK},
		{"k above n", func(o *BoundedMEOptions) { o.K = 5 }, ErrK},
		{"delta", func(o *BoundedMEOptions) { o.Delta = 1 }, ErrDelta},
		{"epsilon negative", func(o *BoundedMEOptions) { o.Epsilon = -1 }, ErrEpsilon},
		{"epsilon NaN", func(o *BoundedMEOptions) { o.Epsilon = math.NaN() }, ErrEpsilon},
		{"range of one point", func(o *BoundedMEOptions) { o.Hi = 0 }, ErrRange},
		{"range reversed", func(o *BoundedMEOptions) { o.Lo = 2 }, ErrRange},
		{"range infinite", func(o *BoundedMEOptions) { o.Hi = math.Inf(1) }, ErrRange},
		{"range too narrow", func(o *BoundedMEOptions) { o.Hi = .01 }, ErrRange},
		{"union", func(o *BoundedMEOptions) { o.Union = 2 }, ErrDelta},
	}
	for _, c := range cases {
		opt := good
		c.change(&opt)
		if _, err := BoundedME(context.Background(), atoms, opt); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := BoundedME(context.Background(), nil, good); !errors.Is(err, ErrNoArms) {
		t.Errorf("no arms: %v", err)
	}
	for _, d := range []int{0, 3} {
		if _, err := BoundedMEOfLists(context.Background(), nil, 1, d, good); !errors.Is(err, ErrNoArms) {
			t.Errorf("no lists of %d rewards: %v", d, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := BoundedME(ctx, atoms, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
