package figures

import (
	"context"
	"fmt"

	"thresher/choice/duel"
	"thresher/internal/plot"
)

// Panels of figure 2.
const (
	armsPanel  = "over K"
	gammaPanel = "over gamma"
)

var beat2 = &Figure{
	ID: "beat-2", Paper: beatPaper, Shows: "figure 2",
	Title:      "Regret where strong transitivity is relaxed, over K and over gamma",
	Data:       []string{"gaps of 0.1, between neighbours times gamma"},
	Algorithms: []string{beatLine, filterLine, anytimeLine},
	Lost:       "the values of K and gamma, and all heights",
	Points: func(s *Settings) []Point {
		var points []Point
		for _, k := range s.Ints("K") {
			points = append(points, Point{Key: fmt.Sprintf("K=%d", k), Rows: func(ctx context.Context, e *Env) ([]Row, error) {
				g := &duel.Figure{Number: 2, Panels: []int{0}, Arms: []int{k}}
				return beatRows(ctx, e, s, g, func(*duel.Point) string { return armsPanel })
			}})
		}
		for _, gamma := range s.Floats("gamma") {
			points = append(points, Point{Key: fmt.Sprintf("gamma=%g", gamma), Rows: func(ctx context.Context, e *Env) ([]Row, error) {
				g := &duel.Figure{Number: 2, Panels: []int{1}, Gammas: []float64{gamma}, FixedArms: s.Int("K of all gamma")}
				return beatRows(ctx, e, s, g, func(*duel.Point) string { return gammaPanel })
			}})
		}
		return points
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		return []plot.Chart{
			{Title: "gamma = 1.3", XLabel: "K", YLabel: "regret", LogX: true, LogY: true, Series: beatSeries(rows, armsPanel)},
			{Title: fmt.Sprintf("K = %d", s.Int("K of all gamma")), XLabel: "gamma", YLabel: "regret", LogY: true, Series: beatSeries(rows, gammaPanel)},
		}
	},
	Note: func(s *Settings, rows []Row) Note {
		k, gamma := beatLinesOf(rows, armsPanel), beatLinesOf(rows, gammaPanel)
		beat, wide, tight := k[beatWide], k[filterWide], k[filterTight]
		from, to, factor := gamma[filterWide].jump()
		tightFrom, tightTo, tightFactor := gamma[filterTight].jump()
		peak, end := gamma[filterWide].peak(), gamma[filterWide].last()
		verdict := Not
		if wide.bend() > 1.2 && wide.bend() > beat.bend()+.2 {
			verdict = InKind
			if factor > 2 && from <= 1.3 && to >= 1.1 && peak.X < end.X {
				verdict = Reproduced
			}
		}
		return Note{
			Says: "At gamma 1.3 the regret of Interleaved Filter is super-linear in K, with more variance, and that of Beat-the-Mean linear; over gamma the filter has a phase transition near 1.3 and decreases slightly afterwards.",
			Seen: fmt.Sprintf("With the radius of its own paper the filter's regret grows as K to the %.1f and reaches %s (deviation %s) at K = %d, Beat-the-Mean's as K to the %.1f to %s (%s); over gamma the filter's greatest step is from %g to %g (%.1f times) and it falls from %s at %g to %s at %g, while with the tight radius it grows as K to the %.1f and steps from %g to %g (%.1f times); thresher's anytime, which assumes no transitivity, has %s at the largest K.",
				wide.bend(), short(wide.last().Y), short(wide.last().YSD), wide.last().N, beat.bend(), short(beat.last().Y), short(beat.last().YSD),
				from, to, factor, short(peak.Y), peak.X, short(end.Y), end.X, tight.bend(), tightFrom, tightTo, tightFactor, short(k[anytimeLine].last().Y)),
			Why: "A champion is replaced by its neighbour, which beats it most clearly, so the filter sifts through many champions; footnote 7 gives it the radius (9), with which rounds end early by chance and the next champion is often much better. " +
				beatNoErrors(rows),
			Verdict: verdict,
			Ours:    fmt.Sprintf("K to the %.1f; greatest step of gamma from %g to %g", wide.bend(), from, to),
			Theirs:  "super-linear; near 1.3; heights lost",
		}
	},
}
