package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// point is a row of the CSV, as far as it is drawn.
type point struct {
	panel, axis, algorithm string
	x, regret, deviation   float64
}

// read takes columns by their names.
func read(r io.Reader) ([]point, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 {
		return nil, errors.New("no points in it")
	}
	head := rows[0]
	for _, name := range []string{"panel", "axis", "k", "gamma", "algorithm", "regret", "regret_sd"} {
		if !slices.Contains(head, name) {
			return nil, fmt.Errorf("column %s is missing", name)
		}
	}
	var points []point
	for i, row := range rows[1:] {
		cell := func(name string) string { return row[slices.Index(head, name)] }
		number := func(name string) float64 {
			x, wrong := strconv.ParseFloat(cell(name), 64)
			if wrong != nil {
				err = fmt.Errorf("row %d, column %s: %w", i+2, name, wrong)
			}
			return x
		}
		p := point{panel: cell("panel"), axis: cell("axis"), algorithm: cell("algorithm"), regret: number("regret"), deviation: number("regret_sd")}
		p.x = number("k")
		if p.axis == "gamma" {
			p.x = number("gamma")
		}
		if err != nil {
			return nil, err
		}
		points = append(points, p)
	}
	return points, nil
}
