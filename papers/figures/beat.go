package figures

import (
	"context"
	"fmt"
	"slices"

	"thresher/choice/duel"
	"thresher/internal/plot"
)

// beatTheMean are the figures and tables of the Beat-the-Mean paper.
var beatTheMean = []*Figure{beat1, beat2, beatTable1, beatPAC}

const beatPaper = "Beat the Mean Bandit"

// Lines of these figures, as Row.Algorithm has them; duels are Row.Comparisons, N is K.
const (
	beatLine   = "Beat-the-Mean"
	filterLine = "Interleaved Filter"
	// anytimeLine is thresher's own.
	anytimeLine = "thresher anytime"
)

// beatRows runs a duel.Figure of one point on its axis and makes its points rows.
func beatRows(ctx context.Context, e *Env, s *Settings, g *duel.Figure, panel func(*duel.Point) string) ([]Row, error) {
	g.Trials, g.Seed, g.Workers, g.Anytime = s.Int("trials"), e.Seed, e.Threads, true
	g.Progress = func(_ string, done, total int) { e.Progress(done, total) }
	var rows []Row
	err := g.Run(ctx, func(p duel.Point) error {
		name := beatLine
		switch p.Algorithm {
		case duel.InterleavedFilter2:
			name = filterLine
		case duel.Anytime:
			name = anytimeLine
		}
		rows = append(rows, Row{
			Panel: panel(&p), Algorithm: name, Variant: string(p.Radius), Data: p.Setting, N: p.Arms, K: 1,
			Setting: fmt.Sprintf("gamma %g", p.Gamma), X: p.X(), Y: p.Regret, YSD: p.RegretSD,
			Draws: p.Trials, Answers: p.Trials, Wrong: p.Trials - p.Right, Comparisons: p.Duels,
		})
		return nil
	})
	return rows, err
}

// beatName is what a line is called: an algorithm and its radius.
func beatName(r *Row) string {
	if r.Variant == "" {
		return r.Algorithm
	}
	return r.Algorithm + ", " + r.Variant
}

// The names of the lines with their radii.
const (
	beatTight   = beatLine + ", " + string(duel.Tight)
	beatWide    = beatLine + ", " + string(duel.Wide)
	filterTight = filterLine + ", " + string(duel.Tight)
	filterWide  = filterLine + ", " + string(duel.Wide)
)

func beatSeries(rows []Row, panel string) []plot.Series {
	return barred(rows, func(r *Row) string {
		if r.Panel != panel {
			return ""
		}
		return beatName(r)
	})
}

// beatLinesOf returns the lines of a panel by their names.
func beatLinesOf(rows []Row, panel string) map[string]curve {
	lines := map[string]curve{}
	for _, r := range rows {
		if r.Panel == panel {
			lines[beatName(&r)] = append(lines[beatName(&r)], r)
		}
	}
	for _, c := range lines {
		slices.SortStableFunc(c, func(a, b Row) int {
			switch {
			case a.X < b.X:
				return -1
			case a.X > b.X:
				return 1
			}
			return 0
		})
	}
	return lines
}

// beatNoErrors says in how many trials another arm than the best was named.
func beatNoErrors(rows []Row) string {
	wrong, of := map[string]int{}, 0
	for _, r := range rows {
		wrong[r.Algorithm] += r.Wrong
		of = max(of, r.Answers)
	}
	return fmt.Sprintf("Of %d trials a point Beat-the-Mean named another arm than the best in %d in all, the filter in %d and thresher's anytime in %d.", of, wrong[beatLine], wrong[filterLine], wrong[anytimeLine])
}
