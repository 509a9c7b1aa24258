package tasks

import "thresher/collection"

// ScoredRows are vectors by row number, in float32 and relative to no origin, that are no single collection: those of the segments of a
// folder, as segments.Reading has them. They do not change, and are read by several goroutines at once.
type ScoredRows interface {
	Len() int
	Dim() int
	Metric() collection.Metric
	// RowIn returns row i, in place or in memory, which holds Dim floats.
	RowIn(memory []float32, i int) []float32
	// Scores sets out[k] to the search score of rows[k] for the query q.
	Scores(out []float64, q []float32, rows []uint32)
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
func (a *comparedAtoms) float64s() bool { return a.block != nil && a.block.Float64() }

// scores sets out[k] to the search score of rows[k] for a query.
func (a *comparedAtoms) scores(out []float64, q []float32, rows []uint32) {
	if a.block != nil {
		a.block.Scores(out, q, rows)
		return
	}
	a.rows.Scores(out, q, rows)
}

// CheckSelvesOfRows is CheckSelves of atoms that are no single collection.
func CheckSelvesOfRows(queries []float32, atoms ScoredRows, first, number int64) error {
	memory := make([]float32, atoms.Dim())
	return checkSelves(queries, atoms.Len(), atoms.Dim(), first, number, func(i int) []float32 { return atoms.RowIn(memory, i) })
}

// ShardOfRows is ShardOf of vectors that are no single collection.
func ShardOfRows(rows ScoredRows, id func(row int) string) Shard {
	memory, given := make([]float32, rows.Dim()), make([]float64, rows.Dim())
	return shardOf(rows.Len(), rows.Dim(), id, func(row int) []float64 {
		for j, x := range rows.RowIn(memory, row) {
			given[j] = float64(x)
		}
		return given
	})
}
