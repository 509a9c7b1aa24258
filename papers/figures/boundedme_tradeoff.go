package figures

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"thresher/internal/philox"
	"thresher/internal/plot"
	"thresher/papers"
)

var (
	boundedME2 = iidFigure("boundedme-2", "figure 2", "N(0,1)", "Preprocessing finds no structure, because there is none.")
	boundedME3 = iidFigure("boundedme-3", "figure 3", "U[0,1]", "Here the tree of PCA-MIPS has a direction to find: a product has correlation .87 with the sum of the atom's coordinates.")
)

// iidFigure compares the methods on vectors whose coordinates are independent draws of one distribution; structure says what there is to find in them.
func iidFigure(id, shows, data, structure string) *Figure {
	return &Figure{
		ID: id, Paper: "BoundedME", Shows: shows,
		Title:      "Precision against saving on coordinates of " + data,
		Data:       []string{data},
		Algorithms: []string{nameBoundedME, OwnExact, OwnCertain, OwnAdaptive}, Baselines: []string{nameLSH, nameGreedy, namePCA},
		Lost: "all curves, the number of queries, how products were scaled to [0, 1], how epsilon and delta were paired",
		Points: func(s *Settings) []Point {
			return append(tradeoffPoints(s, func(ctx context.Context, e *Env, kmax int) (*tradeoff, error) {
				return iidTradeoff(ctx, e, data, s.Int("n"), s.Int("N"), s.Int("queries"), kmax)
			}), checkPoints(s, data)...)
		},
		Charts: func(s *Settings, rows []Row) []plot.Chart {
			var charts []plot.Chart
			for _, k := range s.Ints("k") {
				charts = append(charts, tradeoffCharts(fmt.Sprintf("%s, top %d", data, k), only(rows, data, k))...)
			}
			return charts
		},
		Note: func(s *Settings, rows []Row) Note {
			n := boundedMETradeoffNote(s.Ints("k")[0], only(rows, data, 0))
			n.Says = "BoundedME keeps its precision at savings (figures 2 and 3: 5 to 10 times, by the abstract) at which LSH-MIPS, Greedy-MIPS and PCA-MIPS have lost theirs."
			n.Why = "A sum of a share f of independent terms has correlation sqrt(f) with the whole at any N, so that nothing that reads a part of every vector keeps the order of the best, which differ by little. " + structure +
				" Products are scaled by the range of each query's products with the extremes of each coordinate." + checkText(rows)
			return n
		},
	}
}

// tradeoffPoints are the points of BoundedME's figures 2 to 4: each method by itself, on data that make returns with the kmax
// best of every query.
func tradeoffPoints(s *Settings, make func(ctx context.Context, e *Env, kmax int) (*tradeoff, error)) []Point {
	ks := s.Ints("k")
	point := func(key string, rows func(ctx context.Context, e *Env, t *tradeoff) ([]Row, error)) Point {
		return Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
			t, err := make(ctx, e, slices.Max(ks))
			if err != nil {
				return nil, err
			}
			scan, err := t.naive(ctx, e, ks) // what times of this point are compared with
			if err != nil {
				return nil, err
			}
			found, err := rows(ctx, e, t)
			return append(scan, found...), err
		}}
	}
	var points []Point
	for _, union := range s.Strings("union") {
		for _, k := range ks {
			points = append(points, point(fmt.Sprintf("BoundedME %s K=%d", union, k), func(ctx context.Context, e *Env, t *tradeoff) ([]Row, error) {
				return t.boundedME(ctx, e, []int{k}, s.Floats("epsilon"), s.Floats("delta"), unionOf(union), pointSeed(e.Seed, "coordinates"))
			}))
		}
	}
	return append(points,
		point("LSH", func(ctx context.Context, e *Env, t *tradeoff) ([]Row, error) {
			return t.lsh(ctx, e, ks, s.Ints("a"), s.Ints("b"), pointSeed(e.Seed, "planes"))
		}),
		point("Greedy", func(ctx context.Context, e *Env, t *tradeoff) ([]Row, error) {
			var budgets []int
			for _, share := range s.Floats("budget") {
				budgets = append(budgets, min(t.n, max(1, int(math.Ceil(share*float64(t.n))))))
			}
			return t.greedy(ctx, e, ks, budgets)
		}),
		point("PCA", func(ctx context.Context, e *Env, t *tradeoff) ([]Row, error) {
			return t.pca(ctx, e, ks, s.Ints("depth"), pointSeed(e.Seed, "tree"))
		}),
		point("thresher", func(ctx context.Context, e *Env, t *tradeoff) ([]Row, error) {
			return t.own(ctx, e, ks, s.Float("own_delta"))
		}))
}

// boundedMETradeoffNote says what came out at a k, of rows of one data set.
func boundedMETradeoffNote(k int, rows []Row) Note {
	rows = only(rows, "", k)
	wall, err := byWall(rows)
	published := nameBoundedME + ", " + papers.Published.String()
	var seen []string
	for _, bar := range []float64{.9, .5, .25} {
		seen = append(seen, fmt.Sprintf("%.3g times at precision %g", savingAt(rows, published, bar, byMultiplications), bar))
	}
	best, name := 0.0, ""
	var others []string
	for _, line := range []string{nameLSH, nameGreedy, namePCA} {
		at := savingAt(rows, line, .9, byMultiplications)
		others = append(others, fmt.Sprintf("%s %.3g", line, at))
		if at > best {
			best, name = at, line
		}
	}
	text := fmt.Sprintf("K = %d: BoundedME saves %s in multiplications; at .9 the baselines save: %s.", k, strings.Join(seen, ", "), strings.Join(others, ", "))
	if err == nil {
		var own []string
		for _, line := range []string{OwnExact, OwnCertain, OwnAdaptive} {
			if at := savingAt(rows, line, .9, wall); at > 0 {
				own = append(own, fmt.Sprintf("%s %.3g", strings.TrimPrefix(line, "thresher "), at))
			}
		}
		text += fmt.Sprintf(" By time of a query on one core BoundedME saves %.3g times at .9 on a copy by coordinate; thresher's own: %s.", savingAt(rows, published, .9, wall), strings.Join(own, ", "))
	}
	n := Note{Seen: text, Theirs: "5 to 10 times (abstract); curves lost"}
	at := savingAt(rows, published, .9, byMultiplications)
	switch {
	case at >= 5 && at >= best:
		n.Verdict = Reproduced
	case at >= best:
		n.Verdict = InKind
	default:
		n.Verdict = Not
	}
	n.Ours = fmt.Sprintf("%.3g times at precision .9", at)
	if best > 0 {
		n.Ours += fmt.Sprintf(", the best baseline (%s) %.3g", name, best)
	}
	return n
}

// iidValue returns the value of coordinate j of row i of a source, of N(0,1) or U[0,1].
func iidValue(data string) func(source *philox.Source, i, j int) float32 {
	switch data {
	case "N(0,1)":
		return func(source *philox.Source, i, j int) float32 {
			a, b := source.Pair(uint64(i)<<32 | uint64(j))
			u := (float64(a>>11) + .5) * 0x1p-53
			return float32(math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*float64(b>>11)*0x1p-53))
		}
	case "U[0,1]":
		return func(source *philox.Source, i, j int) float32 {
			a, _ := source.Pair(uint64(i)<<32 | uint64(j))
			return float32(a>>40) * 0x1p-24
		}
	}
	panic(fmt.Sprintf("no distribution is called %q", data))
}

// iidSources are those of the atoms and of the queries, the same at every size.
func iidSources(e *Env, data string) (atoms, queries *philox.Source) {
	seed := pointSeed(e.Seed, "iid "+data)
	return philox.New(seed, 0), philox.New(seed, 1)
}

// iidTradeoff draws n atoms and m queries of d coordinates.
func iidTradeoff(ctx context.Context, e *Env, data string, n, d, m, kmax int) (*tradeoff, error) {
	value := iidValue(data)
	atoms, source := iidSources(e, data)
	vectors := make([]float32, n*d)
	if err := eachOf(ctx, e.Threads, n, func(i int) error {
		for j := range d {
			vectors[i*d+j] = value(atoms, i, j)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	queries := make([][]float32, m)
	for q := range queries {
		queries[q] = make([]float32, d)
		for j := range d {
			queries[q][j] = value(source, q, j)
		}
	}
	return newTradeoff(ctx, e, data, vectors, d, queries, kmax)
}
