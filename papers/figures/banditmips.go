package figures

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"thresher/internal/philox"
	"thresher/internal/plot"
	"thresher/papers"
)

// banditMIPS are the figures and tables of the BanditMIPS paper.
var banditMIPS = []*Figure{banditMIPS9}

// banditMIPS9 is the data set on which the text expects no saving: all atoms have one mean.
var banditMIPS9 = &Figure{
	ID: "banditmips-9", Paper: "BanditMIPS", Shows: "figure 9",
	Title:      "Multiplications against d where all atoms have the same mean",
	Data:       []string{"SymmetricNormal"},
	Algorithms: []string{"BanditMIPS", OwnExact, OwnCertain, OwnAdaptive},
	Points: func(s *Settings) []Point {
		var points []Point
		for _, d := range s.Ints("d") {
			for draw := range s.Int("draws") {
				key := fmt.Sprintf("d=%d draw=%d", d, draw)
				points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					return symmetricNormalRows(ctx, e, s, key, d, draw)
				}})
			}
		}
		return points
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		return []plot.Chart{{
			Title: "SymmetricNormal, n = " + fmt.Sprint(s.Int("n")), XLabel: "d", YLabel: "multiplications of a query", LogX: true, LogY: true,
			Series: series(rows, func(r *Row) string { return r.Algorithm },
				func(r *Row) float64 { return float64(r.D) }, func(r *Row) float64 { return r.Multiplications }),
		}}
	},
	Note: func(s *Settings, rows []Row) Note {
		lo, hi := 0.0, 0.0
		for _, r := range rows {
			if r.Algorithm == "BanditMIPS" {
				share := 100 * r.Multiplications / float64(r.N*r.D)
				if lo == 0 {
					lo = share
				}
				lo, hi = min(lo, share), max(hi, share)
			}
		}
		verdict := Not
		if lo > 99 {
			verdict = Reproduced
		}
		return Note{
			Says:    "Where all atoms have the same mean, BanditMIPS is linear in d.",
			Seen:    fmt.Sprintf("It reads %.1f to %.1f%% of n d.", lo, hi),
			Why:     "The gap of the two best means falls as 1/sqrt(d), so no radius separates them before all is read.",
			Verdict: verdict, Ours: fmt.Sprintf("%.1f to %.1f%% of n d", lo, hi), Theirs: "99.6 to 99.97% of n d",
		}
	},
}

func symmetricNormalRows(ctx context.Context, e *Env, s *Settings, key string, d, draw int) ([]Row, error) {
	n, k, delta := s.Int("n"), s.Int("k"), s.Float("delta")
	seed := pointSeed(e.Seed, key)
	r := rand.New(philox.New(seed, 1<<32))
	vectors, query := make([]float32, n*d), make([]float32, d)
	for _, x := range [][]float32{vectors, query} {
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
	}
	atoms, err := papers.NewMatrix(vectors, n, d)
	if err != nil {
		return nil, err
	}
	arms, err := papers.NewProducts(atoms, query)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	out, err := papers.BanditMIPS(ctx, arms, papers.BanditMIPSOptions{K: k, Delta: delta, Sigma: s.Float("sigma"), Sampling: papers.WithoutReplacement, Seed: seed})
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	scores, err := trueScores(ctx, vectors, d, query)
	if err != nil {
		return nil, err
	}
	slices.Sort(scores)
	right := 0
	for _, id := range out.IDs {
		if reaches(vectors[id*d:(id+1)*d], query, scores[n-k]) {
			right++
		}
	}
	row := Row{
		Algorithm: "BanditMIPS", Variant: "without replacement", Draws: 1, N: n, D: d, K: k, Answers: 1,
		Precision: float64(right) / float64(k), Multiplications: float64(out.Pulls), Wall: took,
	}
	if right < k {
		row.Wrong = 1
	}
	own, err := ownRows(ctx, e, vectors, n, d, query, 1, k, delta)
	if err != nil {
		return nil, err
	}
	rows := append([]Row{row}, own...)
	for i := range rows {
		r := &rows[i]
		r.Point, r.Data, r.Draw, r.X, r.Y = key, "SymmetricNormal", draw, float64(d), r.Multiplications
	}
	return rows, nil
}
