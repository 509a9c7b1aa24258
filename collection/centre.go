package collection

import (
	"math"
	"slices"

	"thresher/simd"
)

const (
	centreSample  = 1024    // most atoms in the sample
	unbuiltSample = 64      // the same of a collection without codes, which is made for few queries
	centreFloats  = 1 << 22 // most floats in it, unless it has fewCentred atoms
	fewCentred    = 16
	centreShare   = .9 // share of the sample whose mean is the centre
	farFactor     = 2
)

// computeCentre computes the point that atoms and queries are taken relative to for Euclidean
// distance. A translation changes no distance, but it removes a common offset, which would
// widen every bound. The centre is the mean of the nine tenths of a sample that are nearest
// to its coordinate-wise median, so that a few outliers do not move it. Any point is
// correct; its position decides how tight bounds are.
//
// The sample is evenly spaced rows, summed sequentially, so the centre depends on the rows
// alone. Its coordinates are float32 values, so that the difference to an atom's is rounded
// once, in either precision.
func (b *builder) computeCentre() error {
	c := b.c
	most := centreSample
	if c.Unbuilt() {
		most = unbuiltSample
	}
	n := min(c.N, most, max(fewCentred, centreFloats/c.Dim))
	sample := make([]int, n)
	for k := range sample {
		sample[k] = int(int64(k) * int64(c.N) / int64(n))
	}
	if err := b.eachColumn(n, func(j int, column []float32) {
		for k, i := range sample {
			column[k] = c.Coordinate(i, j)
		}
		slices.Sort(column)
		c.Centre[j] = float64(column[n/2])
	}); err != nil {
		return err
	}
	far := make([]float64, n)
	memory := c.RowMemory()
	for k, i := range sample {
		far[k] = simd.SquaredDistance(c.RowIn(memory, i), c.Centre)
	}
	sorted := slices.Sorted(slices.Values(far))
	farthest, near := sorted[int(centreShare*float64(n-1))], sample[:0]
	for k, i := range sample {
		if far[k] <= farthest {
			near = append(near, i)
		}
	}
	return b.eachColumn(0, func(j int, _ []float32) {
		var sum float64
		for _, i := range near {
			sum += float64(c.Coordinate(i, j))
		}
		c.Centre[j] = float64(float32(sum / float64(max(1, len(near)))))
	})
}

// eachColumn calls f for every column from several goroutines, with scratch of n floats.
func (b *builder) eachColumn(n int, f func(j int, memory []float32)) error {
	return b.each(b.c.Dim, max(1, b.c.Dim/(4*b.threads)), func(_, lo, hi int) error {
		memory := make([]float32, n)
		for j := lo; j < hi; j++ {
			if err := b.ctx.Err(); err != nil {
				return err
			}
			f(j, memory)
		}
		return nil
	})
}

// WorkingNorm returns |q| in float64, or |q - Centre| for Euclidean distance with a Centre.
func (c *Collection) WorkingNorm(q []float32) float64 { return math.Sqrt(c.workingSquares(q)) }

// workingSquares returns WorkingNorm squared.
func (c *Collection) workingSquares(q []float32) float64 {
	if c.Centre == nil {
		return kernels.SumSquares(q)
	}
	return kernels.SquaredDistance(q, c.Centre)
}

// Far reports whether float32 products of rows as given say little about distances: the
// centre is several times as far from zero as most atoms are from it.
func (c *Collection) Far() bool {
	return c.Centre != nil && c.centreNorm() > farFactor*float64(c.Norm[c.N/2])
}

// CentreNorm returns |Centre|, rounded upward; 0 without a Centre.
func (c *Collection) CentreNorm() float64 { return c.centreNorm() * Up }

func (c *Collection) centreNorm() float64 { return norm64(c.Centre) }

// Relative writes coordinates from, from+1, .. of a row less the Centre to dst. There must be a Centre.
func (c *Collection) Relative(dst []float32, row, from int) {
	v, m := dst, c.Centre[from:][:len(dst)]
	if c.Rows != nil {
		v = c.Rows[row*c.Dim+from:][:len(dst)]
	} else {
		c.Read(dst, row*c.Dim+from)
	}
	for j := range dst {
		dst[j] = v[j] - float32(m[j])
	}
}
