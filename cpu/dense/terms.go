package dense

import (
	"math"

	"thresher/backend/looks"
	"thresher/collection"
)

// terms are the terms of the float32 test, by row number.
type terms struct {
	inverse []uint32  // internal index
	scale   []float32 // factor from the product to that with the working vector
	size    []float32 // norm of the vector multiplied, which is the row as given or, if far, less the centre
	offset  []float32 // upper bound of the offset
	// greatest is the greatest of the sizes that are finite.
	greatest float64
	// maxGap is the greatest distance from the true offset to the bound of offset.
	maxGap float64
	far    bool // the centre is far from zero (collection.Far)
}

// terms returns the terms, computed at first use.
func (r *Rows) terms() *terms {
	r.once.Do(func() {
		c, t := r.C, &r.computed
		t.inverse = make([]uint32, c.N)
		terms := make([]float32, 3*c.N)
		t.scale, t.size, t.offset = terms[:c.N], terms[c.N:2*c.N], terms[2*c.N:]
		t.far = c.Far()
		given := 0.0
		if c.Centre != nil && !t.far {
			given = c.CentreNorm()
		}
		for i, row := range c.Order {
			t.inverse[row] = uint32(i)
			var bounded bool
			t.scale[row], bounded = c.ProductFactor(int(row))
			t.size[row] = collection.Upward(float64(c.Norm[i]) + given)
			if bounded {
				t.greatest = max(t.greatest, float64(t.size[row]))
			} else {
				t.size[row] = float32(math.Inf(1)) // the test cannot exclude the row
			}
			if c.Offset != nil {
				// This stays an upper bound after the rounding of the test.
				t.offset[row] = collection.Upward(float64(c.Offset[i]) * (1 - looks.Slop))
				t.maxGap = max(t.maxGap, t.offsetGap(c, i, row))
			}
		}
	})
	return &r.computed
}

// offsetGap is an upper bound of how far the true offset of atom i lies below offset[row].
func (t *terms) offsetGap(c *collection.Collection, i int, row uint32) float64 {
	norm := float64(c.Norm[i])
	return float64(t.offset[row]) + norm*norm/2*(1+looks.Slop)
}
