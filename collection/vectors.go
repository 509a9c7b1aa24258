package collection

import (
	"context"
	"sync"

	"thresher/dataset"
	"thresher/simd"
)

// Rows are kept in the type in which they were given, and converted where arithmetic reads them, a row or a
// block at a time. Float32 holds all values of the types but float64, so what is computed of such rows is,
// bit for bit, what float32 rows of the same values give. float64.go is about those of float64.

// BuildVectors is Build of vectors of any type, which it retains. Those of float64 are relative to no origin: for
// Euclidean distance one is chosen unless o has it.
func BuildVectors(ctx context.Context, v dataset.Vectors, o *Options) (*Collection, error) {
	var own Options
	if o != nil {
		own = *o
	}
	own.Elem = v.Elem()
	if own.Metric.Differences() && own.Origin == nil && v.Len() > 0 {
		own.Origin = originOf(v)
	}
	c, err := newCollection(v.Len(), v.Dim(), &own)
	if err != nil {
		return nil, err
	}
	if err := c.checkOrder(&own); err != nil {
		return nil, err
	}
	c.setVectors(v)
	if err := c.build(ctx, heap{}, &own); err != nil {
		return nil, err
	}
	return c, nil
}

// setVectors sets Vectors and Rows.
func (c *Collection) setVectors(v dataset.Vectors) {
	c.Vectors, c.Rows = v, v.Float32s()
	if c.Rows == nil {
		c.converted = &sync.Pool{New: func() any {
			rows := make([]float32, rowsTogether*v.Dim())
			return &rows
		}}
	}
}

// SetRows replaces the rows, for a collection that was made as a part of another: rows are as they would be given
// in ElemFloat32, nil for none.
func (c *Collection) SetRows(rows []float32) {
	c.Vectors, _ = dataset.VectorsOf(rows, c.Dim) // whose error is that there are no whole rows
	c.Rows = rows
}

// Elem returns the type in which the rows are kept.
func (c *Collection) Elem() dataset.Elem { return c.Vectors.Elem() }

// Row returns row number i as given, in float32: of Float64 less Origin, and rounded. Of Float32 rows it is part of
// Rows; of those of another type it is made, which loops avoid by RowIn.
func (c *Collection) Row(i int) []float32 {
	if c.Rows == nil {
		return c.RowIn(make([]float32, c.Dim), i)
	}
	return c.Rows[i*c.Dim : (i+1)*c.Dim : (i+1)*c.Dim]
}

// RowIn is Row without an allocation: memory, which holds at least Dim floats, is overwritten unless rows are Float32.
func (c *Collection) RowIn(memory []float32, i int) []float32 {
	if c.Rows != nil {
		return c.Row(i)
	}
	memory = memory[:c.Dim:c.Dim]
	c.Read(memory, i*c.Dim)
	return memory
}

// Floats returns all rows in float32: Rows, or a copy of rows of another type.
func (c *Collection) Floats() []float32 {
	if c.Rows != nil {
		return c.Rows
	}
	rows := make([]float32, c.N*c.Dim)
	c.Read(rows, 0)
	return rows
}

// RowMemory returns memory for RowIn, nil if it needs none.
func (c *Collection) RowMemory() []float32 {
	if c.Rows != nil {
		return nil
	}
	return make([]float32, c.Dim)
}

// Coordinate returns coordinate j of row i as given.
func (c *Collection) Coordinate(i, j int) float32 {
	if c.Rows != nil {
		return c.Rows[i*c.Dim+j]
	}
	var one [1]float32
	if c.Elem() == dataset.ElemFloat64 {
		c.narrow(one[:], i*c.Dim+j)
	} else {
		c.Vectors.Read32(one[:], i*c.Dim+j)
	}
	return one[0]
}

// Read writes the coordinates from index at on, row-major in all rows as Row has them, to dst.
func (c *Collection) Read(dst []float32, at int) {
	if c.Elem() == dataset.ElemFloat64 {
		c.narrow(dst, at)
		return
	}
	read(dst, c.Vectors, at)
}

// read is Vectors.Read32 by the kernels.
func read(dst []float32, v dataset.Vectors, at int) {
	switch v.Elem() {
	case dataset.ElemFloat16:
		kernels.Halves(dst, v.Halves()[at:])
	case dataset.ElemBFloat16:
		kernels.UpperHalves(dst, v.Halves()[at:])
	case dataset.ElemInt8:
		kernels.Signed(dst, v.Bytes()[at:])
	case dataset.ElemUint8:
		kernels.Unsigned(dst, v.Bytes()[at:])
	default:
		v.Read32(dst, at)
	}
}

// PrefetchRow begins to read row i into the level-2 cache.
func (c *Collection) PrefetchRow(i int) {
	if c.Rows != nil {
		kernels.Prefetch(c.Row(i))
		return
	}
	size := c.Dim * c.Elem().Size()
	kernels.PrefetchBytes(c.Vectors.Bytes()[i*size : (i+1)*size])
}

// rowsTogether is how many rows of another type than Float32 are converted before they are summed together.
const rowsTogether = 8

// inPlace are the numbers of rows that are converted.
var inPlace = [rowsTogether]uint32{0, 1, 2, 3, 4, 5, 6, 7}

// Sums sets out[k] to the canonical sum (package simd) of the products of row rows[k] with q, or of the squared
// differences where the metric has them, by kern: q is relative to what Vectors are, which for Float64 is zero. near
// says that most of the rows are in a cache.
func (c *Collection) Sums(kern simd.Kernels, out []float64, rows []uint32, q []float64, near bool) {
	if given := c.Vectors.Float64s(); given != nil {
		if c.Metric.Differences() {
			kern.SquaredDistances64(out, given, c.Dim, rows, q)
		} else {
			kern.Dots64(out, given, c.Dim, rows, q)
		}
		return
	}
	sums := simd.Kernels.Dots
	switch {
	case c.Metric.Differences() && near:
		sums = simd.Kernels.SquaredDistancesNear
	case c.Metric.Differences():
		sums = simd.Kernels.SquaredDistances
	case near:
		sums = simd.Kernels.DotsNear
	}
	if c.Rows != nil {
		sums(kern, out, c.Rows, c.Dim, rows, q)
		return
	}
	memory := c.converted.Get().(*[]float32)
	defer c.converted.Put(memory)
	for ; len(rows) > 0; out, rows = out[min(rowsTogether, len(rows)):], rows[min(rowsTogether, len(rows)):] {
		n := min(rowsTogether, len(rows))
		for k, row := range rows[:n] {
			c.RowIn((*memory)[k*c.Dim:], int(row))
		}
		sums(kern, out[:n], *memory, c.Dim, inPlace[:n], q)
	}
}

// DotGather is DotGather of package simd by kern: of row i and the coordinates that perm names.
func (c *Collection) DotGather(kern simd.Kernels, i int, perm []uint32, q []float64) (sum, squares float64) {
	if c.Rows != nil {
		return kern.DotGather(c.Row(i), perm, q)
	}
	memory := c.converted.Get().(*[]float32)
	defer c.converted.Put(memory)
	return kern.DotGather(c.RowIn(*memory, i), perm, q)
}
