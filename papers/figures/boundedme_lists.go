package figures

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"thresher/internal/philox"
	"thresher/internal/plot"
	"thresher/papers"
)

// boundedME1 holds BoundedME to its guarantee on lists whose order is the worst.
var boundedME1 = &Figure{
	ID: "boundedme-1", Paper: "BoundedME", Shows: "figure 1",
	Title:      "Suboptimality of BoundedME on adversarial lists against epsilon",
	Data:       []string{"adversarial lists"},
	Algorithms: []string{nameBoundedME},
	Lost:       "K, and the heights of the curve",
	Points: func(s *Settings) []Point {
		var points []Point
		for _, union := range s.Strings("union") {
			for _, k := range s.Ints("k") {
				points = append(points, Point{Key: fmt.Sprintf("%s K=%d", union, k), Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					return adversarialRows(ctx, e, s, unionOf(union), k)
				}})
			}
		}
		return points
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		epsilons := s.Floats("epsilon")
		charts := []plot.Chart{}
		for _, k := range s.Ints("k") {
			lines := series(only(rows, "", k), lineName, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Y })
			charts = append(charts, plot.Chart{
				Title: fmt.Sprintf("top %d", k), XLabel: "epsilon", YLabel: "suboptimality, (1-delta)-percentile",
				Series: append(lines, plot.Series{Name: "y = x", Kind: plot.Reference, X: epsilons, Mean: epsilons}),
			})
		}
		return charts
	},
	Note: func(_ *Settings, rows []Row) Note {
		above, greatest, nearest := 0, 0.0, 0.0
		for _, r := range rows {
			if r.Y > r.X || r.X > 0 && r.Y == r.X {
				above++
			}
			greatest = max(greatest, r.Y)
			if r.X > 0 {
				nearest = max(nearest, r.Y/r.X)
			}
		}
		verdict := Reproduced
		if above > 0 {
			verdict = Not
		}
		return Note{
			Says: "The (1-delta)-percentile of the suboptimality is below epsilon for every epsilon.",
			Seen: fmt.Sprintf("It is below epsilon at %d of %d pairs of epsilon and delta, for K of 1, 5 and 10 and both union bounds, and at most %.2g of epsilon (greatest %.2g).",
				len(rows)-above, len(rows), nearest, greatest),
			Why: "Arms that hand out their ones first look alike until most of their rewards are read, which this many pulls do; the order is not random, so that theorem 2 does not speak of these lists. " +
				"They are rewards without vectors, so that thresher's own methods have no line.",
			Verdict: verdict, Ours: fmt.Sprintf("at most %.2g epsilon", nearest), Theirs: "below epsilon; heights lost",
		}
	},
}

func unionOf(name string) papers.BoundedMEUnion {
	for _, u := range []papers.BoundedMEUnion{papers.Published, papers.Corrected} {
		if u.String() == name {
			return u
		}
	}
	panic(fmt.Sprintf("no union bound is called %q", name))
}

// onesFirst are lists of rewards 0 and 1, the ones first: a running sum is min(ones, t) and needs no list.
type onesFirst []int

func (l onesFirst) Add(_ context.Context, _, to int, arms []int, sums []float64) error {
	for p, a := range arms {
		sums[p] = float64(min(l[a], to))
	}
	return nil
}

// drawOnesFirst draws n lists of d rewards, each 1 with the list's own probability from U[0, 1].
func drawOnesFirst(n, d int, seed uint64) onesFirst {
	r := rand.New(philox.New(seed, 0))
	l := make(onesFirst, n)
	for a := range l {
		l[a] = int(distuv.Binomial{N: float64(d), P: r.Float64(), Src: r}.Rand())
	}
	return l
}

// adversarialRows are a row for each epsilon and delta: Y is the (1-delta)-percentile of the suboptimality over the sets.
func adversarialRows(ctx context.Context, e *Env, s *Settings, union papers.BoundedMEUnion, k int) ([]Row, error) {
	n, d, sets := s.Int("arms"), s.Int("rewards"), s.Int("sets")
	lists := make([]onesFirst, sets)
	for set := range lists { // the same for every K and union
		lists[set] = drawOnesFirst(n, d, pointSeed(e.Seed, fmt.Sprintf("lists %d", set)))
	}
	var rows []Row
	epsilons, deltas := s.Floats("epsilon"), s.Floats("delta")
	for _, epsilon := range epsilons {
		for _, delta := range deltas {
			gaps, pulls, walls := make([]float64, sets), make([]float64, sets), make([]time.Duration, sets)
			if err := eachOf(ctx, e.Threads, sets, func(set int) error {
				began := time.Now()
				out, err := papers.BoundedMEOfLists(ctx, lists[set], n, d, papers.BoundedMEOptions{
					K: k, Delta: delta, Epsilon: epsilon * float64(d), Lo: 0, Hi: 1, Union: union,
				})
				walls[set] = time.Since(began)
				if err != nil {
					return err
				}
				gaps[set], pulls[set] = lists[set].gap(out.IDs, k)/float64(d), float64(out.Pulls)
				return nil
			}); err != nil {
				return nil, err
			}
			r := Row{
				Algorithm: nameBoundedME, Variant: union.String(), Data: "adversarial lists", N: n, D: d, K: k, Draws: sets, Answers: sets,
				Setting: fmt.Sprintf("delta %g", delta), X: epsilon, Y: percentile(gaps, 1-delta), Wall: median(walls),
			}
			r.Multiplications, r.MultiplicationsSD = meanSD(pulls)
			for _, gap := range gaps {
				if gap > epsilon {
					r.Wrong++ // beyond what was promised
				}
			}
			rows = append(rows, r)
			e.Progress(len(rows), len(epsilons)*len(deltas))
		}
	}
	return rows, nil
}

// gap is the k-th most ones of all less the k-th most of those chosen.
func (l onesFirst) gap(ids []int, k int) float64 {
	descending := func(a, b int) int { return cmp.Compare(b, a) }
	all, chosen := slices.Clone(l), make([]int, len(ids))
	for p, id := range ids {
		chosen[p] = l[id]
	}
	slices.SortFunc(all, descending)
	slices.SortFunc(chosen, descending)
	return float64(all[k-1] - chosen[k-1])
}

// percentile is the least of the values that at least a share p of them does not exceed.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	const rounding = 1e-9 // of p times a number of values
	return sorted[min(len(sorted), max(1, int(math.Ceil(p*float64(len(sorted))-rounding))))-1]
}

func median[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
