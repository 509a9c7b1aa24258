package collection

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"thresher/dataset"
	"thresher/simd"
)

// Atoms are ordered by descending norm, or by ascending distance from the centre (Metric.NearFirst), in
// steps: the norms of one step differ by a factor of at most 2^(1/stepsPerOctave), 4%.
const (
	stepsPerOctave = 16
	stepCount      = stepsPerOctave*(maxNormExponent+149) + 2 // 2^-149 is the least float32
)

// NormStep is 2^(1/stepsPerOctave), rounded upward. The ratio of the norms of two atoms of one
// step is at most NormStep.
const NormStep = 1.0443

// MaxNorm returns an upper bound of all norms. In both orders the step of greatest norms is at
// one of the ends. An order that was given (Options.Order) has NormCaps.
func (c *Collection) MaxNorm() float64 {
	if c.NormCaps != nil {
		return float64(c.NormCaps[0])
	}
	return float64(max(c.Norm[0], c.Norm[c.N-1])) * NormStep
}

// stepOf returns the step of a working norm w < maxNorm in the order of a metric.
func (m Metric) stepOf(w float64) uint16 {
	if m.NearFirst() {
		return stepCount - 1 - descendingStep(w)
	}
	return descendingStep(w)
}

// descendingStep returns the step of a working norm w < maxNorm in descending order of norms. The
// last step is for w = 0.
func descendingStep(w float64) uint16 {
	if w == 0 {
		return stepCount - 1
	}
	return uint16(stepsPerOctave*maxNormExponent - int(math.Floor(stepsPerOctave*math.Log2(w))))
}

// computeNorms checks every row and computes its norm in float64, relative to the centre if there is
// one. It then orders the atoms, and sets Order, Norm, Offset, RowSquares and Longest.
func (b *builder) computeNorms() error {
	c := b.c
	var summed []float64
	if b.file != nil {
		summed, b.file.squares = b.file.squares, nil
	}
	if b.rowNorms = summed; summed == nil { // norms take the place of what was summed
		b.rowNorms = make([]float64, c.N)
	}
	steps := make([]uint16, c.N)
	limit := c.Metric.maxNorm()
	chunk := max(1, min(4096, 1<<20/c.Dim))
	longest := make([]float64, b.threads)
	memory := make([][]float32, b.threads)
	var behind *sweep
	if summed == nil {
		behind = b.rowSweep()
	}
	defer behind.end()
	chunk = behind.chunk(chunk, b.threads)
	err := b.each(c.N, chunk, func(w, lo, hi int) error {
		if memory[w] == nil {
			memory[w] = c.RowMemory()
		}
		if err := b.checkRows(lo, hi); err != nil {
			return err
		}
		for i := lo; i < hi; i++ {
			var row []float32
			squares := 0.
			if summed == nil {
				row = c.RowIn(memory[w], i)
				squares = kernels.SumSquares(row)
			} else {
				squares = summed[i]
			}
			s := math.Sqrt(squares)
			switch {
			case !(s < limit) && c.Float64():
				return c.refused64(row, i, s, limit)
			case !(s < limit):
				return rowError(c.RowIn(memory[w], i), i, s, limit)
			case c.RowSquares == nil:
			case c.Float64():
				c.RowSquares[i] = simd.SumSquares64(c.row64(i))
				if err := c.Metric.CheckGiven(c.row64(i)); err != nil {
					return &RowError{Row: i, Column: -1, Err: err}
				}
			default:
				c.RowSquares[i] = squares
			}
			if c.Centre != nil {
				longest[w] = max(longest[w], s)
				if s = c.WorkingNorm(row); !(s < limit) {
					return rowError(row, i, s, limit)
				}
			}
			b.rowNorms[i] = s
			steps[i] = c.Metric.stepOf(b.workingFactor(uint32(i)) * s)
		}
		behind.passed(lo, hi)
		b.progress(hi - lo)
		return nil
	})
	if err != nil {
		return err
	}
	if c.Centre != nil {
		c.Longest = slices.Max(longest)
	}
	if b.o.Order != nil {
		copy(c.Order, b.o.Order)
	} else {
		b.orderAtoms(steps)
	}
	for i, row := range c.Order {
		w := b.rowNorms[row]
		if c.RowSquares != nil && w > 0 {
			w = 1
		}
		if c.Offset != nil {
			c.Offset[i] = Upward(-c.Metric.Lead(w))
		}
		c.Norm[i] = Upward(w * Up)
	}
	return nil
}

// checkRows returns the error of the first value of rows lo to hi-1 that is not finite. Only those of ElemFloat16
// must be compared one by one: norms tell of others.
func (b *builder) checkRows(lo, hi int) error {
	c := b.c
	if c.Elem() != dataset.ElemFloat16 {
		return nil
	}
	if at := c.Vectors.Slice(lo, hi).Unfit(); at >= 0 {
		return &RowError{Row: lo + at/c.Dim, Column: at % c.Dim, Err: errNotFinite}
	}
	return nil
}

// orderAtoms sorts the atoms by step and shuffles them within each. So the first panels are a random
// sample of the atoms of greatest norm, or nearest to the centre, in whatever order the rows are given.
func (b *builder) orderAtoms(steps []uint16) {
	order := b.c.Order
	var ends [stepCount]int // counts, then where the next atom of each step goes, and so finally its end
	for _, s := range steps {
		ends[s]++
	}
	sum := 0
	for s, n := range ends {
		ends[s] = sum
		sum += n
	}
	for i, s := range steps {
		order[ends[s]] = uint32(i)
		ends[s]++
	}
	if b.c.Unbuilt() { // no first look takes samples
		return
	}
	r := generator(b.c.Seed, streamOrder)
	lo := 0
	for _, hi := range ends {
		step := order[lo:hi]
		r.Shuffle(len(step), func(i, j int) { step[i], step[j] = step[j], step[i] })
		lo = hi
	}
}

var errNotFinite = errors.New("value is not finite")

// rowError returns the error of a row whose norm is not below limit: its first value that is not
// finite, or the norm.
func rowError(row []float32, i int, norm, limit float64) error {
	for j, v := range row {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return &RowError{Row: i, Column: j, Err: fmt.Errorf("value %g", v)}
		}
	}
	return &RowError{Row: i, Column: -1, Err: fmt.Errorf("norm %g is %g or more: scores could overflow float32", norm, limit)}
}

// workingFactor returns the factor by which a row is multiplied before it is coded: 1 over its norm
// if the metric normalises, else 1.
func (b *builder) workingFactor(row uint32) float64 { return b.c.Metric.Factor(b.rowNorms[row]) }
