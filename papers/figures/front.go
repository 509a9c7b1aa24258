package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"thresher/internal/plot"
)

// lineName is what a row's line is called.
func lineName(r *Row) string {
	if r.Variant == "" {
		return r.Algorithm
	}
	return r.Algorithm + ", " + r.Variant
}

// front returns the rows that no other of the same line beats in both x and precision, by ascending x: its Pareto front.
func front(rows []Row, x func(r *Row) float64) []Row {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b Row) int {
		return cmp.Or(cmp.Compare(x(&b), x(&a)), cmp.Compare(b.Precision, a.Precision))
	})
	var out []Row
	best := math.Inf(-1)
	for _, r := range sorted {
		if r.Precision > best {
			out, best = append(out, r), r.Precision
		}
	}
	slices.Reverse(out)
	return out
}

// byMultiplications is a row's saving in multiplications.
func byMultiplications(r *Row) float64 { return r.X }

// byWall returns savings of time against the naive scan of the same data and k, at the same point if that has one: what a
// machine had to do besides was then about the same. It fails if a row has none to be compared with.
func byWall(rows []Row) (func(r *Row) float64, error) {
	type place struct {
		point, data string
		d, k        int
	}
	naive := map[place]time.Duration{}
	for _, r := range rows {
		if r.Algorithm != nameNaive {
			continue
		}
		naive[place{r.Point, r.Data, r.D, r.K}] = r.Wall
		if anywhere := (place{"", r.Data, r.D, r.K}); naive[anywhere] == 0 {
			naive[anywhere] = r.Wall
		}
	}
	of := func(r *Row) time.Duration {
		return cmp.Or(naive[place{r.Point, r.Data, r.D, r.K}], naive[place{"", r.Data, r.D, r.K}])
	}
	for i := range rows {
		if of(&rows[i]) <= 0 {
			return nil, fmt.Errorf("%s, d = %d, k = %d: no time of the naive scan", rows[i].Data, rows[i].D, rows[i].K)
		}
	}
	return func(r *Row) float64 {
		if r.Wall <= 0 {
			return 0
		}
		return float64(of(r)) / float64(r.Wall)
	}, nil
}

// tradeoffLines are the Pareto fronts of precision against x, one a line. Lines come in the order of their first rows; the
// naive scan, which is at 1, has none, nor have rows whose x is 0.
func tradeoffLines(rows []Row, x func(r *Row) float64) []plot.Series {
	var names []string
	lines := map[string][]Row{}
	for _, r := range rows {
		name := lineName(&r)
		if r.Algorithm == nameNaive || x(&r) <= 0 {
			continue
		}
		if lines[name] == nil {
			names = append(names, name)
		}
		lines[name] = append(lines[name], r)
	}
	var out []plot.Series
	for _, name := range names {
		s := plot.Series{Name: name}
		for _, r := range front(lines[name], x) {
			s.X, s.Mean = append(s.X, x(&r)), append(s.Mean, r.Precision)
		}
		out = append(out, s)
	}
	return out
}

// tradeoffCharts are two panels of the rows of one data set and k: precision against the saving in multiplications, and in
// time. Both have the Pareto front of each line.
func tradeoffCharts(title string, rows []Row) []plot.Chart {
	charts := []plot.Chart{{
		Title: title, XLabel: "n d / multiplications of a query", YLabel: "precision", LogX: true,
		Series: tradeoffLines(rows, byMultiplications),
	}}
	if wall, err := byWall(rows); err == nil { // rows of a part of a figure may lack the naive scan
		charts = append(charts, plot.Chart{
			Title: title + ", by time", XLabel: "time of the naive scan / time of a query, one core", YLabel: "precision", LogX: true,
			Series: tradeoffLines(rows, wall),
		})
	}
	return slices.DeleteFunc(charts, func(c plot.Chart) bool { return len(c.Series) == 0 })
}

// savingAt is the greatest x of a line at which its precision is at least a bar, over all its settings; 0 if there is none.
func savingAt(rows []Row, line string, bar float64, x func(r *Row) float64) float64 {
	best := 0.0
	for i := range rows {
		if r := &rows[i]; lineName(r) == line && r.Precision >= bar {
			best = max(best, x(r))
		}
	}
	return best
}

// savingAround is where a line's front falls to a bar: between the two settings around it by their precision and the logarithms
// of their savings; the last saving if it never does, 0 if all are below.
func savingAround(rows []Row, line string, bar float64, x func(r *Row) float64) float64 {
	along := front(slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return lineName(&r) != line || x(&r) <= 0 }), x)
	at := -1
	for i := range along {
		if along[i].Precision >= bar {
			at = i
		}
	}
	switch {
	case at < 0:
		return 0
	case at == len(along)-1:
		return x(&along[at])
	}
	above, below := &along[at], &along[at+1]
	share := (above.Precision - bar) / (above.Precision - below.Precision)
	return math.Exp((1-share)*math.Log(x(above)) + share*math.Log(x(below)))
}
