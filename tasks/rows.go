package tasks

import "thresher/collection"

// ScoredRows are vectors by row number, relative to no origin, that are no single collection: those of the segments of a
// folder, as segments.Reading has them. They do not change, and are read by several goroutines at once.
type ScoredRows interface {
	Len() int
	Dim() int
	Metric() collection.Metric
	// RowIn returns row i in float32, in place or in memory, which holds Dim floats.
	RowIn(memory []float32, i int) []float32
	// Scores sets out[k] to the search score of rows[k] for the query q.
	Scores(out []float64, q []float32, rows []uint32)
	// Float64 reports whether they are kept as float64: then Given and Scores64, of a query as given, stand in place of RowIn and Scores.
	Float64() bool
	// Given returns row i as it was given, in place.
	Given(i int) []float64
	Scores64(out, q []float64, rows []uint32)
}

// comparedAtoms are the atoms that a Comparison is about, in a collection or as rows.
type comparedAtoms struct {
	n, dim int
	metric collection.Metric
	origin []float64
	block  *collection.Collection // nil if there are rows
	rows   ScoredRows
}

// float64s reports whether the atoms are kept as float64.
func (a *comparedAtoms) float64s() bool {
	if a.block != nil {
		return a.block.Float64()
	}
	return a.rows.Float64()
}

// scores sets out[k] to the search score of rows[k] for a query.
func (a *comparedAtoms) scores(out []float64, q []float32, rows []uint32) {
	if a.block != nil {
		a.block.Scores(out, q, rows)
		return
	}
	a.rows.Scores(out, q, rows)
}

// scores64 is scores for a query as given, of atoms of float64.
func (a *comparedAtoms) scores64(out, q []float64, rows []uint32) {
	if a.block != nil {
		a.block.Scores64(out, q, rows)
		return
	}
	a.rows.Scores64(out, q, rows)
}

// CheckSelvesOfRows is CheckSelves of atoms that are no single collection.
func CheckSelvesOfRows(queries []float32, atoms ScoredRows, first, number int64) error {
	memory := make([]float32, atoms.Dim())
	return checkSelves(queries, atoms.Len(), atoms.Dim(), first, number, func(i int) []float32 { return atoms.RowIn(memory, i) })
}

// CheckGivenSelvesOfRows is CheckGivenSelves of atoms that are no single collection.
func CheckGivenSelvesOfRows(queries []float64, atoms ScoredRows, first, number int64) error {
	return checkSelves(queries, atoms.Len(), atoms.Dim(), first, number, atoms.Given)
}

// ShardOfRows is ShardOf of vectors that are no single collection.
func ShardOfRows(rows ScoredRows, id func(row int) string) Shard {
	if rows.Float64() {
		return shardOf(rows.Len(), rows.Dim(), id, rows.Given)
	}
	memory, given := make([]float32, rows.Dim()), make([]float64, rows.Dim())
	return shardOf(rows.Len(), rows.Dim(), id, func(row int) []float64 {
		for j, x := range rows.RowIn(memory, row) {
			given[j] = float64(x)
		}
		return given
	})
}
