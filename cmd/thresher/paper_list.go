package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
	"thresher/papers/figures"
)

func newPaperListCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the figures and tables, and what a run of each takes",
		Long: `List the figures and tables that paper run reproduces. Beside each are the data, the
algorithms and baselines, what the paper's text does not give, and the processor time
and memory that runs took where they were measured, on machines busy with other work,
which takes longer.`,
		Example: `  thresher paper list
  thresher paper list --json`,
		Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error { return a.listFigures(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	return cmd
}

// paperFigure is an object of paper list --json.
type paperFigure struct {
	ID         string        `json:"id"`
	Paper      string        `json:"paper"`
	Shows      string        `json:"shows"`
	Title      string        `json:"title"`
	Data       []string      `json:"data"`
	Needs      []string      `json:"needs"` // folders of data
	Algorithms []string      `json:"algorithms"`
	Baselines  []string      `json:"baselines"`
	Lost       string        `json:"lost"`
	Full       *figures.Cost `json:"full"` // null: not measured
	Quick      *figures.Cost `json:"quick"`
}

func (a *app) listFigures(asJSON bool) error {
	var all []paperFigure
	for _, f := range figures.All() {
		one := paperFigure{
			ID: f.ID, Paper: f.Paper, Shows: f.Shows, Title: f.Title, Data: f.Data, Needs: append([]string{}, f.Needs...),
			Algorithms: f.Algorithms, Baselines: append([]string{}, f.Baselines...), Lost: f.Lost,
		}
		var err error
		if one.Full, err = figures.CostOf(f.ID, figures.Full); err != nil {
			return err
		}
		if one.Quick, err = figures.CostOf(f.ID, figures.Quick); err != nil {
			return err
		}
		all = append(all, one)
	}
	if asJSON {
		text, err := json.MarshalIndent(map[string]any{"figures": all}, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "%s\n", text)
		return err
	}
	t := cli.NewTable(a.Out)
	t.Row("id", "of", "quick", "full")
	for _, f := range all {
		t.Row(f.ID, f.Paper+", "+f.Shows, costText(f.Quick), costText(f.Full))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, f := range all {
		fmt.Fprintf(a.Out, "\n%s: %s\n", f.ID, f.Title)
		for _, part := range []struct{ name, text string }{
			{"data", strings.Join(f.Data, ", ")}, {"needs", strings.Join(f.Needs, ", ")}, {"algorithms", strings.Join(f.Algorithms, ", ")},
			{"baselines", strings.Join(f.Baselines, ", ")}, {"lost", f.Lost},
		} {
			if part.text != "" {
				fmt.Fprintf(a.Out, "  %s: %s\n", part.name, part.text)
			}
		}
	}
	return nil
}

// costText is a cost for people, such as "3 s, 120 MiB".
func costText(c *figures.Cost) string {
	if c == nil {
		return "-"
	}
	text := fmt.Sprintf("%.0f min", c.Seconds/60)
	if c.Seconds < 100 {
		text = fmt.Sprintf("%.2g s", c.Seconds)
	}
	if c.MiB > 0 {
		text += fmt.Sprintf(", %d MiB", c.MiB)
	}
	return text
}
