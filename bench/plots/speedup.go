package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// sweep names the quantity of a sweep, its axis and what is fixed.
type sweep struct{ over, axis, fixed string }

func sweeps() []sweep {
	const text = "LSA of package records, d = 768"
	return []sweep{
		{"d", "dimension d", "synthetic embeddings, 20,000 atoms, k = 10"},
		{"n", "atoms n", "synthetic embeddings, d = 768, k = 10"},
		{"k", "k", text},
		{"m", "queries a batch m", text + ", k = 10"},
		{"delta", "delta", text + ", k = 10"},
	}
}

// speedups draws one plot a sweep, with a line for each batch size.
func speedups(folder string, records []record) error {
	for _, of := range sweeps() {
		lines := map[int]plotter.XYs{} // by m
		var at, reached []float64
		for _, r := range records {
			if r.Kind != "sweep" || r.Over != of.over {
				continue
			}
			m := r.M
			if of.over == "m" {
				m = 0 // one line over all batch sizes
			}
			lines[m] = append(lines[m], plotter.XY{X: r.Value, Y: r.Ratio})
			at, reached = append(at, r.Value), append(reached, r.Ratio)
		}
		if len(at) == 0 {
			continue
		}
		slices.Sort(at)
		p := newPlot("Time of FAISS's exact search over thresher's, one core\n"+of.fixed, of.axis, "ratio",
			values(slices.Compact(at)), values(ladder(slices.Min(reached), 2*slices.Max(reached)))) // leaves room for the legend
		p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
		for i, m := range sortedKeys(lines) {
			line := lines[m]
			slices.SortFunc(line, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
			name := fmt.Sprintf("m = %d", m)
			if m == 0 {
				name = "delta = .01"
			}
			if err := addLine(p, series(i), name, line); err != nil {
				return err
			}
		}
		steps := p.Y.Tick.Marker.Ticks(0, 0)
		p.Y.Min, p.Y.Max = steps[0].Value, steps[len(steps)-1].Value
		if err := save(filepath.Join(folder, "speedup-"+of.over+".png"), 440, 300, nil, p); err != nil {
			return err
		}
	}
	return nil
}

// ladder returns 1, 2, 5, 10, 20, .. from the last step at most lo to the first at least hi;
// both are positive.
func ladder(lo, hi float64) []float64 {
	var steps []float64
	for decade := 1e-6; ; decade *= 10 {
		for _, f := range []float64{1, 2, 5} {
			v := f * decade
			switch {
			case v <= lo:
				steps = steps[:0]
			case len(steps) > 0 && steps[len(steps)-1] >= hi && len(steps) > 1:
				return steps
			}
			steps = append(steps, v)
		}
	}
}

func sortedKeys[V any](m map[int]V) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
