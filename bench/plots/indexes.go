package main

import (
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// workload is the number of queries for which the right plot shows the total time, building
// included.
const workload = 10000

// most is the greatest number of nines shown; a recall of 1 is drawn there.
const most = 5

// nines returns the position of a recall: 1 for .9, 2 for .99.
func nines(recall float64) float64 {
	if recall >= 1 {
		return most
	}
	return min(most, -math.Log10(1-recall))
}

// contest holds the results of one set.
type contest struct {
	set    string
	peers  []record
	built  float64 // seconds of thresher's build
	recall float64 // lower bound of thresher's recall: each wrong answer lacks at least one atom
}

// indexes draws for each set recall against the time of a query, and against the time of
// building and searching a workload.
func indexes(folder string, records []record) error {
	contests := map[string]*contest{}
	for _, r := range records {
		if r.Kind != "peer" {
			continue
		}
		if contests[r.Set] == nil {
			contests[r.Set] = &contest{set: r.Set, recall: 1}
		}
		contests[r.Set].peers = append(contests[r.Set].peers, r)
	}
	for _, r := range records {
		c := contests[r.Set]
		switch {
		case c == nil || r.Task != r.Set:
		case r.Kind == "build":
			c.built = r.BuildSeconds
		case r.Kind == "race" && r.M == 256 && r.K == 10:
			c.recall = 1 - float64(r.Wrong)/float64(r.K*r.Checked)
		}
	}
	for _, c := range contests {
		if err := c.draw(folder); err != nil {
			return err
		}
	}
	return nil
}

func (c *contest) draw(folder string) error {
	recalls := plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 1, Label: ".9"}, {Value: 2, Label: ".99"},
		{Value: 3, Label: ".999"}, {Value: 4, Label: ".9999"}, {Value: most, Label: "1"}}
	perQuery := func(_, us float64) float64 { return us }
	whole := func(build, us float64) float64 { return build + workload*us*1e-6 }
	var plots []*plot.Plot
	for i, title := range []string{c.set + ", one core: a query in a batch of 256", c.set + ", one core: building and 10,000 queries"} {
		cost, unit := perQuery, "µs a query"
		if i == 1 {
			cost, unit = whole, "seconds"
		}
		p := newPlot(title, "recall at k = 10", unit, recalls, nil)
		p.Legend.Left = true
		var all, ours []float64
		for j, r := range c.peers {
			var line plotter.XYs
			for _, pt := range r.Points {
				y := cost(r.BuildSeconds, pt.Index)
				line = append(line, plotter.XY{X: nines(pt.Recall), Y: y})
				all = append(all, y)
				ours = append(ours, pt.Thresher)
			}
			if err := addLine(p, series(j), r.Index, line); err != nil {
				return err
			}
		}
		slices.Sort(ours)
		y := cost(c.built, ours[len(ours)/2])
		if err := addLine(p, alone(), "thresher", plotter.XYs{{X: nines(c.recall), Y: y}}); err != nil {
			return err
		}
		all = append(all, y)
		steps := ladder(slices.Min(all), slices.Max(all))
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, values(steps)
		p.X.Min, p.X.Max = 0, most
		p.Y.Min, p.Y.Max = steps[0], steps[len(steps)-1]
		plots = append(plots, p)
	}
	return save(filepath.Join(folder, "indexes-"+c.set+".png"), 960, 340, share(plots), plots...)
}
