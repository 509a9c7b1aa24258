package figures

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"thresher/internal/plot"
	"thresher/papers"
)

// boundedMETable1 counts what the paper's table 1 bounds.
var boundedMETable1 = &Figure{
	ID: "boundedme-table1", Paper: "BoundedME", Shows: "table 1",
	Title:      "Growth of work with n, N, 1/epsilon and log 1/delta",
	Data:       []string{"none for BoundedME", "N(0,1)"},
	Algorithms: []string{nameBoundedME, OwnExact, OwnCertain, OwnStrict, OwnAdaptive}, Baselines: []string{nameGreedy, nameLSH, namePCA},
	Points: func(s *Settings) []Point {
		var points []Point
		for _, v := range complexityVariables {
			points = append(points, Point{Key: v, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
				return complexityRows(ctx, s, v)
			}})
		}
		for _, n := range s.Ints("baseline_n") {
			for _, d := range s.Ints("baseline_N") {
				points = append(points, Point{Key: fmt.Sprintf("baselines n=%d N=%d", n, d), Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					return baselineComplexityRows(ctx, e, s, n, d)
				}})
			}
		}
		return points
	},
	Charts: func(_ *Settings, rows []Row) []plot.Chart {
		var charts []plot.Chart
		for _, v := range complexityVariables {
			of := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Panel != v })
			if len(of) == 0 {
				continue
			}
			lines := series(of, lineName, xOf, multiplicationsOf)
			bound := series(of, func(*Row) string { return "n sqrt(N log(4/delta))/epsilon" }, xOf, func(r *Row) float64 { return r.Y })
			for i := range bound {
				bound[i].Kind, bound[i].SD = plot.Reference, nil
			}
			charts = append(charts, plot.Chart{Title: "pulls against " + v, XLabel: v, YLabel: "pulls", LogX: true, LogY: true, Series: append(lines, bound...)})
		}
		return charts
	},
	Note: complexityNote,
}

// complexityVariables are the names of the panels, each of which varies one.
var complexityVariables = []string{"n", "N", "1/epsilon", "log(1/delta)"}

// alike are lists whose rewards do not matter: BoundedME's pulls depend on the sizes and the goal alone.
type alike struct{}

func (alike) Add(context.Context, int, int, []int, []float64) error { return nil }

// complexityRows count the pulls of BoundedME along one variable: X is the variable, Y the paper's expression with the constant 1
// and log(4/delta).
func complexityRows(ctx context.Context, s *Settings, variable string) ([]Row, error) {
	type goal struct {
		x              float64
		n, d           int
		epsilon, delta float64
	}
	base := goal{n: s.Int("base_n"), d: s.Int("base_N"), epsilon: s.Float("base_epsilon"), delta: s.Float("base_delta")}
	var goals []goal
	vary := func(x float64, change func(g *goal)) {
		g := base
		g.x = x
		change(&g)
		goals = append(goals, g)
	}
	switch variable {
	case "n":
		for _, n := range s.Ints("n") {
			vary(float64(n), func(g *goal) { g.n = n })
		}
	case "N":
		for _, d := range s.Ints("N") {
			vary(float64(d), func(g *goal) { g.d = d })
		}
	case "1/epsilon":
		for _, epsilon := range s.Floats("epsilon") {
			vary(1/epsilon, func(g *goal) { g.epsilon = epsilon })
		}
	case "log(1/delta)":
		for _, x := range s.Floats("log_delta") {
			vary(x, func(g *goal) { g.delta = math.Exp(-x) })
		}
	}
	var rows []Row
	for _, g := range goals {
		out, err := papers.BoundedMEOfLists(ctx, alike{}, g.n, g.d, papers.BoundedMEOptions{
			K: 1, Delta: g.delta, Epsilon: g.epsilon * float64(g.d), Lo: 0, Hi: 1, Union: papers.Published,
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{
			Panel: variable, Algorithm: nameBoundedME, Variant: papers.Published.String(), N: g.n, D: g.d, K: 1, Draws: 1,
			Setting: fmt.Sprintf("epsilon %.3g, delta %.3g", g.epsilon, g.delta), X: g.x, Multiplications: float64(out.Pulls),
			Y: float64(g.n) * math.Sqrt(float64(g.d)*math.Log(4/g.delta)) / g.epsilon,
		})
	}
	return rows, nil
}

// baselineComplexityRows count queries and preprocessing of the baselines at one size, at one setting each.
func baselineComplexityRows(ctx context.Context, e *Env, s *Settings, n, d int) ([]Row, error) {
	t, err := iidTradeoff(ctx, e, "N(0,1)", n, d, s.Int("baseline_queries"), 1)
	if err != nil {
		return nil, err
	}
	ks, seed := []int{1}, pointSeed(e.Seed, "indexes")
	rows, err := t.lsh(ctx, e, ks, []int{s.Int("a")}, []int{s.Int("b")}, seed)
	if err != nil {
		return nil, err
	}
	greedy, err := t.greedy(ctx, e, ks, []int{max(1, int(s.Float("budget")*float64(n)))})
	if err != nil {
		return nil, err
	}
	pca, err := t.pca(ctx, e, ks, []int{s.Int("depth")}, seed)
	if err != nil {
		return nil, err
	}
	own, err := t.own(ctx, e, ks, .05)
	if err != nil {
		return nil, err
	}
	rows = slices.Concat(rows, greedy, pca, own)
	for i := range rows {
		rows[i].Panel = "baselines"
	}
	return rows, nil
}

// slope is that of log y against log x by least squares over at least two rows; NaN of fewer.
func slope(rows []Row, x, y func(r *Row) float64) float64 {
	var xs, ys []float64
	for i := range rows {
		xs, ys = append(xs, math.Log(x(&rows[i]))), append(ys, math.Log(y(&rows[i])))
	}
	if len(xs) < 2 {
		return math.NaN()
	}
	mx, _ := meanSD(xs)
	my, _ := meanSD(ys)
	sxx, sxy := 0.0, 0.0
	for i := range xs {
		sxx, sxy = sxx+(xs[i]-mx)*(xs[i]-mx), sxy+(xs[i]-mx)*(ys[i]-my)
	}
	return sxy / sxx
}

func multiplicationsOf(r *Row) float64 { return r.Multiplications }
func xOf(r *Row) float64               { return r.X }

// slopesByShare says how pulls grow with a variable where less than a tenth of all rewards is read, about half, and more than
// nine tenths.
func slopesByShare(rows []Row, variable string) string {
	var parts []string
	for _, of := range []struct {
		name   string
		lo, hi float64
	}{{"below 10%", 0, .1}, {"25 to 75%", .25, .75}, {"above 90%", .9, 1.01}} {
		within := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
			share := r.Multiplications / float64(r.N) / float64(r.D)
			return r.Panel != variable || share < of.lo || share > of.hi
		})
		if at := slope(within, xOf, multiplicationsOf); !math.IsNaN(at) {
			parts = append(parts, fmt.Sprintf("%.2f (%s)", math.Abs(at), of.name))
		}
	}
	return strings.Join(parts, ", ")
}

func complexityNote(_ *Settings, rows []Row) Note {
	greatest := 0.0
	for _, r := range rows {
		if r.Algorithm == nameBoundedME {
			greatest = max(greatest, r.Multiplications/r.Y)
		}
	}
	var seen, others []string
	for _, v := range complexityVariables {
		seen = append(seen, v+" "+slopesByShare(rows, v))
	}
	for _, line := range []string{nameGreedy, nameLSH, namePCA} {
		of := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Algorithm != line })
		others = append(others, fmt.Sprintf("%s %.2f and %.2f", line, partial(of, func(r *Row) (int, int) { return r.N, r.D }), partial(of, func(r *Row) (int, int) { return r.D, r.N })))
	}
	return Note{
		Says: "BoundedME takes no preprocessing and O(n sqrt(N)/epsilon sqrt(log 1/delta)); the table gives Greedy-MIPS O(B N), LSH-MIPS O(n N b/2^a) and PCA-MIPS O(n N/2^depth) a query.",
		Seen: fmt.Sprintf("Exponents of the pulls by the share of all rewards read: %s. They never exceed %.1f n sqrt(N log(4/delta))/epsilon. Exponents of the baselines' queries in n and N: %s.",
			strings.Join(seen, "; "), greatest, strings.Join(others, "; ")),
		Why: "A round asks for u/(1 + u/N) rewards, u = 2 log(..)/epsilon^2, of which sqrt(u N)/2 is an upper bound and equal only at u = N: there the exponents are the table's; where little is read the pulls do not depend on N and grow with 1/epsilon^2, where nearly all is read only with N. " +
			"The table leaves out the heap of Greedy-MIPS, N entries at first, and the hashes of LSH-MIPS, a b N; RPT-MIPS is in no figure and is not reproduced.",
		Verdict: InKind, Ours: "exponent in N " + slopesByShare(rows, "N"), Theirs: "1/2 in N, 1 in 1/epsilon, 1/2 in log 1/delta: an upper bound",
	}
}

// partial is the exponent of multiplications in the first of two sizes: the mean, over the values of the second, of the slopes.
func partial(rows []Row, sizes func(r *Row) (varied, fixed int)) float64 {
	by := map[int][]Row{}
	var order []int
	for _, r := range rows {
		_, fixed := sizes(&r)
		if by[fixed] == nil {
			order = append(order, fixed)
		}
		by[fixed] = append(by[fixed], r)
	}
	var slopes []float64
	for _, fixed := range order {
		slopes = append(slopes, slope(by[fixed], func(r *Row) float64 { varied, _ := sizes(r); return float64(varied) }, multiplicationsOf))
	}
	if len(slopes) == 0 {
		return math.NaN()
	}
	mean, _ := meanSD(slopes)
	return mean
}
