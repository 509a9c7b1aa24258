package figures

import (
	"hash/fnv"
	"slices"

	"thresher/internal/philox"
	"thresher/internal/plot"
)

// pointSeed is the seed of a point's draws: a function of the run's seed and the point's key alone.
func pointSeed(seed uint64, key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key)) // never an error
	return philox.New(seed, h.Sum64()).Uint64()
}

// series makes a line of the rows with one name, in the order in which the names come first: at each x the mean of y over
// the rows and, where lines have more than one row at an x, its standard deviation. A row whose name is "" is left out.
func series(rows []Row, name func(r *Row) string, x, y func(r *Row) float64) []plot.Series {
	type place struct {
		line string
		x    float64
	}
	values := map[place][]float64{}
	var names []string
	xs := map[string][]float64{}
	for i := range rows {
		r := &rows[i]
		line := name(r)
		if line == "" {
			continue
		}
		if xs[line] == nil {
			names = append(names, line)
		}
		at := place{line, x(r)}
		if values[at] == nil {
			xs[line] = append(xs[line], at.x)
		}
		values[at] = append(values[at], y(r))
	}
	var lines []plot.Series
	for _, line := range names {
		s := plot.Series{Name: line}
		slices.Sort(xs[line])
		spread := false
		for _, x := range xs[line] {
			of := values[place{line, x}]
			mean, sd := meanSD(of)
			s.X, s.Mean, s.SD = append(s.X, x), append(s.Mean, mean), append(s.SD, sd)
			spread = spread || len(of) > 1
		}
		if !spread {
			s.SD = nil
		}
		lines = append(lines, s)
	}
	return lines
}

// barred makes a line of the rows with one name, which have one row at an X each, with YSD as its band.
func barred(rows []Row, name func(r *Row) string) []plot.Series {
	var lines []plot.Series
	for i := range rows {
		r := &rows[i]
		if name(r) == "" {
			continue
		}
		at := slices.IndexFunc(lines, func(s plot.Series) bool { return s.Name == name(r) })
		if at < 0 {
			at = len(lines)
			lines = append(lines, plot.Series{Name: name(r)})
		}
		s := &lines[at]
		s.X, s.Mean, s.SD = append(s.X, r.X), append(s.Mean, r.Y), append(s.SD, r.YSD)
	}
	return lines
}
