package command

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

// tableRow is what an algorithm makes of table 1.
type tableRow struct {
	Algorithm duel.Algorithm `json:"algorithm"`
	Goal      duel.Goal      `json:"goal"`
	Assumes   string         `json:"assumes"`
	Judgments float64        `json:"judgments"` // mean
	Right     int            `json:"right"`     // of the trials
}

// simulateTable prints table 1 of the paper, checks its assumptions, and plays it.
func (a *app) simulateTable(cmd *cobra.Command, f *duelSimulateFlags) error {
	for _, flag := range []string{"figure", "arms", "gammas", "fixed-arms", "filter-radius", "out", "overwrite"} {
		if cmd.Flags().Changed(flag) {
			return fmt.Errorf("duel simulate: --%s does not apply to --table", flag)
		}
	}
	if f.table != 1 {
		return fmt.Errorf("duel simulate: --table %d; there is 1 only", f.table)
	}
	table := duel.ArXiv()
	var rows []tableRow
	stages := a.NewStages()
	defer stages.End()
	for _, d := range duel.ArXivDesigns() {
		s := duel.Simulation{
			Design: d, Arms: table.Arms(), Model: duel.Always(table), Trials: f.trials, Seed: a.Config.Seed, Workers: a.Config.Threads,
			Progress: func(done, total int) { stages.Set(string(d.Algorithm), int64(done), int64(total)) },
		}
		played, err := s.Play(cmd.Context())
		if err != nil {
			return err
		}
		row := tableRow{Algorithm: d.Algorithm, Goal: duel.Online, Assumes: d.Algorithm.Assumes(), Judgments: played.Duels, Right: played.Near}
		if d.Delta > 0 {
			row.Goal = duel.PAC
		}
		rows = append(rows, row)
	}
	stages.End()
	if f.json {
		return json.NewEncoder(a.Out).Encode(struct {
			Arms       []string          `json:"arms"`
			Gaps       [][]float64       `json:"eps"`
			Check      duel.Transitivity `json:"transitivity"`
			Trials     int               `json:"trials"`
			Algorithms []tableRow        `json:"algorithms"`
		}{duel.ArXivRankers(), tableGaps(table), table.Transitivity(), f.trials, rows})
	}
	return a.printTable(table, f.trials, rows)
}

// tableGaps are P(row > column) - 1/2, to the two digits that the paper has.
func tableGaps(f *duel.Preferences) [][]float64 {
	gaps := make([][]float64, f.Arms())
	for i := range gaps {
		for j := range gaps {
			gaps[i] = append(gaps[i], math.Round(100*(f.At(i, j)-.5))/100)
		}
	}
	return gaps
}

func (a *app) printTable(f *duel.Preferences, trials int, rows []tableRow) error {
	names := duel.ArXivRankers()
	fmt.Fprint(a.Out, "P(row > column) - 1/2 for six rankers of arXiv's search\n\n")
	w := cli.NewTable(a.Out)
	w.Row(anys(append([]string{""}, names...))...)
	for i, row := range tableGaps(f) {
		cells := []string{names[i]}
		for _, x := range row {
			cells = append(cells, fmt.Sprintf("%.2f", x))
		}
		w.Row(anys(cells)...)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	t := f.Transitivity()
	fmt.Fprintf(a.Out, "\nrelaxed transitivity: gamma = %.4g, by A, %s and %s\n", t.Gamma, names[t.GammaBy[0]], names[t.GammaBy[1]])
	j, k := t.ExcessBy[0], t.ExcessBy[1]
	holds := "holds"
	if t.Excess > 1e-9 {
		holds = "does not hold"
	}
	fmt.Fprintf(a.Out, "triangle inequality:  %s; closest or worst are A, %s and %s: %.2f and %.2f + %.2f\n\n",
		holds, names[j], names[k], f.At(0, k)-.5, f.At(0, j)-.5, f.At(j, k)-.5)
	w = cli.NewTable(a.Out)
	w.Row("ALGORITHM", "GOAL", "JUDGMENTS", "RIGHT", "ASSUMES")
	for _, r := range rows {
		goal := fmt.Sprintf("epsilon %g, delta %g", duel.ArXivEpsilon, duel.ArXivDelta)
		if r.Goal == duel.Online {
			goal = fmt.Sprintf("horizon %d", duel.ArXivHorizon)
		}
		w.Row(r.Algorithm, goal, fmt.Sprintf("%.0f", r.Judgments), share(r.Right, trials), r.Assumes)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "\nRight is the share of %d tournaments whose winner is A; of rank, whose later arms beat earlier ones by at most epsilon.\n", trials)
	return err
}

// anys returns the cells of a row.
func anys(text []string) []any {
	cells := make([]any, 0, len(text))
	for _, x := range text {
		cells = append(cells, x)
	}
	return cells
}
