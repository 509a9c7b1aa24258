package collection

import (
	"math"
)

// prepareRaw draws the coordinate order and computes the suffix terms of every atom.
func (b *builder) prepareRaw() error {
	c := b.c
	for j, p := range generator(c.Seed, streamPermutation).Perm(c.Dim) {
		c.Perm[j] = uint32(p)
	}
	chunk := max(1, min(1024, 1<<20/c.Dim))
	return b.each(c.N, chunk, func(_, lo, hi int) error {
		memory := c.RowMemory()
		for i := lo; i < hi; i++ {
			b.computeSuffixes(i, memory)
		}
		b.progress(hi - lo)
		return nil
	})
}

// computeSuffixes computes the terms of atom i, backward through the random order. memory is for RowIn.
func (b *builder) computeSuffixes(i int, memory []float32) {
	c := b.c
	row := c.RowIn(memory, int(c.Order[i]))
	f := b.workingFactor(c.Order[i])
	k := len(c.Bounds) - 1
	var sum, most float64
	for j := c.Dim; j >= 0; j-- {
		if k >= 0 && j == c.Bounds[k] {
			c.SuffixNorm[k][i] = Upward(math.Sqrt(sum) * f * Up)
			c.SuffixMax[k][i] = Upward(most * f * Up)
			k--
		}
		if j > 0 {
			v := math.Abs(float64(row[c.Perm[j-1]]))
			sum += v * v
			most = max(most, v)
		}
	}
}
