package collection

import (
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
