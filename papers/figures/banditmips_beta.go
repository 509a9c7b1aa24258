package figures

import (
	"context"
	"fmt"
	"math"

	"thresher/internal/plot"
	"thresher/papers"
	"thresher/papers/baseline"
	"thresher/papers/data"
)

const (
	nameBeta       = "BanditMIPS-beta"
	variantOptimal = "optimal weights"
)

// banditMIPSBeta is sampling by weights of sections 3.1 and 4, of which the paper shows only the limit, alpha.
var banditMIPSBeta = &Figure{
	ID: "banditmips-beta", Paper: "BanditMIPS", Shows: "ours, section 4",
	Title:      "Coordinates drawn by weights: variance and multiplications against beta",
	Data:       []string{"power-law spectrum"},
	Algorithms: []string{nameBeta, nameBanditMIPS, nameAlpha, OwnExact, OwnCertain, OwnStrict, OwnAdaptive},
	Lost:       "The paper has no experiment with a finite beta.",
	Points: func(s *Settings) []Point {
		var points []Point
		for _, power := range s.Floats("power") {
			for draw := range s.Int("draws") {
				key := fmt.Sprintf("power=%g draw=%d", power, draw)
				points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					return betaRows(ctx, e, s, key, power, draw)
				}})
			}
		}
		return points
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		var charts []plot.Chart
		for _, power := range s.Floats("power") {
			name := spectrumName(power)
			of := ofData(rows, name)
			weighted := ofLine(of, nameBeta, "")
			lo, hi := 0.0, 0.0
			for _, b := range s.Floats("beta") {
				hi = max(hi, b)
			}
			level := func(name string, kind plot.Kind, rows []Row, y func(r *Row) float64) plot.Series {
				sum := 0.0
				for i := range rows {
					sum += y(&rows[i]) / float64(len(rows))
				}
				return plot.Series{Name: name, Kind: kind, X: []float64{lo, hi}, Mean: []float64{sum, sum}}
			}
			optimal := ofLine(of, nameBeta, variantOptimal)
			if len(weighted) == 0 || len(optimal) == 0 {
				continue
			}
			variance := plot.Chart{Title: name + ": sum over atoms of E X^2", XLabel: "beta", YLabel: "second moment", LogY: true,
				Series: series(weighted, func(*Row) string { return "weights |q|^(2 beta)" }, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Y })}
			variance.Series = append(variance.Series, level("weights of theorem 2", plot.Reference, optimal, func(r *Row) float64 { return r.Y }))
			pulls := plot.Chart{Title: name + ": multiplications", XLabel: "beta", YLabel: "multiplications of a query", LogY: true,
				Series: series(weighted, func(*Row) string { return "weights |q|^(2 beta)" }, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Multiplications })}
			multiplications := func(r *Row) float64 { return r.Multiplications }
			pulls.Series = append(pulls.Series, level("weights of theorem 2", plot.Reference, optimal, multiplications),
				level("alpha", plot.Line, ofLine(of, nameAlpha, variantText), multiplications))
			for _, own := range ownMethods() {
				if rows := ofLine(of, own, ""); len(rows) > 0 {
					pulls.Series = append(pulls.Series, level(own, plot.Line, rows, multiplications))
				}
			}
			charts = append(charts, variance, pulls)
		}
		return charts
	},
	Note: noteBeta,
}

func spectrumName(power float64) string { return fmt.Sprintf("power-law spectrum, power %g", power) }

func betaRows(ctx context.Context, e *Env, s *Settings, key string, power float64, draw int) ([]Row, error) {
	n, d, k, delta := s.Int("n"), s.Int("d"), s.Int("k"), s.Float("delta")
	seed := pointSeed(e.Seed, key)
	set := data.Spectrum(n, d, 1, power, drawSeed(e, "spectrum", draw))
	set.Name = spectrumName(power)
	t, err := newContest(ctx, e, set, k)
	if err != nil {
		return nil, err
	}
	products, err := papers.NewProducts(t.columnMajor(), t.queries[0])
	if err != nil {
		return nil, err
	}
	optimal, reads, err := papers.OptimalWeights(ctx, products)
	if err != nil {
		return nil, err
	}
	type choice struct {
		variant string
		beta    float64
		weights []float64
		reads   int64 // to compute them
	}
	choices := []choice{{variantOptimal, 0, optimal, reads}}
	for _, beta := range s.Floats("beta") {
		w, err := papers.BetaWeights(t.queries[0], beta)
		if err != nil {
			return nil, err
		}
		choices = append(choices, choice{"", beta, w, 0})
	}
	var rows []Row
	for _, c := range choices {
		sigma, pulls, err := papers.SubGaussianSigma(ctx, products, c.weights, 0, seed)
		if err != nil {
			return nil, err
		}
		moment, err := secondMoment(ctx, products, c.weights)
		if err != nil {
			return nil, err
		}
		m := method{
			algorithm: nameBeta, variant: c.variant, setting: fmt.Sprintf("beta %g, sigma %.3g, delta %g", c.beta, sigma, delta), preprocessing: float64(pulls + c.reads),
			search: func(ctx context.Context, _ int, _ []float32, k int) ([]int, baseline.Effort, error) {
				out, err := papers.BanditMIPSBeta(ctx, products, c.weights, papers.BanditMIPSOptions{K: k, Delta: delta, Sigma: sigma, Seed: seed})
				return out.IDs, baseline.Effort{Multiplications: out.Pulls}, err
			},
		}
		if c.variant == variantOptimal {
			m.setting = fmt.Sprintf("sigma %.3g, delta %g", sigma, delta)
		}
		found, err := t.rows(ctx, e, []int{k}, []method{m})
		if err != nil {
			return nil, err
		}
		found[0].X, found[0].Y = c.beta, moment
		rows = append(rows, found...)
	}
	sigmas, multiplications, err := t.trueSigmas(ctx, e, seed)
	if err != nil {
		return nil, err
	}
	others, err := t.rows(ctx, e, []int{k}, []method{t.textTrue(sigmas, multiplications, delta, seed), t.alpha(sigmas[0], delta)})
	if err != nil {
		return nil, err
	}
	if draw == 0 {
		own, err := t.own(ctx, e, []int{k}, delta)
		if err != nil {
			return nil, err
		}
		others = append(others, own...)
	}
	for i := range others {
		others[i].X, others[i].Y = 0, 0
	}
	rows = append(rows, others...)
	gap := t.gap()
	for i := range rows {
		r := &rows[i]
		r.Point, r.Data, r.Draw, r.Gap = key, set.Name, draw, gap
	}
	return rows, nil
}

// secondMoment is the sum over atoms of E X^2, equation 5 of the paper: with weights w_j the sum of f(i,j)^2 / (d^2 w_j).
func secondMoment(ctx context.Context, arms papers.Arms, weights []float64) (float64, error) {
	n, d := arms.Len(), arms.Dim()
	all, column := make([]int, n), make([]float64, n)
	for i := range all {
		all[i] = i
	}
	sum := 0.0
	for j, w := range weights {
		if j%4096 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if w == 0 {
			continue
		}
		arms.Pull(j, all, column)
		for _, x := range column {
			sum += x * x / (float64(d) * float64(d) * w)
		}
	}
	return sum, nil
}

func noteBeta(s *Settings, rows []Row) Note {
	note := Note{
		Says:    "The weights sqrt(q_j^2 sum_i v_ij^2) minimise the combined variance (theorem 2), and drawing by |q_j|^(2 beta) \"will only accelerate the algorithm\"; beta = 1 is said to be theorem 2's weights.",
		Why:     "Atoms whose coordinates do not grow with the query's make theorem 2's weights |q_j|, beta = 1/2; beta = 1 would need v_ij as large as q_j. Beyond it small weights make rare rewards huge, so sigma, and with it everything, grows. Every sigma is the true one of its weighted rewards; alpha has that of uniform draws, as in the paper, and no guarantee.",
		Verdict: InKind, Theirs: "theorem 2; no figure",
	}
	seen := ""
	for _, power := range s.Floats("power") {
		of := ofData(rows, spectrumName(power))
		least, most, at, moment, bound := math.Inf(1), 0.0, 0.0, math.Inf(1), 0.0
		atMoment := 0.0
		for _, beta := range s.Floats("beta") {
			var line []Row
			sum := 0.0
			for _, r := range ofLine(of, nameBeta, "") {
				if r.X == beta {
					line, sum = append(line, r), sum+r.Y
				}
			}
			mean, count := meanAt(line, beta)
			if count == 0 {
				continue
			}
			if mean < least {
				least, at = mean, beta
			}
			if sum/float64(count) < moment {
				moment, atMoment = sum/float64(count), beta
			}
			most = max(most, mean)
		}
		optimal := ofLine(of, nameBeta, variantOptimal)
		for _, r := range optimal {
			bound += r.Y / float64(len(optimal))
		}
		best, _ := meanAt(optimal, 0)
		alpha, _ := meanAt(ofLine(of, nameAlpha, variantText), 0)
		wrong, answers := wrongOf(ofLine(of, nameAlpha, variantText))
		if seen != "" {
			seen += "; "
		}
		seen += fmt.Sprintf("power %g: the second moment is least at beta %g, %.3f times theorem 2's, multiplications at beta %g (%s, the worst of them %s; theorem 2's weights %s, alpha %s and wrong in %d of %d)",
			power, atMoment, moment/bound, at, short(least), short(most), short(best), short(alpha), wrong, answers)
		note.Ours = fmt.Sprintf("at power %g best beta %g for the moment, %g for multiplications", power, atMoment, at)
	}
	note.Seen = seen + "."
	return note
}
