package collection

import (
	"errors"
	"fmt"
	"math"

	"thresher/dataset"
)

// CheckRows returns a *RowError if a collection by metric m could not take one of these rows of dim columns: if
// a value is not finite or a norm too large. For Euclidean distance it is half of what Build allows, so that rows
// pass Build with any others that pass, whatever their centre.
func (m Metric) CheckRows(rows []float32, dim int) error {
	limit := m.maxNorm()
	if m.Differences() {
		limit /= 2
	}
	for i := 0; i*dim < len(rows); i++ {
		row := rows[i*dim : (i+1)*dim]
		if norm := math.Sqrt(kernels.SumSquares(row)); !(norm < limit) {
			return rowError(row, i, norm, limit)
		}
	}
	return nil
}

// CheckRows64 is CheckRows of rows that are kept in float64. Those that pass are near origin, nil being zero, and pass Build with any
// others that pass, relative to origin or, if that is nil, to any that a build chooses: which is no further from zero than twice the
// longest of them.
func (m Metric) CheckRows64(rows []float64, dim int, origin []float64) error {
	limit := m.maxNorm()
	switch {
	case m.Differences() && origin == nil:
		limit /= 4
	case m.Differences():
		limit /= 2
	}
	narrow := make([]float32, dim)
	for i := 0; i*dim < len(rows); i++ {
		row := rows[i*dim : (i+1)*dim]
		if _, err := Narrow(narrow, row, dim, origin); err != nil {
			return rowAt(i, err)
		}
		if norm := math.Sqrt(kernels.SumSquares(narrow)); !(norm < limit) {
			return rowError(narrow, i, norm, limit)
		}
		if err := m.CheckGiven(row); err != nil {
			return &RowError{Row: i, Column: -1, Err: err}
		}
	}
	return nil
}

// rowAt returns the error of the only row as that of row i.
func rowAt(i int, err error) error {
	var row *RowError
	if errors.As(err, &row) {
		return &RowError{Row: i, Column: row.Column, Err: row.Err}
	}
	return err
}

// CheckElem returns a *RowError that names the first value of rows of dim columns that the type e does not hold, which
// then cannot be kept in it.
func CheckElem(rows []float32, dim int, e dataset.Elem) error {
	if e == dataset.ElemFloat32 || e == dataset.ElemFloat64 {
		return nil
	}
	block := make([]byte, min(len(rows), checkedTogether)*e.Size())
	for at := 0; at < len(rows); at += checkedTogether {
		values := rows[at:min(at+checkedTogether, len(rows))]
		if wrong := e.Encode(block, values); wrong >= 0 {
			wrong += at
			return &RowError{Row: wrong / dim, Column: wrong % dim, Err: fmt.Errorf("value %g is no %v", rows[wrong], e)}
		}
	}
	return nil
}

// checkedTogether is how many values are encoded at a time.
const checkedTogether = 1 << 12
