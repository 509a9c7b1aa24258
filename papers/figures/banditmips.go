package figures

import (
	"context"
	"fmt"
	"math"

	"thresher/internal/plot"
	"thresher/papers"
	"thresher/papers/data"
)

// banditMIPS are the figures and tables of the BanditMIPS paper.
var banditMIPS = []*Figure{
	banditMIPS1, banditMIPS2, banditMIPS3, banditMIPS4, banditMIPS5, banditMIPS6, banditMIPS7, banditMIPS8, banditMIPS9,
	banditMIPSWarm, banditMIPSBeta,
}

// banditMIPS9 is the data set on which the text expects no saving: all atoms have one mean.
var banditMIPS9 = &Figure{
	ID: "banditmips-9", Paper: "BanditMIPS", Shows: "figure 9",
	Title:      "Multiplications against d where all atoms have the same mean",
	Data:       []string{"SymmetricNormal"},
	Algorithms: []string{nameBanditMIPS, OwnExact, OwnCertain, OwnStrict, OwnAdaptive},
	Points: func(s *Settings) []Point {
		var points []Point
		for _, d := range s.Ints("d") {
			for draw := range s.Int("draws") {
				key := fmt.Sprintf("d=%d draw=%d", d, draw)
				points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					return symmetricRows(ctx, e, s, key, d, draw)
				}})
			}
		}
		return points
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		c := plot.Chart{
			Title: fmt.Sprintf("SymmetricNormal, n = %d", s.Int("n")), XLabel: "d", YLabel: "multiplications of a query", LogX: true, LogY: true,
			Series: series(rows, lineName, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Multiplications }),
		}
		c.Series = append(c.Series, publishedLines(mustLogged("banditmips-9"), "SymmetricNormal", func(string) bool { return true },
			func(l *logged) float64 { return float64(l.d) }, func(l *logged) float64 { return l.multiplications })...)
		return []plot.Chart{c, wallChart(rows, "Time of a query")}
	},
	Note: func(_ *Settings, rows []Row) Note {
		share := func(variant string) (lo, hi float64) {
			lo, hi = math.Inf(1), 0
			for _, r := range ofLine(rows, nameBanditMIPS, variant) {
				x := 100 * r.Multiplications / float64(r.N*r.D)
				lo, hi = min(lo, x), max(hi, x)
			}
			return lo, hi
		}
		lo, hi := share(variantAsRun)
		textLo, textHi := share(variantText)
		slope, half := exponent(ofLine(rows, nameBanditMIPS, variantAsRun))
		own, _ := meanAt(ofLine(rows, OwnAdaptive, ""), maxX(rows))
		all, _ := meanAt(ofLine(rows, OwnExact, ""), maxX(rows))
		verdict := Not
		if lo > 99 {
			verdict = Reproduced
		}
		return Note{
			Says: "Where all atoms have the same mean, BanditMIPS is linear in d.",
			Seen: fmt.Sprintf("The authors' program reads %.2f to %.2f%% of n d, exponent %.3f +- %.3f; the text's algorithm, which draws with replacement and then reads the survivors, %.0f to %.0f%%; thresher adaptive reads %.0f%% of what exact does at the largest d.",
				lo, hi, slope, half, textLo, textHi, 100*own/max(1, all)),
			Why:     "The gap of the two best means falls as 1/sqrt(d), so no radius separates them before all is read.",
			Verdict: verdict, Ours: fmt.Sprintf("%.2f to %.2f%% of n d", lo, hi), Theirs: "99.63 to 99.97% of n d",
		}
	},
}

func symmetricRows(ctx context.Context, e *Env, s *Settings, key string, d, draw int) ([]Row, error) {
	k, delta, seed := s.Int("k"), s.Float("delta"), pointSeed(e.Seed, key)
	t, err := newContest(ctx, e, data.Symmetric(s.Int("n"), d, 1, drawSeed(e, "SymmetricNormal", draw)), k)
	if err != nil {
		return nil, err
	}
	whole := t.bandit(nameBanditMIPS, "without replacement", fmt.Sprintf("sigma %g, delta %g", s.Float("sigma"), delta),
		func(ctx context.Context, q int, arms papers.Arms, _ []float32, k int) (papers.Outcome, error) {
			return papers.BanditMIPS(ctx, arms, papers.BanditMIPSOptions{K: k, Delta: delta, Sigma: s.Float("sigma"), Sampling: papers.WithoutReplacement, Seed: seed})
		})
	rows, err := t.rows(ctx, e, []int{k}, []method{
		t.text(s.Float("sigma"), delta, seed), whole, t.asRun(s.Float("sigma asrun"), s.Float("delta asrun"), s.Float("epsilon"), seed),
	})
	if err != nil {
		return nil, err
	}
	if draw == 0 {
		own, err := t.own(ctx, e, []int{k}, delta)
		if err != nil {
			return nil, err
		}
		rows = append(rows, own...)
	}
	return scaling(rows, t, key, draw, float64(d)), nil
}
