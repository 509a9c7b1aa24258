package figures

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"thresher/internal/plot"
)

// publishedBanditMIPS are means that the authors published as logs of their experiments (github.com/ThrunGroup/BanditMIPS,
// MIT licence, which is at the file's head): of the trade-offs the Pareto front of each method.
//
//go:embed published/banditmips.csv
var publishedBanditMIPS string

// logged is a mean in the authors' logs.
type logged struct {
	figure, data, algorithm string
	n, d, k                 int
	multiplications, right  float64
}

// readLogged reads the logs of a figure, in the file's order.
func readLogged(figure string) ([]logged, error) {
	r := csv.NewReader(strings.NewReader(publishedBanditMIPS))
	r.Comment = '#' // the licence
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	var out []logged
	for row, f := range records[1:] {
		if f[0] != figure {
			continue
		}
		var numbers [5]float64
		for i := range numbers {
			if numbers[i], err = strconv.ParseFloat(f[3+i], 64); err != nil {
				return nil, fmt.Errorf("published/banditmips.csv: row %d: %w", row+2, err)
			}
		}
		out = append(out, logged{f[0], f[1], f[2], int(numbers[0]), int(numbers[1]), int(numbers[2]), numbers[3], numbers[4]})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("published/banditmips.csv has no rows of %s", figure)
	}
	return out, nil
}

// mustLogged is readLogged of the embedded file, whose rows TestLogged checks.
func mustLogged(figure string) []logged {
	rows, err := readLogged(figure)
	if err != nil {
		panic(err)
	}
	return rows
}

// publishedLines are the logs of a data set as grey lines, x and y of a row, one line an algorithm that keep wants.
func publishedLines(rows []logged, of string, keep func(algorithm string) bool, x, y func(l *logged) float64) []plot.Series {
	var out []plot.Series
	at := map[string]int{}
	for i := range rows {
		l := &rows[i]
		if l.data != of || !keep(l.algorithm) {
			continue
		}
		if _, ok := at[l.algorithm]; !ok {
			at[l.algorithm] = len(out)
			out = append(out, plot.Series{Name: l.algorithm + ", their log", Kind: plot.Published})
		}
		s := &out[at[l.algorithm]]
		s.X, s.Mean = append(s.X, x(l)), append(s.Mean, y(l))
	}
	return out
}
