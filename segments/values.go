package segments

import (
	"fmt"

	"thresher/dataset"
)

// values are vectors in memory, row-major: in float64 of a Set that keeps them so, else in float32.
type values struct {
	narrow []float32
	wide   []float64
}

// len is the number of values.
func (v values) len() int { return max(len(v.narrow), len(v.wide)) }

// bytes is the memory that they take.
func (v values) bytes() int64 { return int64(4*len(v.narrow) + 8*len(v.wide)) }

// slice returns values from to end-1, which share the memory.
func (v values) slice(from, end int) values {
	if v.wide != nil {
		return values{wide: v.wide[from:end:end]}
	}
	return values{narrow: v.narrow[from:end:end]}
}

// put writes more of the same type at index at.
func (v values) put(at int, more values) {
	copy(v.narrow[min(at, len(v.narrow)):], more.narrow)
	copy(v.wide[min(at, len(v.wide)):], more.wide)
}

// with returns v with more after it, as append does.
func (v values) with(more values) values {
	return values{append(v.narrow, more.narrow...), append(v.wide, more.wide...)}
}

// float64s returns a copy of the values in float64, which has all of them.
func (v values) float64s() []float64 {
	out := make([]float64, 0, v.len())
	out = append(out, v.wide...)
	for _, x := range v.narrow {
		out = append(out, float64(x))
	}
	return out
}

// vectors returns the values as rows of dim, which share the memory.
func (v values) vectors(dim int) (dataset.Vectors, error) {
	if v.wide != nil {
		return dataset.VectorsOf(v.wide, dim)
	}
	return dataset.VectorsOf(v.narrow, dim)
}

// keepsFloat64 reports whether the vectors are kept in float64.
func (s *Set) keepsFloat64() bool { return s.o.Collection.Elem == dataset.ElemFloat64 }

// values returns memory for n values in the type in which the Set has them.
func (s *Set) values(n int) values {
	if s.keepsFloat64() {
		return values{wide: make([]float64, n)}
	}
	return values{narrow: make([]float32, n)}
}

// valuesOf returns rows, which are shared, as values of the Set.
func (s *Set) valuesOf(rows []float32) values {
	v := values{narrow: rows}
	if s.keepsFloat64() {
		return values{wide: v.float64s()}
	}
	return v
}

// encoded returns the values as rows of dim in a type that has them. It shares the memory if that is theirs.
func (v values) encoded(dim int, e dataset.Elem) (dataset.Vectors, error) {
	if v.wide != nil || e == dataset.ElemFloat32 {
		return v.vectors(dim)
	}
	data := make([]byte, len(v.narrow)*e.Size())
	if at := e.Encode(data, v.narrow); at >= 0 {
		return dataset.Vectors{}, fmt.Errorf("row %d: %g is no %v", at/dim, v.narrow[at], e)
	}
	return dataset.NewVectors(e, dim, data)
}
