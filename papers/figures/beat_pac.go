package figures

import (
	"context"
	"fmt"

	"thresher/choice/duel"
	"thresher/internal/plot"
)

// nLine is the N of equation (8) times K, the order of theorem 2.
const nLine = "K N of (8)"

var beatPAC = &Figure{
	ID: "beat-pac", Paper: beatPaper, Shows: "ours, of algorithm 3 and theorem 2",
	Title:      "Comparisons for an arm within epsilon of the best, against the number of arms",
	Data:       []string{"all gaps alike"},
	Algorithms: []string{beatLine, "knockout", anytimeLine, nLine},
	Points: func(s *Settings) []Point {
		var points []Point
		for _, gap := range s.Floats("gap") {
			for _, k := range s.Ints("K") {
				points = append(points, Point{Key: fmt.Sprintf("K=%d gap=%g", k, gap), Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					return pacRows(ctx, e, s, k, gap)
				}})
			}
		}
		return points
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		var charts []plot.Chart
		for _, gap := range s.Floats("gap") {
			c := plot.Chart{
				Title: fmt.Sprintf("gap %g, epsilon %g, delta %g", gap, s.Float("epsilon"), s.Float("delta")), XLabel: "K", YLabel: "comparisons", LogX: true, LogY: true,
				Series: barred(rows, func(r *Row) string {
					if r.Panel != fmt.Sprintf("gap %g", gap) {
						return ""
					}
					return r.Algorithm
				}),
			}
			for i := range c.Series {
				if c.Series[i].Name == nLine {
					c.Series[i].Kind = plot.Reference
				}
			}
			charts = append(charts, c)
		}
		return charts
	},
	Note: func(s *Settings, rows []Row) Note {
		wrong, trials := map[string]int{}, 0
		var ratio, bound shares
		for _, r := range rows {
			wrong[r.Algorithm] += r.Wrong
			if r.Algorithm != beatLine {
				continue
			}
			trials += r.Answers
			for _, o := range rows {
				if o.Point != r.Point {
					continue
				}
				switch o.Algorithm {
				case anytimeLine:
					ratio = ratio.with(r.Comparisons / o.Comparisons)
				case nLine:
					bound = bound.with(r.Comparisons / o.Comparisons)
				}
			}
		}
		verdict := Not
		if float64(wrong[beatLine]) <= s.Float("delta")*float64(trials) && bound.high <= 1 {
			verdict = Reproduced
		}
		return Note{
			Says: "Beat-the-Mean is (epsilon, delta)-PAC with O(K N) comparisons, N of equation (8); the paper has no experiment.",
			Seen: fmt.Sprintf("It takes %.2f to %.2f of K N comparisons and is wrong in %d of %d trials at delta %g; anytime, which assumes an unbeaten arm alone, takes 1/%.0f to 1/%.0f of them and is wrong in %d, knockout in %d.",
				bound.low, bound.high, wrong[beatLine], trials, s.Float("delta"), ratio.low, ratio.high, wrong[anytimeLine], wrong["knockout"]),
			Why:     "The constant 36 gamma^6 of (8) and the 3 gamma^2 of radius (7) are of the proof; a test that bets on losses needs no union over arms and pairs.",
			Verdict: verdict,
			Ours:    fmt.Sprintf("%.2f to %.2f K N; %d of %d wrong", bound.low, bound.high, wrong[beatLine], trials),
			Theirs:  fmt.Sprintf("O(K N); at most %g of all wrong", s.Float("delta")),
		}
	},
}

// pacRows plays the algorithms that take epsilon and delta with K arms of equal gaps.
func pacRows(ctx context.Context, e *Env, s *Settings, k int, gap float64) ([]Row, error) {
	epsilon, delta, gamma, trials := s.Float("epsilon"), s.Float("delta"), s.Float("gamma"), s.Int("trials")
	row := Row{Panel: fmt.Sprintf("gap %g", gap), Data: "all gaps alike", N: k, K: 1, X: float64(k), Setting: fmt.Sprintf("epsilon %g, delta %g", epsilon, delta)}
	var rows []Row
	for i, d := range []duel.Design{
		{Algorithm: duel.BeatTheMean, Gamma: gamma, Epsilon: epsilon, Delta: delta},
		{Algorithm: duel.Knockout, Gamma: gamma, Epsilon: epsilon, Delta: delta},
		{Algorithm: duel.Anytime, Epsilon: epsilon, Delta: delta},
	} {
		sim := &duel.Simulation{
			Design: d, Arms: k, Model: duel.Always(duel.Constant(k, gap)), Trials: trials, Seed: e.Seed, Workers: e.Threads,
			Progress: func(done, total int) { e.Progress(i*total+done, 3*total) },
		}
		p, err := sim.Play(ctx)
		if err != nil {
			return nil, err
		}
		r := row
		r.Algorithm = string(d.Algorithm)
		switch d.Algorithm {
		case duel.BeatTheMean:
			r.Algorithm = beatLine
		case duel.Anytime:
			r.Algorithm = anytimeLine
		}
		r.Y, r.YSD, r.Comparisons = p.Duels, p.DuelsSD, p.Duels
		r.Draws, r.Answers, r.Wrong, r.Precision = trials, trials, trials-p.Near, float64(p.Best)/float64(trials)
		rows = append(rows, r)
	}
	n, err := duel.Comparisons(k, gamma, epsilon, delta)
	if err != nil {
		return nil, err
	}
	row.Algorithm, row.Y, row.Comparisons = nLine, float64(k)*float64(n), float64(k)*float64(n)
	return append(rows, row), nil
}
