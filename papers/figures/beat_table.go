package figures

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"thresher/choice/duel"
)

// Panels of table 1.
const (
	entriesPanel = "P(row > column) - 1/2"
	checksPanel  = "what the table holds"
	playPanel    = "played"
)

var beatTable1 = &Figure{
	ID: "beat-table1", Paper: beatPaper, Shows: "table 1",
	Title:      "Preferences among six rankers of arXiv's search, and how all algorithms do on them",
	Data:       []string{"table 1 as printed"},
	Algorithms: beatTableAlgorithms(),
	Points: func(s *Settings) []Point {
		points := []Point{{Key: "checks", Rows: func(context.Context, *Env) ([]Row, error) { return transitivityRows(duel.ArXiv()), nil }}}
		for _, d := range duel.ArXivDesigns() {
			points = append(points, Point{Key: string(d.Algorithm), Rows: func(ctx context.Context, e *Env) ([]Row, error) {
				table := duel.ArXiv()
				sim := &duel.Simulation{Design: d, Arms: table.Arms(), Model: duel.Always(table), Trials: s.Int("trials"), Seed: e.Seed, Workers: e.Threads, Progress: e.Progress}
				p, err := sim.Play(ctx)
				if err != nil {
					return nil, err
				}
				setting := fmt.Sprintf("epsilon %g, delta %g", d.Epsilon, d.Delta)
				if d.Delta == 0 {
					setting = fmt.Sprintf("horizon %d", d.Horizon)
				}
				return []Row{{
					Panel: playPanel, Algorithm: string(d.Algorithm), Data: "table 1", N: table.Arms(), K: 1, Setting: setting, Y: p.Duels, YSD: p.DuelsSD,
					Draws: p.Trials, Answers: p.Trials, Wrong: p.Trials - p.Near, Precision: float64(p.Best) / float64(p.Trials), Comparisons: p.Duels,
				}}, nil
			}})
		}
		return points
	},
	Note: func(_ *Settings, rows []Row) Note {
		var gamma, worst Row
		var broken []string
		for _, r := range rows {
			switch {
			case r.Panel != checksPanel:
			case r.Algorithm == relaxedCheck:
				gamma = r
			default:
				broken = append(broken, r.Setting)
				if r.Y > worst.Y {
					worst = r
				}
			}
		}
		by := func(name duel.Algorithm) (r Row) {
			if i := slices.IndexFunc(rows, func(r Row) bool { return r.Panel == playPanel && r.Algorithm == string(name) }); i >= 0 {
				r = rows[i]
			}
			return r
		}
		beat, anytime := by(duel.BeatTheMean), by(duel.Anytime)
		verdict := Not
		if math.Abs(gamma.Y-1.5) < 1e-9 && gamma.Setting == "A, B, D" {
			verdict = InKind // what the text says of the triangle inequality does not hold
		}
		return Note{
			Says: "The preferences follow a total order, relaxed transitivity with gamma = 1.5 (due to A, B, D), and the triangle inequality.",
			Seen: fmt.Sprintf("Gamma is %.4g by %s; the triangle inequality does not hold in %d of %d triples with A, most in %s, by %.2f. Played, Beat-the-Mean takes %s judgments and names A in %.0f%% of %d trials, anytime %s and %.0f%%.",
				gamma.Y, gamma.Setting, len(broken), triples(duel.ArXiv().Arms()), worst.Setting, worst.Y, short(beat.Comparisons), 100*beat.Precision, beat.Draws, short(anytime.Comparisons), 100*anytime.Precision),
			Why: fmt.Sprintf("As printed, with two digits, A beats F by .11 but D by .04, and D and F are even (triples: %s); the entries are rounded estimates, D and F have no order, and algorithms that assume one name A all the same.",
				strings.Join(broken, "; ")),
			Verdict: verdict,
			Ours:    fmt.Sprintf("gamma %.4g by %s; triangle inequality broken by %s", gamma.Y, gamma.Setting, worst.Setting),
			Theirs:  "gamma 1.5 by A, B, D; triangle inequality holds",
		}
	},
}

// Checks of table 1, as Row.Algorithm has them: Y is the least gamma, or the excess over the triangle inequality.
const (
	relaxedCheck  = "relaxed transitivity"
	triangleCheck = "triangle inequality broken"
)

func beatTableAlgorithms() []string {
	var names []string
	for _, d := range duel.ArXivDesigns() {
		names = append(names, string(d.Algorithm))
	}
	return names
}

// triples is the number of pairs j < k of arms after the first.
func triples(arms int) int { return (arms - 1) * (arms - 2) / 2 }

// transitivityRows are the entries of the table, the gamma that it needs, and the triples that break the triangle
// inequality.
func transitivityRows(f *duel.Preferences) []Row {
	names := duel.ArXivRankers()
	var rows []Row
	for i := range names {
		for j := range names {
			rows = append(rows, Row{Panel: entriesPanel, Data: "table 1", N: f.Arms(), Setting: names[i] + ", " + names[j], Y: math.Round(100*(f.At(i, j)-.5)) / 100})
		}
	}
	of := func(j, k int) string { return strings.Join([]string{names[0], names[j], names[k]}, ", ") }
	t := f.Transitivity()
	rows = append(rows, Row{Panel: checksPanel, Algorithm: relaxedCheck, Data: "table 1", N: f.Arms(), Setting: of(t.GammaBy[0], t.GammaBy[1]), Y: t.Gamma})
	for j := 1; j < f.Arms(); j++ {
		for k := j + 1; k < f.Arms(); k++ {
			if excess := f.At(0, k) - f.At(0, j) - f.At(j, k) + .5; excess > 1e-9 {
				rows = append(rows, Row{Panel: checksPanel, Algorithm: triangleCheck, Data: "table 1", N: f.Arms(), Setting: of(j, k), Y: math.Round(1e6*excess) / 1e6})
			}
		}
	}
	return rows
}
