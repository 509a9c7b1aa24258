// Command replan asks the planner again for the cells of the race whose plans were timed
// (bench/bench.py --only regret), and prints the regret of what it chooses now by the times of then:
//
//	cd bench && go run ./replan ../docs/benchmarks/race/PROCESSOR/*.jsonl
//
// So a change of the forecast or of built-in costs is judged on all cells in a minute, without timing
// anything. It needs the sets in bench/.data, and the processor's maker and kernels must be those of the
// results, because they decide the built-in costs.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"thresher/batch/plan"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
)

// cell is a record of the kind regret: the plans that were timed for one set, m queries together and k.
type cell struct {
	Set    string             `json:"set"`
	Metric string             `json:"metric"` // "" is ip: results from before there were others
	M      int                `json:"m"`
	K      int                `json:"k"`
	Chosen string             `json:"chosen"`
	US     map[string]float64 `json:"us"` // microseconds a query by plan
}

// name is the set, with its metric if that is not the inner product.
func (c *cell) name() string {
	if c.Metric == "" || c.Metric == "ip" {
		return c.Set
	}
	return c.Set + ":metric=" + c.Metric
}

// best is the plan that took least.
func (c *cell) best() string {
	return slices.MinFunc(slices.Sorted(maps.Keys(c.US)), func(a, b string) int { return cmp.Compare(c.US[a], c.US[b]) })
}

// regret is the time of a plan over the least; 0 if it was not timed.
func (c *cell) regret(plan string) float64 { return c.US[plan] / c.US[c.best()] }

func main() {
	data := flag.String("data", ".data", "`folder` of the sets")
	worst := flag.Float64("worst", 1.2, "list choices from this regret on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *data, *worst, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "replan:", err)
		os.Exit(1)
	}
}

// run prints the regrets by k of the cells in these files of results, then and now.
func run(ctx context.Context, out io.Writer, data string, worst float64, files []string) error {
	var then, now, untimed = map[int][]float64{}, map[int][]float64{}, 0
	for _, file := range files {
		cells, err := read(file)
		if err != nil {
			return err
		}
		if len(cells) == 0 {
			continue
		}
		choices, err := chooseAll(ctx, filepath.Join(data, cells[0].Set, "atoms.npy"), cells)
		if err != nil {
			return err
		}
		for i, c := range cells {
			regret := c.regret(choices[i])
			if regret == 0 {
				untimed++
				fmt.Fprintf(out, "%s m=%d k=%d: %s was not timed; best of those that were %s\n", c.name(), c.M, c.K, choices[i], c.best())
				continue
			}
			then[c.K], now[c.K] = append(then[c.K], c.regret(c.Chosen)), append(now[c.K], regret)
			if regret >= worst {
				fmt.Fprintf(out, "%s m=%d k=%d: %.2f by %s, best %s\n", c.name(), c.M, c.K, regret, choices[i], c.best())
			}
		}
	}
	if len(now) == 0 {
		return fmt.Errorf("no cell of the kind regret in %d files", len(files))
	}
	for _, k := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintf(out, "k = %d: %d cells, regret %.3f then, %.3f now\n", k, len(now[k]), mean(then[k]), mean(now[k]))
	}
	_, err := fmt.Fprintf(out, "all: regret %.3f then, %.3f now; %d choices were not timed\n",
		mean(slices.Concat(slices.Collect(maps.Values(then))...)), mean(slices.Concat(slices.Collect(maps.Values(now))...)), untimed)
	return err
}

// read returns the cells of a file of results.
func read(file string) ([]cell, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var cells []cell
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var kind struct{ Kind string }
		if err := json.Unmarshal(lines.Bytes(), &kind); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		if kind.Kind != "regret" { // other records have other fields of the same names
			continue
		}
		var c cell
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		if c.US[c.Chosen] <= 0 {
			return nil, fmt.Errorf("%s, line %d: no time of the chosen plan %q", file, n, c.Chosen)
		}
		cells = append(cells, c)
	}
	return cells, lines.Err()
}

// chooseAll returns the names of the plans that auto takes for the cells of one set of atoms, metric by metric.
func chooseAll(ctx context.Context, atoms string, cells []cell) ([]string, error) {
	names := make([]string, len(cells))
	of := map[string][]int{} // cells by metric
	for i, c := range cells {
		metric := cmp.Or(c.Metric, "ip")
		of[metric] = append(of[metric], i)
	}
	for metric, places := range of {
		mine := make([]cell, len(places))
		for j, i := range places {
			mine[j] = cells[i]
		}
		chosen, err := choose(ctx, atoms, metric, mine)
		if err != nil {
			return nil, err
		}
		for j, i := range places {
			names[i] = chosen[j]
		}
	}
	return names, nil
}

// choose returns the names of the plans that auto takes for cells of one set of atoms and one metric, by the
// built-in costs of this processor.
func choose(ctx context.Context, atoms, metricName string, cells []cell) ([]string, error) {
	metric, err := collection.ParseMetric(metricName)
	if err != nil {
		return nil, err
	}
	rows, err := dataset.ReadAll(ctx, atoms, nil)
	if err != nil {
		return nil, err
	}
	c, err := collection.Build(ctx, rows.Data, rows.Dim, &collection.Options{Metric: metric, Seed: 1})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", atoms, err)
	}
	defer c.Close()
	backend := cpu.New(cpu.Options{Threads: 1})
	defer backend.Close()
	planner := plan.New(c, backend.Describe().Costs, backend.Describe().Capacity)
	panels := (c.N + collection.PanelAtoms - 1) / collection.PanelAtoms
	var names []string
	for _, x := range cells {
		p, err := planner.Choose(plan.Question{Method: plan.Auto, K: x.K, Arms: c.N, Panels: panels, Delta: .01, Together: plan.Together(x.M)})
		if err != nil {
			return nil, err
		}
		names = append(names, p.Name)
	}
	return names, nil
}

// mean is the geometric mean.
func mean(ratios []float64) float64 {
	var sum float64
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}
