package join

import (
	"thresher/batch"
	"thresher/dataset"
)

// PairBlock is what consecutive rows of a join found.
type PairBlock struct {
	// Pairs are in ascending order of A, then B. Each unordered pair of a self-join is in one
	// block, with A < B.
	Pairs []dataset.Pair
	Work  PairWork
}

// PairWork is the work for a number of rows.
type PairWork struct {
	Rows int64 `json:"rows"`
	// Again counts the searches for rows that had more pairs than the limit of the search before.
	Again      int64 `json:"again"`
	Pulls      int64 `json:"pulls"`       // coordinates read
	DensePulls int64 `json:"dense_pulls"` // coordinates that comparing all pairs reads
	Bytes      int64 `json:"bytes"`       // bytes of atoms read
	RowsScored int64 `json:"rows_scored"` // atoms scored exactly
	// Exact counts the rows for which no atom was dropped by a bound that can fail.
	Exact      int64                     `json:"exact"`
	Methods    map[batch.Method]int64    `json:"methods"`    // rows by method
	Guarantees map[batch.Guarantee]int64 `json:"guarantees"` // rows by guarantee
	Laws       map[batch.Law]int64       `json:"laws,omitempty"`
	// VectorsChange and OthersChange are the largest amounts by which a coordinate of the atoms, and
	// of the rows of another table, was changed when it was rounded to float32; 0: none was.
	VectorsChange float64 `json:"vectors_change,omitempty"`
	OthersChange  float64 `json:"others_change,omitempty"`
}

// Add adds the figures of v.
func (w *PairWork) Add(v *PairWork) {
	w.Rows += v.Rows
	w.Again += v.Again
	w.Pulls += v.Pulls
	w.DensePulls += v.DensePulls
	w.Bytes += v.Bytes
	w.RowsScored += v.RowsScored
	w.Exact += v.Exact
	addCounts(&w.Methods, v.Methods)
	addCounts(&w.Guarantees, v.Guarantees)
	addCounts(&w.Laws, v.Laws)
	w.VectorsChange, w.OthersChange = max(w.VectorsChange, v.VectorsChange), max(w.OthersChange, v.OthersChange)
}

func addCounts[K comparable](to *map[K]int64, from map[K]int64) {
	if *to == nil {
		*to = map[K]int64{}
	}
	for k, n := range from {
		(*to)[k] += n
	}
}

// addRow adds the certificate of a row's answer.
func (w *PairWork) addRow(c *batch.Certificate) {
	if w.Rows == 0 {
		w.Add(&PairWork{}) // makes the maps
	}
	w.Rows++
	if c.Exact {
		w.Exact++
	}
	w.VectorsChange, w.OthersChange = max(w.VectorsChange, c.VectorsChange), max(w.OthersChange, c.QueryChange)
	w.Methods[c.Method]++
	w.Guarantees[c.Guarantee]++
	if c.Law != "" {
		w.Laws[c.Law]++
	}
}
