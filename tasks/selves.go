package tasks

import (
	"fmt"
	"slices"
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
	n := len(atoms) / dim
	for row := range slices.Chunk(queries, dim) {
		if first >= int64(n) || !slices.Equal(row, atoms[int(first)*dim:(int(first)+1)*dim]) {
			return &SelfError{Query: number, Vector: first, Vectors: n}
		}
		first, number = first+1, number+1
	}
	return nil
}
