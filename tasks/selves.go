package tasks

import (
	"fmt"
	"slices"

	"thresher/collection"
)

// SelfError says which query is not the atom that it is said to be.
type SelfError struct {
	Query, Vector int64 // the number of the query, and the row number of the vector
	Vectors       int   // how many there are; Vector may be none of them
}

func (e *SelfError) Error() string {
	if e.Vector >= int64(e.Vectors) {
		return fmt.Sprintf("query %d stands for vector %d, and there are %d", e.Query, e.Vector, e.Vectors)
	}
	return fmt.Sprintf("query %d is not vector %d", e.Query, e.Vector)
}

// CheckSelves checks the precondition of a batch.Request with ExcludeSelf, whose answers would
// otherwise lack an atom without a word, or be verified as if they lacked it rightly: query j of
// queries is atom first+j of atoms, first being 0 or greater. Both are rows of dim values as they
// are searched: rounded to float32, relative to the same origin. Queries are numbered from number.
// An error is a *SelfError.
func CheckSelves(queries, atoms []float32, dim int, first, number int64) error {
	return checkSelves(queries, len(atoms)/dim, dim, first, number, func(i int) []float32 { return atoms[i*dim : (i+1)*dim] })
}

// CheckStoredSelves is CheckSelves of the atoms of a collection, in the type in which it keeps them.
func CheckStoredSelves(queries []float32, atoms *collection.Collection, first, number int64) error {
	memory := atoms.RowMemory()
	return checkSelves(queries, atoms.N, atoms.Dim, first, number, func(i int) []float32 { return atoms.RowIn(memory, i) })
}

// CheckGivenSelves is CheckSelves of the atoms of a collection that keeps them as float64, and of queries as given.
func CheckGivenSelves(queries []float64, atoms *collection.Collection, first, number int64) error {
	given := atoms.Vectors.Float64s()
	return checkSelves(queries, atoms.N, atoms.Dim, first, number, func(i int) []float64 { return given[i*atoms.Dim:][:atoms.Dim] })
}

// checkSelves is CheckSelves of n atoms, which row returns.
func checkSelves[T float32 | float64](queries []T, n, dim int, first, number int64, atom func(i int) []T) error {
	for row := range slices.Chunk(queries, dim) {
		if first >= int64(n) || !slices.Equal(row, atom(int(first))) {
			return &SelfError{Query: number, Vector: first, Vectors: n}
		}
		first, number = first+1, number+1
	}
	return nil
}
