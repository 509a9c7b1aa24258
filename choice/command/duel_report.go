package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/plot"
)

type duelReportFlags struct {
	state, wins, out string
	json, force      bool
}

func newDuelReportCommand(a *app) *cobra.Command {
	f := &duelReportFlags{}
	cmd := &cobra.Command{
		Use:   "report (--state FILE | --wins FILE) [--out FILE.png]",
		Short: "Show who beats whom: strengths with intervals, and a picture",
		Long: `Estimate the strength of each arm from how often it won against each other, and draw a
picture of who beats whom. A strength is that of the model of Bradley and Terry: an arm
wins with probability 1/(1 + exp(-d)) against one that is weaker by d. The intervals hold
for 95% of the estimates if the counts were fixed in advance; tournaments choose their
duels by results, which makes them approximate. Strengths do not show circles; the
picture does.

--state is the file of a tournament of duel rank or duel run (by anytime or
double-thompson; others keep no counts of pairs). --wins is a matrix of counts, .csv or
.json, of how often the arm of the row won against that of the column:
  ,a,b        {"arms":["a","b"],
  a,0,7        "wins":[[0,7],
  b,3,0                [3,0]]}`,
		Example: `  thresher duel report --state rankers.txt.duel --out rankers.png
  thresher duel report --wins counts.csv --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.reportDuels(f); err != nil {
				return fmt.Errorf("duel report: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&f.state, "state", "", "`file` of a tournament")
	cmd.Flags().StringVar(&f.wins, "wins", "", "`file` of counts")
	cmd.Flags().StringVar(&f.out, "out", "", "picture to draw, a `file` that ends in .png or .svg")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	cmd.Flags().BoolVar(&f.force, "overwrite", false, "overwrite the picture")
	return cmd
}

// comparisons are counts of named arms in the order of a report.
type comparisons struct {
	Arms      []string         `json:"arms"`
	Wins      [][]int64        `json:"wins"` // [i][j]: of i against j
	Strengths []*duel.Strength `json:"strengths"`
	Separated bool             `json:"separated"`
}

func (a *app) reportDuels(f *duelReportFlags) error {
	if (f.state == "") == (f.wins == "") {
		return errors.New("give one of --state and --wins")
	}
	if f.out != "" && !plot.Drawn(f.out) {
		return fmt.Errorf("--out %s: pictures end in .png or .svg", f.out)
	}
	if f.out != "" {
		if err := refuseOutputs(f.force, []string{f.out}); err != nil {
			return err
		}
	}
	c, err := f.read()
	if err != nil {
		return err
	}
	if err := c.estimate(); err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(f.wins, f.state), err)
	}
	if f.out != "" {
		if len(c.Arms) > plot.MaxArms {
			return fmt.Errorf("--out %s: %d arms; a picture has at most %d", f.out, len(c.Arms), plot.MaxArms)
		}
		if err := plot.WriteGrid(f.out, plot.Grid{Title: "share of duels that the row won against the column", Names: c.Arms, Wins: c.Wins}); err != nil {
			return err
		}
	}
	if f.json {
		return json.NewEncoder(a.Out).Encode(c)
	}
	return a.printComparisons(c)
}

// read returns the counts, in the order of a ranking if there is one.
func (f *duelReportFlags) read() (*comparisons, error) {
	if f.wins != "" {
		c, err := readWins(f.wins)
		if err != nil {
			return nil, fmt.Errorf("--wins: %w", err)
		}
		return c, nil
	}
	saved, err := os.ReadFile(f.state)
	if err != nil {
		return nil, err
	}
	t, _, err := restoreTournament(saved)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.state, err)
	}
	wins := t.Wins()
	if wins == nil {
		return nil, fmt.Errorf("%s: is a tournament by %s, which keeps no counts of pairs", f.state, t.Config().Algorithm)
	}
	return &comparisons{Arms: t.names, Wins: wins}, nil
}

// readWins reads counts in the form of a matrix of probabilities.
func readWins(path string) (*comparisons, error) {
	m, err := parseMatrix(path)
	if err != nil {
		return nil, err
	}
	c := &comparisons{Arms: m.names}
	for i, row := range m.chance {
		if row == nil {
			return nil, fmt.Errorf("%s: column %q has no row of its name", path, m.names[i])
		}
		counts := make([]int64, len(row))
		for j, w := range row {
			switch {
			case !(w >= 0 && w <= 1<<53) || w != math.Trunc(w):
				return nil, fmt.Errorf("%s: row %q, column %q: %g is not a count from 0 to 2^53", path, m.names[i], m.names[j], w)
			case i == j && w != 0:
				return nil, fmt.Errorf("%s: row %q, column %q: %g wins of an arm against itself; write 0", path, m.names[i], m.names[j], w)
			}
			counts[j] = int64(w)
		}
		c.Wins = append(c.Wins, counts)
	}
	return c, nil
}

// estimate adds strengths and puts the strongest arm first.
func (c *comparisons) estimate() error {
	s, err := duel.BradleyTerry(c.Wins)
	if err != nil {
		return err
	}
	order := make([]int, len(c.Arms))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(s.Arms[j].Estimate, s.Arms[i].Estimate)
	})
	sorted := comparisons{Separated: s.Separated}
	for _, i := range order {
		row := make([]int64, len(order))
		for at, j := range order {
			row[at] = c.Wins[i][j]
		}
		sorted.Arms, sorted.Wins, sorted.Strengths = append(sorted.Arms, c.Arms[i]), append(sorted.Wins, row), append(sorted.Strengths, &s.Arms[i])
	}
	*c = sorted
	return nil
}

func (a *app) printComparisons(c *comparisons) error {
	w := cli.NewTable(a.Out)
	w.Row("ARM", "STRENGTH", "ERROR", "95%", "WINS", "DUELS", "RATE")
	for i, name := range c.Arms {
		var won, lost int64
		for j := range c.Arms {
			won += c.Wins[i][j]
			lost += c.Wins[j][i]
		}
		rate := "-"
		if won+lost > 0 {
			rate = fmt.Sprintf("%.3f", float64(won)/float64(won+lost))
		}
		x := c.Strengths[i]
		w.Row(name, fmt.Sprintf("%+.3f", x.Estimate), fmt.Sprintf("%.3f", x.Error), fmt.Sprintf("[%+.3f, %+.3f]", x.Low, x.High), won, won+lost, rate)
	}
	return errors.Join(w.Flush(), a.noteSeparated(&duel.Strengths{Separated: c.Separated}))
}
